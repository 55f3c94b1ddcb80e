/*
 * LMDDA on rows in blocks (blocks.h): the counterpart of lmdda.cu and lmdda_hop.cu.
 *
 * Pages may run out in every kernel that does not only read. The host then maps more and repeats
 * the launch: changes are made in the same order, rows are joined once more, and a recomputation
 * starts from the beginning.
 */
#include "foundation/gpu/kernels/detect/lmdda.h"
#include "foundation/gpu/kernels/detect/lmdda_row.h"
#include "foundation/gpu/kernels/detect/what_if_row.h"
#include "foundation/gpu/kernels/resident/blocks.h"

#define NEIGHBOURS 8u

DEVICE struct block_matrix matrix_at(const struct lmdda_state *s, uint64_t tops)
{
    struct block_matrix m;
    m.tops = tops;
    m.rows = s->stride;
    m.top_count = s->top_count;
    return m;
}

/* Returns the row that this lane visits in round `round` of a scan of all rows; it may be out of
 * range. Eight neighbours are read together, and neighbouring rows go to different warps. */
DEVICE uint64_t row_to_look_at(uint64_t round)
{
    uint64_t warps = (uint64_t)GRID_SIZE * (BLOCK_SIZE / WARP_SIZE);
    uint64_t warp = (uint64_t)BLOCK_INDEX * (BLOCK_SIZE / WARP_SIZE) + THREAD_INDEX / WARP_SIZE;
    uint64_t group = round * (WARP_SIZE / NEIGHBOURS) + LANE / NEIGHBOURS;
    return (group * warps + warp) * NEIGHBOURS + LANE % NEIGHBOURS;
}

DEVICE uint64_t rounds_of_looking(uint32_t rows)
{
    uint64_t each = (uint64_t)GRID_SIZE * BLOCK_SIZE;
    return (rows + each - 1) / each;
}

/* ---- changes */

DEVICE void begin_event(const struct lmdda_event_arguments *event)
{
    blocks_settle(&event->state.store);
}

/* Assigns changes to warps: changes of the same row or process go to the same warp. */
DEVICE bool makes_change(const struct lmdda_update *update)
{
    uint32_t warps = BLOCK_SIZE / WARP_SIZE;
    uint32_t whose = update->change == LMDDA_SLOT ? 0 : update->first % warps;
    return THREAD_INDEX / WARP_SIZE == whose;
}

DEVICE void hold_resource(const struct lmdda_state *s, uint32_t resource, uint32_t process)
{
    struct block_matrix grants = matrix_at(s, s->grants), reach = matrix_at(s, s->reach);
    blocks_set(&s->store, &grants, resource, process);
    blocks_set(&s->store, &reach, resource, process);
}

DEVICE void drop_resource(const struct lmdda_state *s, uint32_t resource, uint32_t process)
{
    struct block_matrix grants = matrix_at(s, s->grants);
    blocks_clear(&s->store, &grants, resource, process);
}

/* ---- recomputing rows */

/* Which rows a row takes over: rows of `from` join row `row` of `to`. */
struct takeover {
    struct block_matrix to, from;
    bool changed;
};

/* Takes over everything that the waiting processes of row `row` of `by` wait for. Processes often
 * wait for the same resource, so the previous one is skipped. */
DEVICE void take_over(const struct lmdda_state *s, const struct block_matrix *by, uint32_t row,
                      struct takeover *one, struct takeover *other)
{
    struct block_walk walk = {0, 0, 0, 0, 0, 0, 0, 0};
    uint32_t last = LMDDA_NONE;
    while (blocks_next(&s->store, by, row, &walk)) {
        uint32_t waiting =
            walk.word ? walk.word & ~GPU_POINTER(const uint32_t, s->runs)[walk.index] : 0;
        for (uint32_t lanes = warp_ballot(WARP_ALL, waiting != 0); lanes; lanes &= lanes - 1) {
            uint32_t lane = find_first32(lanes), bits = warp_shuffle(WARP_ALL, waiting, lane);
            uint32_t index = warp_shuffle(WARP_ALL, walk.index, lane);
            for (; bits; bits &= bits - 1) {
                uint32_t process = index * 32 + find_first32(bits);
                uint32_t wanted = GPU_POINTER(const uint32_t, s->waits)[process];
                if (wanted == last)
                    continue;
                last = wanted;
                blocks_join_row(&s->store, &one->to, row, &one->from, wanted, BLOCKS_NO_BIT,
                                &one->changed);
                if (other)
                    blocks_join_row(&s->store, &other->to, row, &other->from, wanted, BLOCKS_NO_BIT,
                                    &other->changed);
            }
        }
    }
}

/* A warp for each row: none of them leads to another. */
DEVICE void remake_rows(const struct lmdda_event_arguments *event)
{
    const struct lmdda_state *s = &event->state;
    struct block_matrix grants = matrix_at(s, s->grants), reach = matrix_at(s, s->reach);
    struct takeover rows = {reach, reach, false};
    uint32_t warps = BLOCK_SIZE / WARP_SIZE;
    for (uint32_t i = THREAD_INDEX / WARP_SIZE; i < event->row_count; i += warps) {
        uint32_t row = GPU_POINTER(const uint32_t, event->rows)[i];
        blocks_empty(&s->store, &reach, row);
        blocks_join_row(&s->store, &reach, row, &grants, row, BLOCKS_NO_BIT, &rows.changed);
        take_over(s, &grants, row, &rows, NULL);
    }
}

/* ---- where a resource leads */

DEVICE bool leads_on(const struct lmdda_event_arguments *event)
{
    const struct lmdda_state *s = &event->state;
    struct block_matrix reach = matrix_at(s, s->reach);
    struct block_walk walk = {0, 0, 0, 0, 0, 0, 0, 0};
    uint32_t meet = 0;
    while (THREAD_INDEX < WARP_SIZE && blocks_next(&s->store, &reach, event->wanted, &walk)) {
        uint32_t requester = walk.index == event->process / 32 ? 1u << event->process % 32 : 0;
        if (walk.word)
            meet |= walk.word & GPU_POINTER(const uint32_t, s->runs)[walk.index] & ~requester;
    }
    return block_any(meet != 0);
}

DEVICE bool leads_back(const struct lmdda_event_arguments *event)
{
    struct block_matrix reach = matrix_at(&event->state, event->state.reach);
    return blocks_test(&event->state.store, &reach, event->wanted, event->process);
}

#define LMDDA_EVENT lmdda_blocks_event
#include "foundation/gpu/kernels/detect/lmdda_events.h"

/* ---- joins */

KERNEL(lmdda_blocks_join, struct lmdda_join_arguments)
{
    struct lmdda_state s = a.state;
    struct block_matrix reach = matrix_at(&s, s.reach);
    uint64_t rounds = rounds_of_looking(a.rows);
    bool ignored = false;
    for (uint64_t round = 0; round < rounds; round++) {
        uint64_t row = row_to_look_at(round);
        bool leads = row < a.rows && row != a.wanted &&
                     blocks_test(&s.store, &reach, (uint32_t)row, a.process);
        for (uint32_t lanes = warp_ballot(WARP_ALL, leads); lanes; lanes &= lanes - 1) {
            uint32_t r = warp_shuffle(WARP_ALL, (uint32_t)row, find_first32(lanes));
            blocks_join_row(&s.store, &reach, r, &reach, a.wanted, BLOCKS_NO_BIT, &ignored);
        }
    }
}

/* ---- recomputing RP */

/* Empties every row. */
DEVICE void empty_rows(const struct lmdda_state *s, const struct block_matrix *m, uint32_t rows)
{
    uint64_t rounds = rounds_of_looking(rows);
    for (uint64_t round = 0; round < rounds; round++) {
        uint64_t row = row_to_look_at(round);
        bool stored = row < rows && blocks_any(m, (uint32_t)row);
        for (uint32_t lanes = warp_ballot(WARP_ALL, stored); lanes; lanes &= lanes - 1)
            blocks_empty(&s->store, m, warp_shuffle(WARP_ALL, (uint32_t)row, find_first32(lanes)));
    }
}

DEVICE void copy_grants(const struct lmdda_state *s, uint32_t rows)
{
    struct block_matrix grants = matrix_at(s, s->grants), reach = matrix_at(s, s->reach);
    uint64_t rounds = rounds_of_looking(rows);
    bool ignored = false;
    for (uint64_t round = 0; round < rounds; round++) {
        uint64_t row = row_to_look_at(round);
        bool held = row < rows && blocks_any(&grants, (uint32_t)row);
        for (uint32_t lanes = warp_ballot(WARP_ALL, held); lanes; lanes &= lanes - 1) {
            uint32_t r = warp_shuffle(WARP_ALL, (uint32_t)row, find_first32(lanes));
            blocks_join_row(&s->store, &reach, r, &grants, r, BLOCKS_NO_BIT, &ignored);
        }
    }
}

/* Row q of `ends` has the processes at the end of walks of some length from q. Everything that
 * walks up to this length reach from such a process is also reached from q. Walks of twice the
 * length end where the walks from such a process end. */
DEVICE bool hop_rows(const struct lmdda_state *s, const struct block_matrix *ends,
                     const struct block_matrix *further, uint32_t rows)
{
    struct block_matrix reach = matrix_at(s, s->reach);
    struct takeover reached = {reach, reach, false}, walked = {*further, *ends, false};
    uint64_t rounds = rounds_of_looking(rows);
    for (uint64_t round = 0; round < rounds; round++) {
        uint64_t row = row_to_look_at(round);
        bool goes_on = row < rows && blocks_any(ends, (uint32_t)row);
        for (uint32_t lanes = warp_ballot(WARP_ALL, goes_on); lanes; lanes &= lanes - 1)
            take_over(s, ends, warp_shuffle(WARP_ALL, (uint32_t)row, find_first32(lanes)), &reached,
                      &walked);
    }
    return reached.changed;
}

/* Waits for all blocks. Pages that were released before may be taken afterwards. */
DEVICE void meet_and_settle(const struct lmdda_reach_arguments *hop, uint32_t *flag)
{
    struct grid_barrier *barrier = GPU_POINTER(struct grid_barrier, hop->barrier);
    grid_barrier(barrier);
    if (BLOCK_INDEX == 0 && THREAD_INDEX == 0) {
        blocks_settle(&hop->state.store);
        *flag = 0;
    }
    grid_barrier(barrier);
}

/*
 * Node hopping: round k joins walks of 2^k steps to walks of twice as many. The first walks are the
 * grants. The loop ends when a round has reached no new process. Then all processes up to twice as
 * far have been reached, so all have been reached. A row may grow while it joins another, because
 * everything in it is reached from both.
 */
KERNEL(lmdda_blocks_reach, struct lmdda_reach_arguments)
{
    struct lmdda_reach_arguments hop = a;
    const struct lmdda_state *s = &hop.state;
    struct block_matrix grants = matrix_at(s, s->grants), reach = matrix_at(s, s->reach);
    struct block_matrix walks[2] = {matrix_at(s, hop.walks[0]), matrix_at(s, hop.walks[1])};
    uint32_t *changed = GPU_POINTER(uint32_t, hop.changed);
    bool goes_on = true;
    empty_rows(s, &walks[0], hop.rows); /* left from the time before, when pages ran out */
    empty_rows(s, &walks[1], hop.rows);
    empty_rows(s, &reach, hop.rows);
    meet_and_settle(&hop, &changed[0]);
    copy_grants(s, hop.rows);
    for (uint32_t k = 0; goes_on; k++) {
        const struct block_matrix *ends = k == 0 ? &grants : &walks[k % 2];
        meet_and_settle(&hop, &changed[(k + 1) % 3]);
        if (hop_rows(s, ends, &walks[(k + 1) % 2], hop.rows) && LANE == 0)
            atomic_or32(&changed[k % 3], 1);
        grid_barrier(GPU_POINTER(struct grid_barrier, hop.barrier));
        goes_on = load_acquire32(&changed[k % 3]) != 0;
        if (k > 0)
            empty_rows(s, &walks[k % 2], hop.rows);
        if (!goes_on)
            empty_rows(s, &walks[(k + 1) % 2], hop.rows);
    }
}

/* ---- reading */

KERNEL(lmdda_blocks_ends, struct lmdda_ends_arguments)
{
    struct lmdda_state s = a.state;
    struct block_matrix reach = matrix_at(&s, s.reach);
    uint32_t warps = BLOCK_SIZE / WARP_SIZE;
    uint32_t first = BLOCK_INDEX * warps + THREAD_INDEX / WARP_SIZE;
    for (uint32_t row = first; row < a.rows; row += GRID_SIZE * warps) {
        struct block_walk walk = {0, 0, 0, 0, 0, 0, 0, 0};
        uint32_t count = 0, end = WHAT_IF_NONE;
        while (blocks_next(&s.store, &reach, row, &walk))
            if (walk.word)
                take_word(walk.word & GPU_POINTER(const uint32_t, s.runs)[walk.index], walk.index,
                          &count, &end);
        end = end_of_lanes(count, end);
        if (LANE == 0)
            GPU_POINTER(uint32_t, a.ends)[row] = end;
    }
}

KERNEL(lmdda_blocks_read, struct lmdda_read_arguments)
{
    struct lmdda_state s = a.state;
    struct block_matrix reach = matrix_at(&s, s.reach);
    for (uint32_t i = THREAD_INDEX; i < a.count; i += BLOCK_SIZE)
        GPU_POINTER(uint32_t, a.to)[i] = blocks_word(&s.store, &reach, a.row, a.first + i);
}
