/*
 * OSDDA as a resident service: the counterpart of engines/detect/engine/osdda.c
 * (kernels/resident/service.h explains services, osdda_lead.h the leader). This file has the steps
 * of the grid on whole rows.
 *
 * Write access. Row r belongs to block r % GRID_SIZE: only this block changes the row during a
 * step, and its threads synchronize by barriers. A step that reads a row of another block (the path
 * appended to others, or cut off them) never changes that row: in OSDDA_BLOCK it is skipped if it
 * is among the rows to change (the path closes into a cycle and is complete), in OSDDA_CANCEL it
 * cannot be among them (it does not lead to the process, otherwise it would be on a cycle and
 * rebuilt). Only OSDDA_REBUILD reads rows that others write; see there.
 *
 * A block event reads a whole row but changes only what that row has: its chunks that are not zero
 * are gathered in shared memory once, and only these are combined with every row. So a long path
 * appended to few rows, or a short one to many, costs next to nothing; the worst case is half the
 * resources on each side.
 */
#include "foundation/gpu/kernels/detect/osdda.h"
#include "foundation/gpu/kernels/resident/service.h"
#include "foundation/gpu/language/kernel.h"

typedef struct osdda_arguments osdda;
typedef ulonglong2 chunk; /* 128 bits of a row */

#define CHUNK_BITS 128u
#define AHEAD      4u /* chunks a thread has in flight */

/* Chunks gathered at a time: rows of 65536 resources and processes in one pass. The emulator has
 * few, so that tests see several passes. */
#ifdef __CUDACC__
#define TILE   1024u
#define UNROLL _Pragma("unroll")
#else
#define TILE 3u
#define UNROLL
#endif

/* ------------------------------------------------------------------ bits */

DEVICE chunk *row_at(const osdda *a, uint32_t row)
{
    return GPU_POINTER(chunk, a->rows) + row * a->stride;
}

/* Returns the word of RR that returns whether `row` reaches the resource; of RP, the process. */
DEVICE uint32_t *rr_word(const osdda *a, uint32_t row, uint32_t resource)
{
    return (uint32_t *)row_at(a, row) + resource / 32;
}

DEVICE uint32_t *rp_word(const osdda *a, uint32_t row, uint32_t process)
{
    return (uint32_t *)(row_at(a, row) + a->rp) + process / 32;
}

DEVICE bool reaches_process(const osdda *a, uint32_t row, uint32_t process)
{
    return *rp_word(a, row, process) >> process % 32 & 1;
}

/* Returns chunk number `index` of a row in which only `bit` is set (OSDDA_NONE: no bit). */
DEVICE chunk one_bit(uint32_t bit, uint64_t index)
{
    chunk x;
    x.x = 0;
    x.y = 0;
    if (bit != OSDDA_NONE && bit / CHUNK_BITS == index) {
        if (bit % CHUNK_BITS < 64)
            x.x = 1ull << bit % 64;
        else
            x.y = 1ull << bit % 64;
    }
    return x;
}

DEVICE chunk combined_words(chunk to, chunk from, bool subtract)
{
    to.x = subtract ? to.x & ~from.x : to.x | from.x;
    to.y = subtract ? to.y & ~from.y : to.y | from.y;
    return to;
}

/* ------------------------------------------------------------------ appending a path to others */

/* The findings of a block: rows to change, and the chunks of the source row that are not zero. */
struct finding {
    uint32_t *rows, *row_count; /* in shared memory */
    chunk *values;
    uint32_t *places, *gathered;
};

/* Combines the gathered chunks with the rows found; both are distributed over the block's threads.
 */
DEVICE void combine_rows(const osdda *a, struct finding found, bool subtract)
{
    uint32_t gathered = *found.gathered;
    uint32_t items = *found.row_count * gathered;
    for (uint32_t first = THREAD_INDEX; first < items; first += AHEAD * BLOCK_SIZE) {
        chunk *at[AHEAD];
        chunk to[AHEAD];
        uint32_t which[AHEAD];
        UNROLL
        for (uint32_t i = 0; i < AHEAD; i++) {
            uint32_t item = first + i * BLOCK_SIZE;
            at[i] = NULL;
            which[i] = 0;
            to[i].x = 0;
            to[i].y = 0;
            if (item < items) {
                uint32_t row = item / gathered;
                which[i] = item - row * gathered;
                at[i] = row_at(a, found.rows[row]) + found.places[which[i]];
                to[i] = *at[i];
            }
        }
        UNROLL
        for (uint32_t i = 0; i < AHEAD; i++)
            if (at[i])
                *at[i] = combined_words(to[i], found.values[which[i]], subtract);
    }
}

/* The data that decide whether a row has to change. They are fetched here and evaluated in
 * find_row, so that their latency overlaps with the latency of gather. */
DEVICE uint32_t fetch_row(const osdda *a, uint64_t row, struct service_command command)
{
    if (row >= a->vectors.resources)
        return 0;
    return command.operation == OSDDA_CANCEL ? *rp_word(a, (uint32_t)row, command.a)
                                             : GPU_POINTER(uint32_t, a->vectors.sink_of)[row];
}

/* If this row has to change, lists it. It then ends at word c of the command. */
DEVICE void find_row(const osdda *a, struct finding found, uint64_t row, uint32_t fetched,
                     struct service_command command)
{
    bool mine =
        command.operation == OSDDA_CANCEL ? fetched >> command.a % 32 & 1 : fetched == command.a;
    if (row >= a->vectors.resources || !mine)
        return;
    GPU_POINTER(uint32_t, a->vectors.sink_of)[row] = command.c;
    if (row != command.b)
        found.rows[atomic_add32(found.row_count, 1)] = (uint32_t)row;
}

DEVICE void gather_rows(struct finding found, const chunk *source, uint64_t from, uint64_t to)
{
    for (uint64_t i = from + THREAD_INDEX; i < to; i += BLOCK_SIZE) {
        chunk x = source[i];
        if (x.x | x.y) {
            uint32_t slot = atomic_add32(found.gathered, 1);
            found.values[slot] = x;
            found.places[slot] = (uint32_t)i;
        }
    }
}

/* OSDDA_BLOCK: rows that end in process a continue as row b does. OSDDA_CANCEL: rows that lead
 * through it end there again. c: where those rows end afterwards. */
DEVICE void combine_paths(const osdda *a, struct service_command command)
{
    SHARED(uint32_t, rows, OSDDA_MAX_THREADS);
    SHARED(chunk, values, TILE);
    SHARED(uint32_t, places, TILE);
    SHARED(uint32_t, counts, 2);
    struct finding found;
    found.rows = rows;
    found.row_count = &counts[0];
    found.values = values;
    found.places = places;
    found.gathered = &counts[1];
    const chunk *source = row_at(a, command.b);
    uint64_t each_time = (uint64_t)BLOCK_SIZE * GRID_SIZE;
    for (uint64_t base = BLOCK_INDEX; base < a->vectors.resources; base += each_time)
        for (uint64_t tile = 0; tile < a->stride; tile += TILE) {
            uint64_t end = tile + TILE < a->stride ? tile + TILE : a->stride;
            if (THREAD_INDEX == 0) {
                counts[1] = 0;
                if (tile == 0)
                    counts[0] = 0;
            }
            block_barrier();
            uint64_t row = base + (uint64_t)THREAD_INDEX * GRID_SIZE;
            uint32_t fetched = tile == 0 ? fetch_row(a, row, command) : 0;
            gather_rows(found, source, tile, end);
            if (tile == 0)
                find_row(a, found, row, fetched, command);
            block_barrier();
            combine_rows(a, found, command.operation == OSDDA_CANCEL);
            block_barrier(); /* the findings have been used */
        }
}

/* ------------------------------------------------------------------ hand-over */

/* The papers' "released, p_t waits": reads three columns, a thread for each row. */
DEVICE void hand_over(const osdda *a, struct service_command command)
{
    uint32_t from = command.a, resource = command.b, to = command.c;
    uint32_t from_bit = 1u << from % 32, to_bit = 1u << to % 32;
    for (uint64_t row = BLOCK_INDEX + (uint64_t)THREAD_INDEX * GRID_SIZE;
         row < a->vectors.resources; row += (uint64_t)BLOCK_SIZE * GRID_SIZE) {
        uint32_t r = (uint32_t)row;
        uint32_t *reaches = rr_word(a, r, resource);
        uint32_t *left = rp_word(a, r, from), *met = rp_word(a, r, to);
        /* All are fetched at once, needed or not: one latency instead of two. */
        uint32_t reached = *reaches, left_word = *left, met_word = *met;
        if (!(reached >> resource % 32 & 1))
            continue;
        GPU_POINTER(uint32_t, a->vectors.sink_of)[r] = to;
        if (met_word & to_bit) /* it led through `to` to the resource */
            *reaches = reached & ~(1u << resource % 32);
        if (left == met) {
            *met = (met_word & ~from_bit) | to_bit;
        } else {
            *left = left_word & ~from_bit;
            *met = met_word | to_bit;
        }
    }
}

/* ------------------------------------------------------------------ rebuilding */

/* Makes a row that is only the step from its resource to the holder; by a warp. */
DEVICE void lay_row(const osdda *a, uint32_t row, bool wanted)
{
    uint32_t holder = GPU_POINTER(uint32_t, a->vectors.holder)[row];
    uint32_t next =
        holder == OSDDA_NONE ? OSDDA_NONE : GPU_POINTER(uint32_t, a->vectors.wait)[holder];
    if (wanted) {
        chunk *to = row_at(a, row);
        for (uint64_t i = LANE; i < a->stride; i += WARP_SIZE)
            to[i] = i < a->rp ? one_bit(row, i) : one_bit(holder, i - a->rp);
    }
    if (LANE == 0) {
        GPU_POINTER(uint32_t, a->vectors.next[0])[row] = wanted ? next : OSDDA_NONE;
        if (wanted)
            GPU_POINTER(uint32_t, a->vectors.sink_of)
        [row] = next == OSDDA_NONE ? holder : OSDDA_NONE;
    }
}

/* Appends the row `next` to `row`; by a warp. */
DEVICE void append_row(const osdda *a, uint32_t row, uint32_t next)
{
    chunk *to = row_at(a, row);
    const chunk *from = row_at(a, next);
    for (uint64_t i = LANE; i < a->stride; i += WARP_SIZE) {
        chunk x = from[i];
        if (x.x | x.y)
            to[i] = combined_words(to[i], x, false);
    }
}

/*
 * Recomputes rows from holders and waits by pointer doubling: joins a row with the row that is 1,
 * 2, 4, ... resources further on. A row whose pointer never ends leads into a cycle and has no
 * sink.
 *
 * The appended row may be growing meanwhile. That does no harm: everything in it is on its path, so
 * also on this one, and its content at the beginning of the step is sufficient. The pointers are
 * different: they are read from one vector and written to the other.
 */
DEVICE void rebuild_rows(const osdda *a, uint32_t process)
{
    struct grid_barrier *barrier =
        (struct grid_barrier *)(uintptr_t)GPU_POINTER(struct service_grid, a->vectors.service.grid)
            ->barrier;
    uint32_t *sink_of = GPU_POINTER(uint32_t, a->vectors.sink_of);
    uint32_t warps = BLOCK_SIZE / WARP_SIZE;
    uint64_t first = BLOCK_INDEX + (uint64_t)(THREAD_INDEX / WARP_SIZE) * GRID_SIZE;
    for (uint64_t row = first; row < a->vectors.resources; row += (uint64_t)warps * GRID_SIZE) {
        uint32_t r = (uint32_t)row;
        bool wanted = process == OSDDA_NONE || reaches_process(a, r, process);
        warp_barrier(WARP_ALL); /* every lane has read before one clears the row */
        lay_row(a, r, wanted);
    }
    for (uint32_t k = 0; k < a->vectors.doublings; k++) {
        const uint32_t *next = GPU_POINTER(const uint32_t, a->vectors.next[k % 2]);
        uint32_t *further = GPU_POINTER(uint32_t, a->vectors.next[1 - k % 2]);
        grid_barrier(barrier);
        for (uint64_t row = first; row < a->vectors.resources; row += (uint64_t)warps * GRID_SIZE) {
            uint32_t r = (uint32_t)row, n = next[r];
            if (n != OSDDA_NONE)
                append_row(a, r, n);
            if (LANE == 0) {
                further[r] = n == OSDDA_NONE ? OSDDA_NONE : next[n];
                if (n != OSDDA_NONE)
                    sink_of[r] = sink_of[n];
            }
        }
    }
}

/* ------------------------------------------------------------------ called by the leader */

/* The rows of a free resource have only itself, so stores suffice. By lane 0. */
DEVICE void lay_grant(const osdda *a, uint32_t process, uint32_t resource)
{
    *rp_word(a, resource, process) = 1u << process % 32;
}

DEVICE void lay_release(const osdda *a, uint32_t process, uint32_t resource)
{
    *rp_word(a, resource, process) = 0;
}

/* Whole rows never run out of memory: no step is left to a later kernel. */
DEVICE bool resume_step(const osdda *a, struct service_command *command)
{
    (void)a, (void)command;
    return false;
}

DEVICE bool step_failed(const osdda *a)
{
    (void)a;
    return false;
}

DEVICE void begin_step(const osdda *a, struct service_command command)
{
    (void)a, (void)command;
}

DEVICE bool lead_other(const osdda *a, struct service_command command)
{
    (void)a, (void)command;
    return false;
}

#define OSDDA_KERNEL osdda_service
#include "foundation/gpu/kernels/detect/osdda_lead.h"
