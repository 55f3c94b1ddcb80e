/* What a thread holds: noted at every lock. */
#pragma once

#include "sources/run/state/backtrace.h"
#include "sources/run/state/shield.h"

#include <errno.h>

/* Room for one more, in a larger array; false: there is none, or the watcher is off. */
bool held_grow(struct thread *t);
/* A hold that is not the one this place held last, or whose frames a signal handler has
 * overwritten: hashes, counts, and looks at the lock order. `at`: see held_slot. */
void held_new(struct thread *t, size_t at, uintptr_t lock, struct site site);
/* The place that was meant for a hold is another's: a signal handler has left something held
 * meanwhile, or given something back. The same, at the place that is next by now. */
void held_elsewhere(struct thread *t, uintptr_t lock, uint64_t what, struct site site);
/* What another thread holds at this moment: how many. */
uint32_t others_holds(const struct thread *t, const struct held **held);
/* Takes out place `i`. */
void held_drop(struct thread *t, uint32_t i);
/* unhold_lock of one that is not on top. */
bool held_drop_below(struct thread *t, uintptr_t lock);
/* The topmost hold of a lock, or UINT32_MAX. */
uint32_t held_find(const struct thread *t, uintptr_t lock);

static inline __attribute__((always_inline)) uint64_t held_what(uint32_t kind, uint32_t mode,
                                                                uint32_t flags, uint32_t frames)
{
    return 1 | (uint64_t)kind << 32 | (uint64_t)mode << 40 | (uint64_t)flags << 48 |
           (uint64_t)frames << 56;
}

/* Where the next hold will be noted. */
static inline __attribute__((always_inline)) struct held *hold_place(struct thread *t)
{
    return unlikely(t->used >= t->room) && !held_grow(t) ? NULL : held_slot(t, t->used);
}

/* How noting a hold went. */
enum hold {
    HOLD_NOTED,     /* it was the same as the last one at its place */
    HOLD_NEW,       /* it is at its place, and held_new has to look at it */
    HOLD_ELSEWHERE, /* the place is another's: held_elsewhere */
};

/* Notes that this thread now holds the lock, at `h`, the place `at` (hold_place), where the
 * frames have been left already if it is `sited`. The place is claimed before it is filled: a
 * signal handler that locks in between uses the next one. One that came earlier, between walk and
 * claim, has left its own frames, or even a hold. */
static inline __attribute__((always_inline)) enum hold hold_at(struct thread *t, struct held *h,
                                                               size_t at, const void *lock,
                                                               uint64_t what, bool sited,
                                                               uintptr_t caller)
{
    if (unlikely(t->used != at))
        return HOLD_ELSEWHERE;
    t->used = at + sizeof *h;
    atomic_signal_fence(memory_order_seq_cst);
    h->what = what;
    if (likely(h->lock == (uintptr_t)lock) && likely(!sited || h->frame[0] == caller) &&
        likely(at == 0 ||
               (h->below == h[-1].chain &&
                h->order == atomic_load_explicit(&watch.order_epoch, memory_order_relaxed))))
        return HOLD_NOTED;
    return HOLD_NEW;
}

static inline __attribute__((always_inline)) void hold_as(struct thread *t, const void *lock,
                                                          uint32_t kind, uint32_t mode,
                                                          uint32_t flags, struct site site)
{
    struct held *h = hold_place(t);
    if (unlikely(!h))
        return;
    size_t at = t->used;
    struct site caller = site_of_caller(site);
    uint32_t frames = watch.sites ? walk_again(t, h->frame, caller) : 0;
    if (watch.sites && unlikely(frames == 0))
        frames = walk_anew(t, h->frame, watch.sites, caller);
    uint64_t what = held_what(kind, mode, flags, frames);
    enum hold hold = hold_at(t, h, at, lock, what, watch.sites != 0, site.caller);
    if (unlikely(hold == HOLD_NEW))
        held_new(t, at, (uintptr_t)lock, site);
    else if (unlikely(hold == HOLD_ELSEWHERE))
        held_elsewhere(t, (uintptr_t)lock, what, site);
}

static inline void hold_lock(struct thread *t, const void *lock, uint32_t kind, uint32_t mode,
                             struct site site)
{
    hold_as(t, lock, kind, mode, 0, site);
}

/* The last hold of this lock is over. False: there was none. */
static inline __attribute__((always_inline)) bool unhold_lock(struct thread *t, const void *lock)
{
    size_t used = t->used;
    const struct held *last = held_slot(t, used) - 1;
    if (likely(used != 0 && last->lock == (uintptr_t)lock && last->units == 1)) {
        t->used = used - sizeof *last;
        return true;
    }
    return held_drop_below(t, (uintptr_t)lock);
}
