/* LMDDA's events on rows that are stored whole (lmdda_events.h). */
#include "foundation/gpu/kernels/detect/lmdda.h"
#include "foundation/gpu/kernels/detect/lmdda_row.h"
#include "foundation/gpu/language/kernel.h"

DEVICE void begin_event(const struct lmdda_event_arguments *event)
{
    (void)event;
}

DEVICE bool makes_change(const struct lmdda_update *update)
{
    (void)update;
    return THREAD_INDEX == 0;
}

DEVICE void hold_resource(const struct lmdda_state *s, uint32_t resource, uint32_t process)
{
    set_bit(row_of(s->grants, s->stride, resource), process);
    set_bit(row_of(s->reach, s->stride, resource), process);
}

DEVICE void drop_resource(const struct lmdda_state *s, uint32_t resource, uint32_t process)
{
    clear_bit(row_of(s->grants, s->stride, resource), process);
}

/* ---- recomputing rows */

#define LIST_ROOM (LMDDA_THREADS * 32)

/* Adds what the holders in this thread's word wait for to the block's list. */
DEVICE void list_waits(const struct lmdda_state *s, uint32_t first_process, uint32_t waiting,
                       uint32_t *list, uint32_t *listed)
{
    for (; waiting; waiting &= waiting - 1) {
        uint32_t process = first_process + find_first32(waiting);
        list[atomic_add32(listed, 1)] = GPU_POINTER(const uint32_t, s->waits)[process];
    }
}

/* RP[q] = q's holders, and the rows of what they wait for. Each thread always handles the same
 * words. */
DEVICE void remake_row(const struct lmdda_state *s, uint32_t row, uint32_t words)
{
    SHARED(uint32_t, list, LIST_ROOM);
    SHARED(uint32_t, listed, 1);
    const uint32_t *holders = row_of(s->grants, s->stride, row);
    const uint32_t *runs = GPU_POINTER(const uint32_t, s->runs);
    uint32_t *to = row_of(s->reach, s->stride, row);
    for (uint32_t i = THREAD_INDEX; i < words; i += BLOCK_SIZE)
        to[i] = holders[i];
    for (uint32_t first = 0; first < words; first += BLOCK_SIZE) {
        uint32_t mine = first + THREAD_INDEX;
        uint32_t waiting = mine < words ? holders[mine] & ~runs[mine] : 0;
        if (THREAD_INDEX == 0)
            listed[0] = 0;
        if (!block_any(waiting != 0))
            continue;
        list_waits(s, mine * 32, waiting, list, listed);
        block_barrier();
        uint32_t count = listed[0];
        for (uint32_t j = 0; j < count; j++) {
            const uint32_t *from = row_of(s->reach, s->stride, list[j]);
            for (uint32_t i = THREAD_INDEX; i < words; i += BLOCK_SIZE)
                to[i] |= from[i];
        }
        block_barrier();
    }
}

DEVICE void remake_rows(const struct lmdda_event_arguments *event)
{
    for (uint32_t i = 0; i < event->row_count; i++)
        remake_row(&event->state, GPU_POINTER(const uint32_t, event->rows)[i], event->words);
}

/* ---- where a resource leads */

DEVICE bool leads_on(const struct lmdda_event_arguments *event)
{
    const uint32_t *row = row_of(event->state.reach, event->state.stride, event->wanted);
    const uint32_t *runs = GPU_POINTER(const uint32_t, event->state.runs);
    uint32_t meet = 0;
    for (uint32_t i = THREAD_INDEX; i < event->words; i += BLOCK_SIZE) {
        uint32_t requester = i == event->process / 32 ? 1u << event->process % 32 : 0;
        meet |= row[i] & runs[i] & ~requester;
    }
    return block_any(meet != 0);
}

DEVICE bool leads_back(const struct lmdda_event_arguments *event)
{
    const uint32_t *row = row_of(event->state.reach, event->state.stride, event->wanted);
    return row[event->process / 32] >> event->process % 32 & 1;
}

#define LMDDA_EVENT lmdda_event
#include "foundation/gpu/kernels/detect/lmdda_events.h"

/* ---- joins */

/* A warp for each row. Row `wanted` itself does not change while the others read it. */
KERNEL(lmdda_join, struct lmdda_join_arguments)
{
    struct lmdda_state s = a.state;
    const uint32_t *joining = row_of(s.reach, s.stride, a.wanted);
    uint32_t warps = BLOCK_SIZE / WARP_SIZE;
    uint32_t first = BLOCK_INDEX * warps + THREAD_INDEX / WARP_SIZE;
    for (uint32_t r = first; r < a.rows; r += GRID_SIZE * warps) {
        uint32_t *row = row_of(s.reach, s.stride, r);
        if (r != a.wanted && row[a.process / 32] >> a.process % 32 & 1)
            join_row(row, joining, a.words);
    }
}
