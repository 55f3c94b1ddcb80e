/* LMDDA's events: what changes at a grant, a wait, a release, and the answer to a block. */
#include "gpu/kernel.h"
#include "gpu/kernels/lmdda.h"
#include "gpu/kernels/lmdda_row.h"

DEVICE void set_bit(uint32_t *row, uint32_t bit)
{
    atomic_or32(&row[bit / 32], 1u << bit % 32);
}

DEVICE void clear_bit(uint32_t *row, uint32_t bit)
{
    atomic_and32(&row[bit / 32], ~(1u << bit % 32));
}

DEVICE void apply_update(const struct lmdda_state *s, const struct lmdda_update *update)
{
    uint32_t first = update->first, second = update->second;
    switch (update->change) {
    case LMDDA_GRANT: /* nobody waits for it, so no other row leads there */
        set_bit(row_of(s->grants, s->stride, first), second);
        set_bit(row_of(s->reach, s->stride, first), second);
        break;
    case LMDDA_UNGRANT:
        clear_bit(row_of(s->grants, s->stride, first), second);
        break;
    case LMDDA_WAIT:
        GPU_POINTER(uint32_t, s->waits)[first] = second;
        clear_bit(GPU_POINTER(uint32_t, s->runs), first);
        break;
    case LMDDA_RUN:
        GPU_POINTER(uint32_t, s->waits)[first] = LMDDA_NONE;
        set_bit(GPU_POINTER(uint32_t, s->runs), first);
        break;
    case LMDDA_SLOT:
        GPU_POINTER(uint32_t, s->slots)[first] = second;
        if (second != LMDDA_NONE)
            GPU_POINTER(uint32_t, s->resources)[second] = first;
        break;
    }
}

/* ---- rows made anew */

#define LIST_ROOM (LMDDA_THREADS * 32)

/* What the holders in this thread's word wait for, onto the block's list. */
DEVICE void list_waits(const struct lmdda_state *s, uint32_t first_process, uint32_t waiting,
                       uint32_t *list, uint32_t *listed)
{
    for (; waiting; waiting &= waiting - 1) {
        uint32_t process = first_process + find_first32(waiting);
        list[atomic_add32(listed, 1)] = GPU_POINTER(const uint32_t, s->waits)[process];
    }
}

/* RP[q] = q's holders, and the rows of what they wait for. Each thread keeps to the same words. */
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

/* ---- events */

DEVICE void begin_wait(const struct lmdda_event_arguments *event)
{
    struct lmdda_update wait = {LMDDA_WAIT, event->process, event->wanted};
    struct lmdda_update slot = {LMDDA_SLOT, event->wanted, event->slot};
    apply_update(&event->state, &wait);
    apply_update(&event->state, &slot);
}

/* Where does the resource wanted lead? The requester does not run any more. */
DEVICE void answer_block(const struct lmdda_event_arguments *event)
{
    const uint32_t *row = row_of(event->state.reach, event->state.stride, event->wanted);
    const uint32_t *runs = GPU_POINTER(const uint32_t, event->state.runs);
    uint32_t meet = 0;
    for (uint32_t i = THREAD_INDEX; i < event->words; i += BLOCK_SIZE) {
        uint32_t requester = i == event->process / 32 ? 1u << event->process % 32 : 0;
        meet |= row[i] & runs[i] & ~requester;
    }
    bool leads_on = block_any(meet != 0);
    if (THREAD_INDEX != 0)
        return;
    bool leads_back = row[event->process / 32] >> event->process % 32 & 1;
    uint32_t otherwise = leads_back ? LMDDA_LEADS_BACK : LMDDA_LEADS_NOWHERE;
    begin_wait(event);
    store_release_system32(GPU_POINTER(uint32_t, event->answer),
                           leads_on ? LMDDA_LEADS_ON : otherwise);
}

/* The changes of one batch may touch the same bits, so one thread makes them, in order: they are
 * few, and none waits for another. All threads fetch them, because they come from the host. */
DEVICE void apply_all(const struct lmdda_event_arguments *event)
{
    SHARED(struct lmdda_update, batch, LMDDA_THREADS);
    const struct lmdda_update *updates = GPU_POINTER(const struct lmdda_update, event->updates);
    for (uint32_t first = 0; first < event->update_count; first += LMDDA_THREADS) {
        uint32_t left = event->update_count - first;
        uint32_t count = left < LMDDA_THREADS ? left : LMDDA_THREADS;
        if (THREAD_INDEX < count)
            batch[THREAD_INDEX] = updates[first + THREAD_INDEX];
        block_barrier();
        for (uint32_t i = 0; i < count && THREAD_INDEX == 0; i++)
            apply_update(&event->state, &batch[i]);
        block_barrier();
    }
}

KERNEL_BOUNDED(lmdda_event, struct lmdda_event_arguments, LMDDA_THREADS, 1)
{
    struct lmdda_event_arguments event = a;
    apply_all(&event);
    fence_device();
    block_barrier();
    for (uint32_t i = 0; i < event.row_count; i++)
        remake_row(&event.state, GPU_POINTER(const uint32_t, event.rows)[i], event.words);
    block_barrier();
    if (event.answer)
        answer_block(&event);
}

/* ---- joins */

/* A warp a row. Row `wanted` itself stays as it is while the others read it. */
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
