/* The library's own locks: a word and a futex. They are held for short whiles, with signals blocked
 * where a handler could leave by a jump, and never while calling into the program. */
#ifndef GORDIAN_RUN_GUARD_H
#define GORDIAN_RUN_GUARD_H

#include "run/sys.h"
#include "run/watch.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct guard {
    _Atomic uint32_t word; /* 0 free, 1 taken, 2 taken and waited for */
};

static inline bool guard_try(struct guard *guard)
{
    uint32_t free = 0;
    return atomic_compare_exchange_strong_explicit(&guard->word, &free, 1, memory_order_acquire,
                                                   memory_order_relaxed);
}

static inline void guard_lock(struct guard *guard)
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

/* For fork, which wants the child to find things whole: whoever has it gives it back soon, unless a
 * handler that interrupted this very thread forks. Then it goes without. */
static inline bool guard_lock_soon(struct guard *guard)
{
    for (int tries = 0; tries < 100; tries++) {
        if (guard_try(guard))
            return true;
        sys_call(SYS_sched_yield);
    }
    return false;
}

static inline void guard_unlock(struct guard *guard)
{
    if (atomic_exchange_explicit(&guard->word, 0, memory_order_release) == 2)
        sys_call(SYS_futex, &guard->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* The same by a thread that works on something for longer: with signals blocked, since a handler
 * could leave by a jump, and `inside`. `t` may be NULL. */
static inline void guard_enter(struct thread *t, struct guard *guard, sigset_t *old)
{
    sigset_t all;
    sigfillset(&all);
    if (t)
        t->inside++;
    sys_call(SYS_rt_sigprocmask, SIG_BLOCK, &all, old, 8);
    guard_lock(guard);
}

static inline void guard_leave(struct thread *t, struct guard *guard, const sigset_t *old)
{
    guard_unlock(guard);
    sys_call(SYS_rt_sigprocmask, SIG_SETMASK, old, NULL, 8);
    if (t)
        inside_leave(t);
}

#endif
