/*
 * LMDDA's events: the changes of a grant, a wait or a release, and the answer to a block. Included
 * by lmdda.cu, whose rows are whole, and lmdda_blocks.cu, whose rows are in blocks. The including
 * file defines the name of its kernel (LMDDA_EVENT) and the functions that differ:
 *
 *     begin_event before everything; by thread 0 makes_change returns whether this thread takes
 *     part in the change hold_resource a process holds it, and is reached from it; drop_resource:
 *     the opposite remake_rows recomputes the listed rows leads_on returns whether the wanted
 *     resource leads to a running process other than
 * the requester; by the whole block. leads_back: to the requester; by one thread
 */
#pragma once

#include "foundation/gpu/kernels/detect/lmdda.h"
#include "foundation/gpu/kernels/detect/lmdda_row.h"
#include "foundation/gpu/language/kernel.h"

DEVICE void apply_update(const struct lmdda_state *s, const struct lmdda_update *update)
{
    uint32_t first = update->first, second = update->second;
    switch (update->change) {
    case LMDDA_GRANT: /* it has no waiters, so no other row leads there */
        hold_resource(s, first, second);
        break;
    case LMDDA_UNGRANT:
        drop_resource(s, first, second);
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

DEVICE void begin_wait(const struct lmdda_event_arguments *event)
{
    struct lmdda_update wait = {LMDDA_WAIT, event->process, event->wanted};
    struct lmdda_update slot = {LMDDA_SLOT, event->wanted, event->slot};
    apply_update(&event->state, &wait);
    apply_update(&event->state, &slot);
}

/* Answers where the wanted resource leads. The requester no longer runs. */
DEVICE void answer_block(const struct lmdda_event_arguments *event)
{
    bool on = leads_on(event);
    if (THREAD_INDEX != 0)
        return;
    uint32_t otherwise = leads_back(event) ? LMDDA_LEADS_BACK : LMDDA_LEADS_NOWHERE;
    begin_wait(event);
    store_release_system32(GPU_POINTER(uint32_t, event->answer), on ? LMDDA_LEADS_ON : otherwise);
}

/* Changes of one batch that touch the same bits are made one by one, in order: they are few, and
 * none waits for another. All threads fetch them, because they come from the host. */
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
        for (uint32_t i = 0; i < count; i++)
            if (makes_change(&batch[i]))
                apply_update(&event->state, &batch[i]);
        block_barrier();
    }
}

KERNEL_BOUNDED(LMDDA_EVENT, struct lmdda_event_arguments, LMDDA_THREADS, 1)
{
    struct lmdda_event_arguments event = a;
    if (THREAD_INDEX == 0)
        begin_event(&event);
    apply_all(&event);
    fence_device();
    block_barrier();
    remake_rows(&event);
    block_barrier();
    if (event.answer)
        answer_block(&event);
}
