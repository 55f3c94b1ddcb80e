/* The held-lock set: which locks a thread holds. Updated at every lock. */
#pragma once

#include "sources/run/state/backtrace.h"
#include "sources/run/state/shield.h"

#include <errno.h>

/* Makes capacity for one more hold, in a larger array; false: out of memory, or the watcher is off.
 */
bool held_grow(struct thread *t);
/* Completes a hold that differs from the last one at this index, or whose frames a signal handler
 * has overwritten: updates hashes and counts, and checks the lock order. `at`: see held_slot. */
void held_new(struct thread *t, size_t at, uintptr_t lock, struct site site);
/* Adds a hold whose index was taken in the meantime: a signal handler has left a lock held, or
 * released one. Uses the index that is next by now. */
void held_elsewhere(struct thread *t, uintptr_t lock, uint64_t what, struct site site);
/* Returns the number of holds of another thread at this moment. */
uint32_t others_holds(const struct thread *t, const struct held **held);
/* Removes hold number `i`. */
void held_drop(struct thread *t, uint32_t i);
/* unhold_lock for a lock that was not taken last. */
bool held_drop_below(struct thread *t, uintptr_t lock);
/* Returns the last hold of a lock, or UINT32_MAX. */
uint32_t held_find(const struct thread *t, uintptr_t lock);

static inline __attribute__((always_inline)) uint64_t held_what(uint32_t kind, uint32_t mode,
                                                                uint32_t flags, uint32_t frames)
{
    return 1 | (uint64_t)kind << 32 | (uint64_t)mode << 40 | (uint64_t)flags << 48 |
           (uint64_t)frames << 56;
}

/* Returns the entry for the next hold. */
static inline __attribute__((always_inline)) struct held *hold_place(struct thread *t)
{
    return unlikely(t->used >= t->room) && !held_grow(t) ? NULL : held_slot(t, t->used);
}

/* Result of adding a hold. */
enum hold {
    HOLD_NOTED,     /* the same as the last one at this index */
    HOLD_NEW,       /* added; call held_new */
    HOLD_ELSEWHERE, /* the index is in use: call held_elsewhere */
};

/* Adds a hold of the lock at `h`, the entry at offset `at` (hold_place). If `sited`, its frames are
 * already filled. The entry is claimed before it is filled: a signal handler that locks in between
 * uses the next one. A handler that ran earlier, between walk and claim, has left its own frames,
 * or a hold. */
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

/* Ends the last hold of this lock. False: there was none. */
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
