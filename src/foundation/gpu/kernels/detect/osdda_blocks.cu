/*
 * OSDDA as a resident service, on rows in blocks (blocks.h): the counterpart of osdda.cu.
 *
 * Write access. Rows are assigned to blocks of threads, eight neighbours at a time, so that vectors
 * are read in whole sectors and neighbouring rows still go to different blocks. A block lists the
 * rows to change; then its warps take them: in combine_paths a directory of a row each, elsewhere a
 * row. osdda.cu explains what is read of other rows.
 *
 * Pages may run out in the middle of a step. Then the host maps more and the next kernel repeats
 * the step, so every step can be done twice: a row's sink is moved when everything else of the row
 * is done, and rows whose sink has moved are skipped; joining the same bits again changes nothing;
 * and a rebuild starts from the beginning.
 */
#include "foundation/gpu/kernels/detect/osdda.h"
#include "foundation/gpu/kernels/resident/blocks.h"
#include "foundation/gpu/kernels/resident/service.h"

typedef struct osdda_blocks_arguments osdda;

#define NEIGHBOURS 8u

/* ------------------------------------------------------------------ rows */

DEVICE uint32_t holder_of(const osdda *a, uint32_t row)
{
    return GPU_POINTER(const uint32_t, a->vectors.holder)[row];
}

DEVICE bool reaches_process(const osdda *a, uint32_t row, uint32_t process)
{
    return holder_of(a, row) == process || blocks_test(&a->store, &a->rp, row, process);
}

/* Returns the row that this thread visits in round `round` of a scan of all rows; it may be out of
 * range. */
DEVICE uint64_t row_to_look_at(uint64_t round)
{
    uint64_t group = round * (BLOCK_SIZE / NEIGHBOURS) + THREAD_INDEX / NEIGHBOURS;
    return (group * GRID_SIZE + BLOCK_INDEX) * NEIGHBOURS + THREAD_INDEX % NEIGHBOURS;
}

DEVICE uint64_t rounds_of_looking(const osdda *a)
{
    uint64_t each = (uint64_t)BLOCK_SIZE * GRID_SIZE;
    return (a->vectors.resources + each - 1) / each;
}

/* Appends the path of `next` to `row`, in directory t of RR and RP. */
DEVICE bool append_path(const osdda *a, uint32_t row, uint32_t next, uint32_t t)
{
    const struct block_matrix *m = t < a->rr.top_count ? &a->rr : &a->rp;
    uint32_t first = t < a->rr.top_count ? next : holder_of(a, next);
    bool ignored = false;
    t -= t < a->rr.top_count ? 0 : a->rr.top_count;
    return blocks_join(&a->store, m, row, t, *blocks_top(m, next, t), first, &ignored);
}

DEVICE void cut_path(const osdda *a, uint32_t row, uint32_t next, uint32_t t)
{
    const struct block_matrix *m = t < a->rr.top_count ? &a->rr : &a->rp;
    uint32_t first = t < a->rr.top_count ? next : holder_of(a, next);
    t -= t < a->rr.top_count ? 0 : a->rr.top_count;
    blocks_subtract(&a->store, m, row, t, *blocks_top(m, next, t), first);
}

/* ------------------------------------------------------------------ appending a path to others */

/* Returns whether this row has to change. OSDDA_BLOCK changes the rows that end in the process,
 * OSDDA_CANCEL the rows that lead through it, and OSDDA_HAND_OVER the rows that lead to the
 * resource. */
DEVICE bool is_to_change(const osdda *a, uint64_t row, struct service_command command)
{
    if (row >= a->vectors.resources)
        return false;
    uint32_t r = (uint32_t)row, sink = GPU_POINTER(const uint32_t, a->vectors.sink_of)[r];
    if (command.operation == OSDDA_BLOCK)
        return sink == command.a;
    if (command.operation == OSDDA_CANCEL)
        return reaches_process(a, r, command.a);
    return sink == command.a && blocks_test(&a->store, &a->rr, r, command.b);
}

/* The papers' "released, p_t waits", for a row that leads to the resource; by a warp. */
DEVICE bool hand_row_over(const osdda *a, uint32_t row, struct service_command command)
{
    uint32_t from = command.a, resource = command.b, to = command.c;
    bool led_through = reaches_process(a, row, to);
    warp_barrier(WARP_ALL); /* every lane has read before one changes it */
    if (led_through)
        blocks_clear(&a->store, &a->rr, row, resource);
    else if (!blocks_set(&a->store, &a->rp, row, to))
        return false;
    blocks_clear(&a->store, &a->rp, row, from);
    return true;
}

/* Changes a warp's share of the rows that its block has listed. Returns false if pages have run
 * out. */
DEVICE bool change_rows(const osdda *a, const uint32_t *rows, uint32_t count,
                        struct service_command command)
{
    uint32_t warps = BLOCK_SIZE / WARP_SIZE;
    uint32_t parts = command.operation == OSDDA_HAND_OVER ? 1 : a->rr.top_count + a->rp.top_count;
    bool whole = true;
    for (uint32_t i = THREAD_INDEX / WARP_SIZE; i < count * parts; i += warps) {
        uint32_t row = rows[i / parts], part = i % parts;
        if (command.operation == OSDDA_HAND_OVER)
            whole &= hand_row_over(a, row, command);
        else if (command.operation == OSDDA_CANCEL)
            cut_path(a, row, command.b, part);
        else if (row != command.b) /* its path has closed into a cycle and is complete */
            whole &= append_path(a, row, command.b, part);
    }
    return whole;
}

/* Lists rows, changes them, and makes them end at word c of the command. Their number is stored in
 * front of them, away from the kernel's command: the compiler loads it together with its neighbour,
 * which race detectors take for a use. */
DEVICE void change_paths(const osdda *a, struct service_command command)
{
    SHARED(uint32_t, listed, 1 + OSDDA_MAX_THREADS);
    uint32_t *count = listed, *rows = listed + 1;
    uint64_t rounds = rounds_of_looking(a);
    if (THREAD_INDEX == 0)
        count[0] = 0;
    block_barrier();
    for (uint64_t round = 0; round < rounds; round++) {
        uint64_t row = row_to_look_at(round);
        bool found = is_to_change(a, row, command);
        if (found)
            rows[atomic_add32(count, 1)] = (uint32_t)row;
        if (!block_any(found))
            continue;
        bool failed = !change_rows(a, rows, count[0], command);
        if (!block_any(failed) && THREAD_INDEX < count[0])
            GPU_POINTER(uint32_t, a->vectors.sink_of)[rows[THREAD_INDEX]] = command.c;
        block_barrier(); /* the list has been used */
        if (THREAD_INDEX == 0)
            count[0] = 0;
        block_barrier();
    }
}

DEVICE void combine_paths(const osdda *a, struct service_command command)
{
    change_paths(a, command);
}

/* The row of the resource itself has nothing stored, before and after. */
DEVICE void hand_over(const osdda *a, struct service_command command)
{
    if (BLOCK_INDEX == 0 && THREAD_INDEX == 0)
        GPU_POINTER(uint32_t, a->vectors.sink_of)[command.b] = command.c;
    change_paths(a, command);
}

/* ------------------------------------------------------------------ rebuilding */

/* The lanes of a warp visit 32 rows: each lane gets its own row's pointer, and the sink if that is
 * known. */
DEVICE void lay_rows(const osdda *a, uint64_t row, uint32_t process)
{
    bool wanted = row < a->vectors.resources &&
                  (process == OSDDA_NONE || reaches_process(a, (uint32_t)row, process));
    bool stored =
        wanted && (blocks_any(&a->rr, (uint32_t)row) || blocks_any(&a->rp, (uint32_t)row));
    uint32_t next = OSDDA_NONE;
    if (wanted) {
        uint32_t holder = holder_of(a, (uint32_t)row);
        if (holder != OSDDA_NONE)
            next = GPU_POINTER(const uint32_t, a->vectors.wait)[holder];
        GPU_POINTER(uint32_t, a->vectors.sink_of)[row] = next == OSDDA_NONE ? holder : OSDDA_NONE;
    }
    if (row < a->vectors.resources)
        GPU_POINTER(uint32_t, a->vectors.next[0])[row] = next;
    for (uint32_t lanes = warp_ballot(WARP_ALL, stored); lanes; lanes &= lanes - 1) {
        uint32_t r = warp_shuffle(WARP_ALL, (uint32_t)row, find_first32(lanes));
        blocks_empty(&a->store, &a->rr, r);
        blocks_empty(&a->store, &a->rp, r);
    }
}

/* Extends each of the 32 rows by what follows it: doubles their length. */
DEVICE void double_rows(const osdda *a, uint64_t row, const uint32_t *next, uint32_t *further)
{
    uint32_t *sink_of = GPU_POINTER(uint32_t, a->vectors.sink_of);
    uint32_t n = row < a->vectors.resources ? next[row] : OSDDA_NONE;
    bool ignored = false;
    for (uint32_t lanes = warp_ballot(WARP_ALL, n != OSDDA_NONE); lanes; lanes &= lanes - 1) {
        uint32_t lane = find_first32(lanes), behind = warp_shuffle(WARP_ALL, n, lane);
        uint32_t r = warp_shuffle(WARP_ALL, (uint32_t)row, lane);
        blocks_join_row(&a->store, &a->rr, r, &a->rr, behind, behind, &ignored);
        blocks_join_row(&a->store, &a->rp, r, &a->rp, behind, holder_of(a, behind), &ignored);
    }
    if (row >= a->vectors.resources)
        return;
    further[row] = n == OSDDA_NONE ? OSDDA_NONE : next[n];
    if (n != OSDDA_NONE)
        sink_of[row] = sink_of[n];
}

/* As in osdda.cu: pointer doubling, where an appended row may be growing meanwhile. */
DEVICE void rebuild_rows(const osdda *a, uint32_t process)
{
    struct grid_barrier *barrier =
        (struct grid_barrier *)(uintptr_t)GPU_POINTER(struct service_grid, a->vectors.service.grid)
            ->barrier;
    uint64_t rounds = rounds_of_looking(a);
    for (uint64_t round = 0; round < rounds; round++)
        lay_rows(a, row_to_look_at(round), process);
    grid_barrier(barrier);
    if (BLOCK_INDEX == 0 && THREAD_INDEX == 0)
        blocks_settle(&a->store);
    for (uint32_t k = 0; k < a->vectors.doublings; k++) {
        grid_barrier(barrier);
        for (uint64_t round = 0; round < rounds; round++)
            double_rows(a, row_to_look_at(round),
                        GPU_POINTER(const uint32_t, a->vectors.next[k % 2]),
                        GPU_POINTER(uint32_t, a->vectors.next[1 - k % 2]));
    }
}

/* ------------------------------------------------------------------ called by the leader */

/* A path of one step is not stored. */
DEVICE void lay_grant(const osdda *a, uint32_t process, uint32_t resource)
{
    (void)a, (void)process, (void)resource;
}

DEVICE void lay_release(const osdda *a, uint32_t process, uint32_t resource)
{
    (void)a, (void)process, (void)resource;
}

DEVICE void begin_step(const osdda *a, struct service_command command)
{
    uint32_t *step = GPU_POINTER(uint32_t, a->step);
    if (LANE != 0 || command.operation == OSDDA_STOP)
        return;
    blocks_settle(&a->store);
    step[0] = command.operation;
    /* Pointers are not known half-way through: rebuild everything. */
    step[1] = command.operation == OSDDA_REBUILD ? OSDDA_NONE : command.a;
    step[2] = command.b;
    step[3] = command.c;
}

DEVICE bool step_failed(const osdda *a)
{
    uint32_t refused = LANE == 0 ? BLOCKS_POOL(&a->store)->refused : 0;
    return warp_shuffle(WARP_ALL, refused, 0) != 0;
}

DEVICE bool resume_step(const osdda *a, struct service_command *command)
{
    const uint32_t *step = GPU_POINTER(const uint32_t, a->step);
    struct block_pool *pool = BLOCKS_POOL(&a->store);
    uint32_t again = warp_shuffle(WARP_ALL, LANE == 0 ? pool->again : 0, 0);
    if (!again)
        return false;
    if (LANE == 0)
        pool->again = 0;
    command->operation = step[0];
    command->a = step[1];
    command->b = step[2];
    command->c = step[3];
    command->number = 0;
    warp_barrier(WARP_ALL); /* every lane has it before it is written again */
    return true;
}

/* Writes a row as words, including what is not stored of it. */
DEVICE void read_row(const osdda *a, struct service_command command)
{
    const struct block_matrix *m = command.c ? &a->rp : &a->rr;
    uint32_t *row = GPU_POINTER(uint32_t, a->row);
    uint32_t known = command.c ? holder_of(a, command.a) : command.a;
    for (uint32_t i = LANE; i < command.b; i += WARP_SIZE) {
        uint32_t word = blocks_word(&a->store, m, command.a, i);
        row[i] = word | (known != OSDDA_NONE && known / 32 == i ? 1u << known % 32 : 0);
    }
    fence_system(); /* the host reads it next */
    warp_barrier(WARP_ALL);
    if (LANE == 0)
        service_answer(&a->vectors.service, command.number, 0);
}

DEVICE bool lead_other(const osdda *a, struct service_command command)
{
    if (command.operation == OSDDA_READ)
        read_row(a, command);
    return false;
}

#define OSDDA_KERNEL osdda_blocks_service
#include "foundation/gpu/kernels/detect/osdda_lead.h"
