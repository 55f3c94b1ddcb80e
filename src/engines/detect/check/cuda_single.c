/* Checks single-unit snapshots on a GPU. This file has the order of the kernels;
 * foundation/gpu/kernels/check/cycles.cu explains them. */
#include "engines/detect/check/cuda_job.h"
#include "engines/detect/check/snapshot.h"
#include "foundation/base/clock.h"
#include "foundation/gpu/kernels/check/cycles.h"

struct single {
    struct cuda_job *job;
    uint32_t count;                     /* processes */
    struct job_chases chases;           /* jump[0] was holder[] */
    gpu_address wait, next;             /* by process */
    gpu_address smallest_at, start;     /* by piece, like the members below */
    gpu_address smallest[2], length[2]; /* one is computed from the other */
};

enum {
    NUMBERS = 9, /* arrays with a number for every process; after them: */
    HOLDER = NUMBERS,
    BYTES, /* three arrays with a byte for every process */
    TILES = BYTES + 3,
    ARRAYS,
    PIECE_NUMBERS = 6, /* arrays with a number for every piece of a cycle, allocated once their
                          number is known */
};

void job_layout_single(const gordian_snapshot *snapshot, struct job_layout *layout)
{
    for (unsigned i = 0; i < NUMBERS; i++)
        layout->sizes[i] = (size_t)snapshot->process_count * sizeof(uint32_t);
    size_t processes = snapshot->process_count, resources = snapshot->resource_count;
    layout->sizes[HOLDER] = (processes > resources ? processes : resources) * sizeof(uint32_t);
    for (unsigned i = BYTES; i < TILES; i++)
        layout->sizes[i] = job_flags_size(snapshot->process_count);
    layout->sizes[TILES] = job_tiles_size(snapshot->process_count);
    layout->count = ARRAYS;
}

#define RUN(single, kernel, count, arguments)                                                      \
    job_run((single)->job, kernel, count, CYCLES_THREADS, &(arguments), sizeof(arguments))

/* Lists the dead in list[1] and returns their number. */
static uint32_t find_dead(struct single *single)
{
    struct job_chases *chases = &single->chases;
    uint32_t count = single->count;
    struct cycles_follow_arguments follow = {single->wait, chases->jump[0], single->next,
                                             chases->link, count};
    RUN(single, "cycles_follow", (count + CYCLES_EACH - 1) / CYCLES_EACH, follow);
    job_follow_chases(chases);
    return job_select(single->job, chases->flags, 1, 0, chases->list[1], count);
}

/* Allocates the arrays by piece after the pieces have been counted. If cycles are long there are
 * few pieces, and if no process is dead there are none. */
static void make_piece_arrays(struct single *single, uint32_t pieces)
{
    const size_t each = ((size_t)pieces * sizeof(uint32_t) + 255) & ~(size_t)255;
    gpu_address arrays = job_allocate_more(single->job, each * PIECE_NUMBERS);
    gpu_address *const names[PIECE_NUMBERS] = {&single->smallest_at, &single->start,
                                               &single->smallest[0], &single->smallest[1],
                                               &single->length[0],   &single->length[1]};
    for (unsigned i = 0; i < PIECE_NUMBERS; i++)
        *names[i] = arrays + i * each;
}

/* ------------------------------------------------------------------ cycles */

/* Returns the arguments that are the same for all kernels. Arrays that are free by now are used
 * again. */
static struct cycles_piece_arguments piece_arguments(const struct single *single, uint32_t count)
{
    return (struct cycles_piece_arguments){
        .wait = single->wait,
        .next = single->next,
        .link = single->chases.link,
        .into = single->chases.into,
        .at = single->chases.at,
        .place = single->chases.place,
        .list = single->chases.list[0],
        .entry = single->chases.jump[0],
        .follower = single->chases.jump[1],
        .smallest_at = single->smallest_at,
        .smallest = single->smallest[0],
        .length = single->length[0],
        .start = single->start,
        .flags = single->chases.flags,
        .count = count,
    };
}

/* Copies the values of pieces that follow themselves: they stay the same in all rounds. */
static void copy_piece_values(struct single *single, gpu_address to, gpu_address from,
                              uint32_t count)
{
    struct cuda_job *job = single->job;
    if (job->status == GORDIAN_OK)
        job->status = gpu_copy(job->gpu, to, from, count * sizeof(uint32_t), job->error);
}

/* Pointer doubling along the pieces. The result is in values[the number returned]. */
static unsigned double_pieces(struct single *single, const char *kernel, const gpu_address jumps[2],
                              const gpu_address values[2], uint32_t count)
{
    /* A cycle of more than one piece lies within the core. */
    uint32_t longest = count < single->chases.core_count ? count : single->chases.core_count;
    unsigned now = 0;
    copy_piece_values(single, values[1], values[0], count);
    for (unsigned rounds = job_doubling_rounds(longest); rounds > 0; rounds--, now = !now) {
        struct cycles_round_arguments round = {
            single->chases.jump[1], jumps[now], jumps[!now], values[now], values[!now], count};
        RUN(single, kernel, count, round);
    }
    return now;
}

/* Writes all cycles to list[1] and into[], from `count` pieces, and returns their number. *starts:
 * where each starts; *total: processes in all. */
static uint32_t measure_cycles(struct single *single, uint32_t count, gpu_address *starts,
                               uint32_t *total)
{
    struct cuda_job *job = single->job;
    struct cycles_piece_arguments piece = piece_arguments(single, count);
    struct cycles_jump_arguments place = {.list = piece.list, .place = piece.place, .count = count};
    RUN(single, "cycles_place", count, place);
    RUN(single, "cycles_entry", count, piece);
    RUN(single, "cycles_measure", count, piece);

    gpu_address jumps[2] = {single->chases.list[1], single->chases.into};
    copy_piece_values(single, jumps[0], piece.follower, count);
    unsigned smallest = double_pieces(single, "cycles_smallest", jumps, single->smallest, count);
    piece.smallest = single->smallest[smallest];
    piece.jump = jumps[0];
    job_zero(job, single->chases.flags, job_flags_size(single->count));
    RUN(single, "cycles_open", count, piece);
    unsigned length = double_pieces(single, "cycles_rank", jumps, single->length, count);
    piece.length = single->length[length];

    piece.heads = single->smallest[!smallest];
    piece.cycles = job_select(job, single->chases.flags, 1, 0, piece.heads, single->count);
    piece.lengths = single->length[!length];
    RUN(single, "cycles_lengths", piece.cycles, piece);
    *total = job_prefix(job, piece.lengths, piece.cycles);
    RUN(single, "cycles_starts", piece.cycles, piece);
    piece.processes = jumps[0];
    piece.resources = jumps[1];
    RUN(single, "cycles_write", count, piece);
    *starts = piece.lengths;
    return piece.cycles;
}

static void list_cycles(struct single *single, gpu_address starts, uint32_t cycles, uint32_t total)
{
    struct cuda_job *job = single->job;
    struct check_result *result = job->result;
    uint32_t *first = job_download_list(job, starts, cycles);
    result->processes = job_download_list(job, single->chases.list[1], total);
    result->resources = job_download_list(job, single->chases.into, total);
    uint64_t start = clock_ns();
    if (job->status == GORDIAN_OK) {
        result->parts = memory_alloc(job->memory, sizeof *result->parts * cycles);
        if (!result->parts)
            job->status = fail_memory(job->error);
    }
    for (uint32_t i = 0; i < cycles && job->status == GORDIAN_OK; i++) {
        uint32_t length = (i + 1 < cycles ? first[i + 1] : total) - first[i];
        result->parts[i] = (gordian_part){true, result->processes + first[i],
                                          result->resources + first[i], length, length};
    }
    memory_free(job->memory, first);
    result->report.parts = result->parts;
    result->report.part_count = cycles;
    job->times.host += (double)(clock_ns() - start) / 1e3;
}

void job_check_single(struct cuda_job *job)
{
    const gordian_snapshot *snapshot = job->snapshot;
    struct single single = {.job = job, .count = snapshot->process_count};
    single.chases.job = single.job;
    single.chases.count = single.count;
    const gpu_address *arrays = single.job->arrays;
    single.wait = arrays[0];
    single.next = arrays[1];
    single.chases.link = arrays[2];
    single.chases.into = arrays[3];
    single.chases.at = arrays[4];
    single.chases.place = arrays[5];
    single.chases.list[0] = arrays[6];
    single.chases.list[1] = arrays[7];
    single.chases.jump[1] = arrays[8];
    single.chases.jump[0] = arrays[HOLDER];
    single.chases.state = arrays[BYTES];
    single.chases.entered = arrays[BYTES + 1];
    single.chases.flags = arrays[BYTES + 2];
    single.job->tiles = arrays[TILES];
    job_upload(job, single.wait, snapshot->wait, sizeof(uint32_t) * snapshot->process_count);
    job_upload(job, single.chases.jump[0], snapshot->holder,
               sizeof(uint32_t) * snapshot->resource_count);

    uint32_t total = 0;
    gpu_address starts = 0;
    job_begin(job);
    /* Lists the pieces of cycles in list[0] and counts them. */
    uint32_t dead = find_dead(&single),
             pieces = dead ? job_select(single.job, single.chases.state, CYCLES_CIRCLE, 0,
                                        single.chases.list[0], single.count)
                           : 0,
             cycles = 0;
    job_end(job);
    struct check_result *result = single.job->result;
    result->deadlocked = job_download_list(single.job, single.chases.list[1], dead);
    result->report.deadlocked = result->deadlocked;
    result->report.deadlocked_count = dead;
    if (dead > 0) {
        make_piece_arrays(&single, pieces);
        job_begin(job);
        cycles = measure_cycles(&single, pieces, &starts, &total);
        job_end(job);
    }
    list_cycles(&single, starts, cycles, total);
}
