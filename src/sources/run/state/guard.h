/* The library's own locks: a word and a futex. They are held for short whiles, under a shield, so
 * that no thread ends or jumps away with one, and never while calling into the program. No other
 * process and no other part of the program knows them: a thread that sleeps on one is running. */
#pragma once

#include "sources/run/state/shield.h"
#include "sources/run/state/system_call.h"
#include "sources/run/state/watch.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct guard {
    _Atomic uint32_t word; /* 0 free, 1 taken, 2 taken and waited for */
    struct shield shield;  /* of the thread that has it */
};

static inline bool guard_try(struct guard *guard)
{
    uint32_t free = 0;
    return atomic_compare_exchange_strong_explicit(&guard->word, &free, 1, memory_order_acquire,
                                                   memory_order_relaxed);
}

static inline void guard_take(struct guard *guard)
{
    if (guard_try(guard))
        return;
    /* Where signals cannot be blocked, one that jumped may have left it for good. */
    struct timespec second = {1, 0}, *patience = watch.sandboxed ? &second : NULL;
    while (atomic_exchange_explicit(&guard->word, 2, memory_order_acquire) != 0)
        if (sys_call(SYS_futex, &guard->word, FUTEX_WAIT_PRIVATE, 2, patience, NULL, 0) != 0 &&
            errno == ETIMEDOUT)
            return;
}

static inline void guard_drop(struct guard *guard)
{
    if (atomic_exchange_explicit(&guard->word, 0, memory_order_release) == 2)
        sys_call(SYS_futex, &guard->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static inline void guard_lock(struct guard *guard)
{
    struct shield shield;
    shield_raise(&shield);
    guard_take(guard);
    guard->shield = shield;
}

static inline void guard_unlock(struct guard *guard)
{
    struct shield shield = guard->shield;
    guard_drop(guard);
    shield_lower(&shield);
}

/* For fork, which wants the child to find things whole: whoever has it gives it back soon, unless a
 * handler that interrupted this very thread forks. Then it goes without. Callers have a shield. */
static inline bool guard_take_soon(struct guard *guard)
{
    for (int tries = 0; tries < 100; tries++) {
        if (guard_try(guard))
            return true;
        sys_call(SYS_sched_yield);
    }
    return false;
}

/* The same by a thread that works on something for longer: `inside`. `t` may be NULL. `old`: the
 * thread's own signal mask, for a caller that wants to know. */
static inline void guard_enter(struct thread *t, struct guard *guard, sigset_t *old)
{
    struct shield shield;
    if (old) {
        shield_raise_mask(&shield);
        memcpy(old, &shield.mask, sizeof shield.mask);
    } else {
        shield_raise(&shield);
    }
    if (t)
        t->inside++;
    guard_take(guard);
    guard->shield = shield;
}

static inline void guard_leave(struct thread *t, struct guard *guard, const sigset_t *old)
{
    struct shield shield = guard->shield;
    (void)old;
    guard_drop(guard);
    if (t)
        inside_leave(t);
    shield_lower(&shield);
}

/* Work of a thread that must not be left, on its own record or on what has guards of its own. `t`
 * may be NULL. */
static inline void work_begin(struct thread *t, struct shield *shield)
{
    shield_raise(shield);
    if (t)
        t->inside++;
}

static inline void work_end(struct thread *t, const struct shield *shield)
{
    if (t)
        inside_leave(t);
    shield_lower(shield);
}
