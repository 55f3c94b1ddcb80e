/*
 * Snapshots of any model on the device: graph reduction, round by round.
 *
 * The graph is the same as on the CPU (engines/detect/check/general.c): from a process to the
 * resources it holds, from a resource to its waiters, the fewest units first. It is built here by
 * counting, a prefix sum (kernels/array/select.cu) and filling. The waiters of a resource are
 * sorted if their units differ.
 *
 * A round: all processes that have become ready release what they hold (free units only grow, so
 * the order does not matter). Then every resource with released units checks how far its free units
 * reach into its sorted waiters. Each waiter that is reached has one open wish less. A waiter
 * without open wishes is ready for the next round. Every edge is visited only once. The rounds end
 * when no process becomes ready: a process that still lacks something is dead. The reduction has
 * only this outcome, because free units and met wishes only grow.
 *
 * Chains of millions would take as many rounds as they are long. So first every process with one
 * wish is linked to the first holder of what it wants, if this holder has enough. A process that
 * leads to a running one can finish after it, and is ready from the start (cycles.cu finds all of
 * these at once). The rounds handle the rest.
 *
 * One cooperative launch runs all rounds. One thread handles a node with few edges; others are cut
 * into chunks for whole warps, so that a hub with millions of waiters keeps the whole device busy.
 *
 * No count is ever reset: a round handles what was added to a list since the last one, and the next
 * phase starts only after the barrier that ends this one.
 */
#include "foundation/gpu/kernels/check/reduce.h"
#include "foundation/gpu/language/kernel.h"

#define INDEX (BLOCK_INDEX * BLOCK_SIZE + THREAD_INDEX)
#define WARPS (GRID_SIZE * BLOCK_SIZE / WARP_SIZE)

typedef struct reduce_arguments reduction;

#define U32(name)      GPU_POINTER(uint32_t, a->name)
#define U64(name)      GPU_POINTER(uint64_t, a->name)
#define EDGES(name)    GPU_POINTER(const struct reduce_edge, a->name)
#define COUNTS         GPU_POINTER(struct reduce_counts, a->counts)
#define CHUNKS(name)   GPU_POINTER(struct reduce_chunk, a->name)
#define GRID_BARRIER() grid_barrier(GPU_POINTER(struct grid_barrier, a->barrier))

/* ------------------------------------------------------------------ the graph */

/* Adds one to *counter for every lane that `wants`, and returns the old value to each. All lanes of
 * a warp take part. When all have the same counter, a hub's, one lane adds for all. */
DEVICE uint32_t count_one(uint32_t *counter, bool wants)
{
    uint64_t address = (uint64_t)(uintptr_t)counter;
    uint32_t wanting = warp_ballot(WARP_ALL, wants);
    if (wanting == 0)
        return 0;
    uint32_t first = find_first32(wanting), old = 0;
    uint64_t common = warp_shuffle64(WARP_ALL, address, first);
    if (warp_all(WARP_ALL, !wants || address == common)) {
        if (LANE == first)
            old = atomic_add32(counter, popcount32(wanting));
        old = warp_shuffle(WARP_ALL, old, first);
        return old + popcount32(wanting & ((1u << LANE) - 1));
    }
    if (wants)
        old = atomic_add32(counter, 1);
    return old;
}

/* A wait or a hold of the snapshot. */
struct edge {
    uint32_t process, resource;
    uint64_t units;
    bool is, waits;
};

/* Edge number i: first waits, further waits, first holds, further holds. */
DEVICE struct edge edge_of(const reduction *a, uint32_t i)
{
    struct edge edge;
    edge.is = false;
    edge.waits = true;
    edge.process = edge.resource = 0;
    edge.units = 1;
    if (i < a->processes) {
        edge.process = i;
        edge.resource = U32(wait)[i];
        edge.is = edge.resource != REDUCE_NONE;
        if (edge.is && a->wait_units)
            edge.units = U64(wait_units)[i];
        return edge;
    }
    i -= a->processes;
    if (i < a->wait_count) {
        edge.is = true;
        edge.process = EDGES(waits)[i].process;
        edge.resource = EDGES(waits)[i].resource;
        edge.units = EDGES(waits)[i].units;
        return edge;
    }
    i -= a->wait_count;
    edge.waits = false;
    if (i < a->resources) {
        edge.resource = i;
        edge.process = U32(holder)[i];
        edge.is = edge.process != REDUCE_NONE;
        if (edge.is && a->units)
            edge.units = GPU_POINTER(const struct reduce_units, a->units)[i].first;
        return edge;
    }
    i -= a->resources;
    if (i < a->hold_count) {
        edge.is = true;
        edge.process = EDGES(holds)[i].process;
        edge.resource = EDGES(holds)[i].resource;
        edge.units = EDGES(holds)[i].units;
    }
    return edge;
}

/* Counts the edges of every node, and the wishes of every process. */
KERNEL(reduce_count, struct reduce_arguments)
{
    const reduction *all = &a;
    struct edge edge = edge_of(all, INDEX);
    bool waits = edge.is && edge.waits, holds = edge.is && !edge.waits;
    count_one(&GPU_POINTER(uint32_t, a.wait_start)[waits ? edge.resource : 0], waits);
    count_one(&GPU_POINTER(uint32_t, a.hold_start)[holds ? edge.process : 0], holds);
    if (waits)
        atomic_add32(&GPU_POINTER(uint32_t, a.missing)[edge.process], 1);
}

/* Puts every edge in its place. The starts are known and copied to the cursors. */
KERNEL(reduce_fill, struct reduce_arguments)
{
    const reduction *all = &a;
    struct edge edge = edge_of(all, INDEX);
    bool waits = edge.is && edge.waits, holds = edge.is && !edge.waits;
    uint32_t *wait_cursor = GPU_POINTER(uint32_t, a.wait_cursor);
    uint32_t *hold_cursor = GPU_POINTER(uint32_t, a.hold_cursor);
    uint32_t at = count_one(&wait_cursor[waits ? edge.resource : 0], waits);
    if (waits) {
        GPU_POINTER(uint32_t, a.wait_target)[at] = edge.process;
        if (a.wait_amount)
            GPU_POINTER(uint64_t, a.wait_amount)[at] = edge.units;
    }
    at = count_one(&hold_cursor[holds ? edge.process : 0], holds);
    if (holds) {
        GPU_POINTER(uint32_t, a.hold_target)[at] = edge.resource;
        if (a.hold_amount)
            GPU_POINTER(uint64_t, a.hold_amount)[at] = edge.units;
    }
}

/* Computes the free units. */
KERNEL(reduce_start, struct reduce_arguments)
{
    uint32_t q = INDEX;
    if (q >= a.resources)
        return;
    uint64_t units = GPU_POINTER(const uint32_t, a.holder)[q] == REDUCE_NONE;
    if (a.units) {
        const struct reduce_units *of = GPU_POINTER(const struct reduce_units, a.units) + q;
        units = of->total - of->held;
    }
    GPU_POINTER(uint64_t, a.free)[q] = units;
}

/* ------------------------------------------------------------------ leads */

/* Returns the lead of p: a process whose end is sufficient for p to finish. p itself if no single
 * one is known to be; NONE if p need not wait. */
DEVICE uint32_t lead_of(const reduction *a, uint32_t p)
{
    uint32_t missing = U32(missing)[p];
    if (missing != 1)
        return missing == 0 ? REDUCE_NONE : p;
    uint32_t q = U32(wait)[p], holder = U32(holder)[q];
    uint64_t wanted = a->wait_units ? U64(wait_units)[p] : 1, units = U64(free)[q];
    if (wanted <= units)
        return REDUCE_NONE;
    if (holder == REDUCE_NONE)
        return p;
    units += a->units ? GPU_POINTER(const struct reduce_units, a->units)[q].first : 1;
    return wanted <= units ? holder : p;
}

KERNEL(reduce_lead, struct reduce_arguments)
{
    const reduction *all = &a;
    if (INDEX < a.processes)
        GPU_POINTER(uint32_t, a.lead)[INDEX] = lead_of(all, INDEX);
}

/* A process that leads to a running one is ready (`flags` is set for the others). Whether the
 * rounds meet its wish does not matter any more, so `missing` may fall below zero. */
KERNEL(reduce_seed, struct reduce_arguments)
{
    uint32_t p = INDEX;
    if (p >= a.processes)
        return;
    uint8_t *flags = GPU_POINTER(uint8_t, a.flags);
    flags[p] = !flags[p];
    if (flags[p])
        GPU_POINTER(uint32_t, a.missing)[p] = 0;
}

/* ------------------------------------------------------------------ sorting the waiters */

DEVICE void order_pair(uint64_t *amounts, uint32_t *targets, uint32_t i, uint32_t k)
{
    if (amounts[i] <= amounts[k])
        return;
    uint64_t amount = amounts[i];
    amounts[i] = amounts[k];
    amounts[k] = amount;
    uint32_t target = targets[i];
    targets[i] = targets[k];
    targets[k] = target;
}

DEVICE void sort_short(uint64_t *amounts, uint32_t *targets, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++)
        for (uint32_t k = i; k > 0 && amounts[k - 1] > amounts[k]; k--)
            order_pair(amounts, targets, k - 1, k);
}

/* One step of a bitonic sort of any number of elements: those beyond the end count as larger than
 * all, and every comparison is ascending (the first of each merge mirrors), so they stay there. */
DEVICE void sort_step(uint64_t *amounts, uint32_t *targets, uint32_t count, uint32_t half,
                      bool mirror, uint32_t thread, uint32_t threads)
{
    /* Pairs can be inside only while their block of 2 * half elements begins below `count`. */
    for (uint64_t pair = thread;; pair += threads) {
        uint64_t inside = pair % half, i = pair / half * 2 * half + inside;
        if (pair / half * 2 * half >= count)
            return;
        uint64_t k = mirror ? i - inside + 2 * half - 1 - inside : i + half;
        if (k < count)
            order_pair(amounts, targets, (uint32_t)i, (uint32_t)k);
    }
}

DEVICE void sort_barrier(const reduction *a, bool grid)
{
    if (grid)
        GRID_BARRIER();
    else
        block_barrier();
}

/* By all threads of a block, or of the grid. */
DEVICE void sort_long(const reduction *a, uint32_t resource, bool grid)
{
    uint32_t begin = U32(wait_start)[resource], count = U32(wait_start)[resource + 1] - begin;
    uint32_t thread = grid ? INDEX : THREAD_INDEX;
    uint32_t threads = grid ? GRID_SIZE * BLOCK_SIZE : BLOCK_SIZE;
    uint64_t *amounts = U64(wait_amount) + begin;
    uint32_t *targets = U32(wait_target) + begin;
    for (uint64_t size = 2; size / 2 < count; size *= 2) {
        bool mirror = true;
        for (uint32_t half = (uint32_t)(size / 2); half > 0; half /= 2) {
            sort_step(amounts, targets, count, half, mirror, thread, threads);
            sort_barrier(a, grid);
            mirror = false;
        }
    }
}

KERNEL(reduce_sort, struct reduce_arguments)
{
    const reduction *all = &a;
    const uint32_t *start = GPU_POINTER(const uint32_t, a.wait_start);
    uint32_t *lists = GPU_POINTER(uint32_t, a.long_lists);
    struct reduce_counts *counts = GPU_POINTER(struct reduce_counts, a.counts);
    for (uint32_t q = INDEX; q < a.resources; q += GRID_SIZE * BLOCK_SIZE) {
        uint32_t count = start[q + 1] - start[q];
        if (count > REDUCE_SHORT)
            lists[atomic_add32(&counts->long_lists, 1)] = q;
        else
            sort_short(GPU_POINTER(uint64_t, a.wait_amount) + start[q],
                       GPU_POINTER(uint32_t, a.wait_target) + start[q], count);
    }
    grid_barrier(GPU_POINTER(struct grid_barrier, a.barrier));
    for (uint32_t i = BLOCK_INDEX; i < counts->long_lists; i += GRID_SIZE)
        if (start[lists[i] + 1] - start[lists[i]] <= REDUCE_BLOCK)
            sort_long(all, lists[i], false);
    for (uint32_t i = 0; i < counts->long_lists; i++)
        if (start[lists[i] + 1] - start[lists[i]] > REDUCE_BLOCK)
            sort_long(all, lists[i], true);
}

/* ------------------------------------------------------------------ the rounds */

/* Adds the edges begin .. end - 1 to a list of chunks. */
DEVICE void add_chunks(struct reduce_chunk *chunks, uint32_t *count, uint32_t begin, uint32_t end)
{
    uint32_t at = atomic_add32(count, (end - begin - 1) / REDUCE_CHUNK + 1);
    for (; begin < end; at++) {
        uint32_t stop = end - begin > REDUCE_CHUNK ? begin + REDUCE_CHUNK : end;
        chunks[at].begin = begin;
        chunks[at].end = stop;
        begin = stop;
    }
}

/* Releases a hold. All lanes of a warp take part. `base`: the touches before this round. */
DEVICE void give_back(const reduction *a, uint32_t edge, bool active, uint32_t round, uint32_t base)
{
    uint32_t q = 0;
    bool fresh = false;
    if (active) {
        q = U32(hold_target)[edge];
        atomic_add64(&U64(free)[q], a->hold_amount ? U64(hold_amount)[edge] : 1);
        fresh = U32(touched_round)[q] != round &&
                atomic_exchange32(&U32(touched_round)[q], round) != round;
    }
    uint32_t at = count_one(&COUNTS->touched, fresh);
    if (fresh)
        U32(touched)[at - base] = q;
}

/* Meets a wish. All lanes of a warp take part. */
DEVICE void meet_wish(const reduction *a, uint32_t edge, bool active)
{
    uint32_t p = 0;
    bool now = false;
    if (active) {
        p = U32(wait_target)[edge];
        now = atomic_add32(&U32(missing)[p], REDUCE_NONE) == 1; /* one less */
    }
    uint32_t at = count_one(&COUNTS->ready, now);
    if (now)
        U32(ready)[at] = p;
}

/* The processes that became ready, ready[done] .. ready[end - 1], release what they hold. */
DEVICE void finish_ready(const reduction *a, uint32_t done, uint32_t end, uint32_t round,
                         uint32_t base)
{
    for (uint32_t first = done + INDEX / WARP_SIZE * WARP_SIZE; first < end;
         first += WARPS * WARP_SIZE) {
        uint32_t i = first + LANE, edge = 0, stop = 0;
        if (i < end) {
            uint32_t p = U32(ready)[i];
            edge = U32(hold_start)[p];
            stop = U32(hold_start)[p + 1];
        }
        if (stop - edge > REDUCE_SHORT) {
            add_chunks(CHUNKS(process_chunks), &COUNTS->process_chunks, edge, stop);
            edge = stop;
        }
        for (; warp_any(WARP_ALL, edge < stop); edge += edge < stop)
            give_back(a, edge, edge < stop, round, base);
    }
}

/* Returns how far the free units of q reach into its waiters: the first edge whose wish is not met.
 */
DEVICE uint32_t reach_from(const reduction *a, uint32_t q, uint32_t first, uint32_t end)
{
    uint64_t units = U64(free)[q];
    if (!a->wait_amount)
        return units > 0 ? end : first;
    const uint64_t *amounts = U64(wait_amount);
    while (first < end) {
        uint32_t middle = first + (end - first) / 2;
        if (amounts[middle] <= units)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

/* Resources with released units (`all`: every one) check their waiters. */
DEVICE void serve_touched(const reduction *a, uint32_t count, bool all)
{
    for (uint32_t first = INDEX / WARP_SIZE * WARP_SIZE; first < count;
         first += WARPS * WARP_SIZE) {
        uint32_t i = first + LANE, edge = 0, stop = 0;
        if (i < count) {
            uint32_t q = all ? i : U32(touched)[i];
            edge = U32(wait_cursor)[q];
            stop = reach_from(a, q, edge, U32(wait_start)[q + 1]);
            U32(wait_cursor)[q] = stop;
        }
        if (stop - edge > REDUCE_SHORT) {
            add_chunks(CHUNKS(resource_chunks), &COUNTS->resource_chunks, edge, stop);
            edge = stop;
        }
        for (; warp_any(WARP_ALL, edge < stop); edge += edge < stop)
            meet_wish(a, edge, edge < stop);
    }
}

/* Each chunk is handled by a warp. */
DEVICE void finish_chunks(const reduction *a, uint32_t done, uint32_t end, uint32_t round,
                          uint32_t base)
{
    for (uint32_t i = done + INDEX / WARP_SIZE; i < end; i += WARPS) {
        struct reduce_chunk chunk = CHUNKS(process_chunks)[i];
        for (uint32_t edge = chunk.begin; edge < chunk.end; edge += WARP_SIZE)
            give_back(a, edge + LANE, edge + LANE < chunk.end, round, base);
    }
}

DEVICE void serve_chunks(const reduction *a, uint32_t done, uint32_t end)
{
    for (uint32_t i = done + INDEX / WARP_SIZE; i < end; i += WARPS) {
        struct reduce_chunk chunk = CHUNKS(resource_chunks)[i];
        for (uint32_t edge = chunk.begin; edge < chunk.end; edge += WARP_SIZE)
            meet_wish(a, edge + LANE, edge + LANE < chunk.end);
    }
}

/* Where the lists ended when this round began. Equal in all threads. */
struct progress {
    uint32_t ready, touched, process_chunks, resource_chunks;
};

DEVICE void serve_waiters(const reduction *a, struct progress *done, uint32_t count, bool all)
{
    serve_touched(a, count, all);
    GRID_BARRIER();
    uint32_t chunks = COUNTS->resource_chunks;
    if (chunks != done->resource_chunks) {
        serve_chunks(a, done->resource_chunks, chunks);
        GRID_BARRIER();
        done->resource_chunks = chunks;
    }
}

KERNEL(reduce_rounds, struct reduce_arguments)
{
    const reduction *all = &a;
    struct reduce_counts *counts = GPU_POINTER(struct reduce_counts, a.counts);
    struct grid_barrier *barrier = GPU_POINTER(struct grid_barrier, a.barrier);
    struct progress done;
    done.ready = done.touched = done.process_chunks = done.resource_chunks = 0;
    serve_waiters(all, &done, a.resources, true);
    for (uint32_t round = 1; counts->ready != done.ready; round++) {
        uint32_t ready = counts->ready;
        finish_ready(all, done.ready, ready, round, done.touched);
        grid_barrier(barrier);
        uint32_t chunks = counts->process_chunks;
        if (chunks != done.process_chunks) {
            finish_chunks(all, done.process_chunks, chunks, round, done.touched);
            grid_barrier(barrier);
        }
        uint32_t touched = counts->touched;
        done.ready = ready;
        done.process_chunks = chunks;
        serve_waiters(all, &done, touched - done.touched, false);
        done.touched = touched;
    }
}

/* Flags the processes left over. */
KERNEL(reduce_left, struct reduce_arguments)
{
    uint32_t p = INDEX;
    if (p >= a.processes)
        return;
    int32_t missing = (int32_t)GPU_POINTER(const uint32_t, a.missing)[p];
    GPU_POINTER(uint8_t, a.flags)[p] = missing > 0;
}
