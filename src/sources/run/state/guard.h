/* Guards, the library's internal locks: a word and a futex. They are held briefly, under a shield,
 * so that no thread ends or jumps away with one. They are never held while the library calls into
 * the program. No other process or part of the program uses them, so a thread that sleeps on one
 * counts as running. */
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
    _Atomic uint32_t word; /* 0 free, 1 taken, 2 taken with waiters */
    struct shield shield;  /* of the thread that holds it */
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
    /* Where signals cannot be blocked, a thread that jumped may have left the guard locked for
     * good. */
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

/* Used around fork, so that the child finds consistent data. Normally the holder releases the guard
 * soon. If the holder is this thread itself, interrupted by a handler that forks, fork continues
 * without the guard. The caller has raised a shield. */
static inline bool guard_take_soon(struct guard *guard)
{
    for (int tries = 0; tries < 100; tries++) {
        if (guard_try(guard))
            return true;
        sys_call(SYS_sched_yield);
    }
    return false;
}

/* Takes a guard for longer work, during which the thread is `inside`. `t` may be NULL. `old`:
 * receives the thread's signal mask; NULL: not needed. */
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

/* Marks work that must not be interrupted, on the thread's own record or on data with its own
 * guards. `t` may be NULL. */
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
