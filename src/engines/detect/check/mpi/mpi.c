/* The engine `mpi`: rank 0 sends the other ranks what to read, and all execute the steps (mpi.h).
 */
#include "engines/detect/check/mpi/mpi.h"

#include "engines/detect/check/mpi/job.h"
#include "foundation/base/error.h"
#include "foundation/ranks/ranks.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* ------------------------------------------------------------------ errors */

/* Shares the first error with all ranks. Returns true if there is one; all ranks then have its
 * message. */
static bool share_trouble(struct mpi_job *job)
{
    uint64_t least;
    MPI_Allreduce(&job->trouble.place, &least, 1, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD);
    if (least == NOWHERE)
        return false;
    /* The rank that knows of it informs the rank that has read the piece. */
    int mine = job->trouble.place == least ? job->rank : job->ranks, knows;
    MPI_Allreduce(&mine, &knows, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Bcast(&job->trouble, (int)sizeof job->trouble, MPI_BYTE, knows, MPI_COMM_WORLD);
    int reader = job->packed ? knows : (int)piece_rank(job, least);
    if (job->rank == reader)
        job_explain(job);
    MPI_Bcast(&job->trouble, (int)sizeof job->trouble, MPI_BYTE, reader, MPI_COMM_WORLD);
    return true;
}

/* ------------------------------------------------------------------ the steps */

static void set_blocks(struct mpi_job *job)
{
    for (unsigned kind = 0; kind < NAME_KINDS; kind++) {
        uint32_t total = job->kinds[kind].total, ranks = (uint32_t)job->ranks;
        uint32_t each = job->each[kind] = total / ranks + (total % ranks > 0) + (total == 0);
        uint64_t begin = (uint64_t)each * (uint32_t)job->rank;
        job->begin[kind] = (uint32_t)(begin < total ? begin : total);
        job->own[kind] = total - job->begin[kind] < each ? total - job->begin[kind] : each;
    }
}

/* Returns whether there is one packed file that supports random access. Each rank has to be able to
 * read it. */
static bool open_packed(struct mpi_job *job)
{
    uint8_t head[PACKED_HEAD] = {0};
    struct source_file file;
    gordian_error error = {0};
    int fd = job->file_count == 1 ? open(job->files[0], O_RDONLY | O_CLOEXEC) : -1;
    gordian_source source = gordian_source_fd(&fd);
    bool packed = fd >= 0 && source_is_file(&source, &file) &&
                  pread(fd, head, sizeof head, 0) == (ssize_t)sizeof head &&
                  memcmp(head, PACKED_MAGIC, PACKED_MAGIC_BYTES) == 0 &&
                  packed_get32(head + 8) >> 16 == PACKED_SNAPSHOT;
    bool all = exchange_all(packed);
    if (all && packed_file_open(&job->packed, &file, &job->memory, &error) != GORDIAN_OK) {
        job_trouble(job, 0, TROUBLE_TOLD, 0);
        job->trouble.error = error;
    }
    if (fd >= 0)
        close(fd);
    return all;
}

/* Returns false, on all ranks, if one is out of memory or the input has an error. */
static bool read_and_spread(struct mpi_job *job)
{
    bool packed = open_packed(job);
    if (packed && share_trouble(job))
        return false;
    if (packed) {
        const struct image_layout *layout = packed_file_layout(job->packed);
        job->kinds[NAME_PROCESS].total = (uint32_t)layout->processes;
        job->kinds[NAME_RESOURCE].total = (uint32_t)layout->resources;
        set_blocks(job);
    }
    job_read(job);
    if (!exchange_all(!job->no_memory))
        return false;
    if (packed)
        return !share_trouble(job) && job_spread(job);
    if (!job_number_names(job))
        return false;
    set_blocks(job);
    return job_spread(job);
}

static gordian_status run_check_job(const char *const *files, uint32_t count,
                                    gordian_judged *judged, gordian_error *error)
{
    struct mpi_job job = {.memory = memory_allocator(NULL), .files = files, .file_count = count};
    job.trouble.place = NOWHERE;
    bool opened = exchange_open(&job.exchange, &job.memory);
    job.rank = job.exchange.rank;
    job.ranks = job.exchange.ranks;
    for (unsigned kind = 0; kind < NAME_KINDS; kind++)
        names_init(&job.kinds[kind].names, &job.memory);
    bool done = exchange_all(opened) && read_and_spread(&job) && !share_trouble(&job) &&
                job_reduce(&job) && job_gather_dead(&job, judged) && !share_trouble(&job);
    gordian_status status = GORDIAN_OK;
    if (!done && job.trouble.error.status != GORDIAN_OK) {
        status = job.trouble.error.status;
        judged->file = (size_t)(job.trouble.place >> PLACE_BITS);
        if (error)
            *error = job.trouble.error;
    } else if (!done) {
        status = fail_memory(error);
    }
    for (unsigned kind = 0; kind < NAME_KINDS; kind++) {
        struct local_names *names = &job.kinds[kind];
        names_free(&names->names);
        memory_free_all(&job.memory, names->list, names->fresh, names->before);
    }
    memory_free_all(&job.memory, job.holds.edges, job.waits.edges, job.totals, job.available,
                    job.holder, job.wishes.edges, job.wishes.starts, job.met, job.held.edges,
                    job.held.starts, job.wanted.edges, job.wanted.starts, job.marks, job.ready);
    packed_file_close(job.packed);
    exchange_close(&job.exchange);
    return status;
}

/* ------------------------------------------------------------------ rank 0 and the others */

/* Sends the paths one after another, each with a NUL. */
static gordian_status judge_files_on_ranks(const char *const *files, size_t count,
                                           const gordian_check_options *options,
                                           gordian_judged *judged, gordian_error *error)
{
    gordian_allocator memory = memory_allocator(NULL);
    struct bytes paths;
    uint64_t sizes[2];
    (void)options;
    for (size_t i = 1; i < count; i++)
        if (strcmp(files[i], "-") == 0)
            return fail(error, GORDIAN_STATUS_INPUT,
                        "only rank 0 has a standard input: '-' must be the first file");
    bytes_init(&paths, &memory);
    for (size_t i = 0; i < count; i++)
        bytes_put(&paths, files[i], strlen(files[i]) + 1);
    if (paths.failed) {
        bytes_free(&paths);
        return fail_memory(error);
    }
    sizes[0] = count;
    sizes[1] = paths.used;
    ranks_call(RANKS_CHECK);
    MPI_Bcast(sizes, 2, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    MPI_Bcast(paths.data, (int)paths.used, MPI_BYTE, 0, MPI_COMM_WORLD);
    bytes_free(&paths);
    return run_check_job(files, (uint32_t)count, judged, error);
}

void check_mpi_serve(void)
{
    gordian_allocator memory = memory_allocator(NULL);
    gordian_judged judged = {0};
    uint64_t sizes[2];
    MPI_Bcast(sizes, 2, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    char *paths = memory_alloc(&memory, (size_t)sizes[1]);
    const char **files = memory_alloc(&memory, (size_t)sizes[0] * sizeof *files);
    if (!paths || !files) { /* only some KB: nothing else would work either */
        MPI_Abort(MPI_COMM_WORLD, 4);
        return;
    }
    MPI_Bcast(paths, (int)sizes[1], MPI_BYTE, 0, MPI_COMM_WORLD);
    const char *at = paths;
    for (uint64_t i = 0; i < sizes[0]; i++, at += strlen(at) + 1)
        files[i] = at;
    run_check_job(files, (uint32_t)sizes[0], &judged, NULL);
    memory_free_all(&memory, paths, (void *)(uintptr_t)files);
}

static gordian_status judge_nothing(const gordian_snapshot *snapshot, gordian_model model,
                                    unsigned threads, struct check_result *result,
                                    gordian_error *error)
{
    (void)snapshot;
    (void)model;
    (void)threads;
    (void)result;
    return fail(error, GORDIAN_STATUS_UNAVAILABLE, "the engine 'mpi' checks files only");
}

const struct check_engine check_mpi = {
    .about = {.name = "mpi",
              .summary = "checks a snapshot in files, of which each rank reads pieces"},
    .judge = judge_nothing,
    .judge_files = judge_files_on_ranks,
};
