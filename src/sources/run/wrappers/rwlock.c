/* pthread_rwlock_*. */
#include "sources/run/judge/judge.h"
#include "sources/run/libc/export.h"
#include "sources/run/libc/lock_layout.h"
#include "sources/run/libc/real.h"
#include "sources/run/start/enter.h"
#include "sources/run/state/system_call.h"
#include "sources/run/threads/handler_acts.h"
#include "sources/run/threads/held_locks.h"
#include "sources/run/threads/wait.h"
#include "sources/run/wrappers/lock_lifetime.h"

#include <errno.h>

/* Nested read locks of one thread are one hold with a count. */
static inline int rwlock_taken(struct thread *t, pthread_rwlock_t *lock, int result, uint32_t mode,
                               uint32_t flags, struct site site)
{
    if (result != 0)
        return result;
    struct held *last = held_last(t);
    if (last && last->lock == (uintptr_t)lock && last->mode == mode)
        last->units++;
    else
        hold_as(t, lock, INCIDENT_RWLOCK, mode, flags, site);
    return 0;
}

static int try_lock(pthread_rwlock_t *lock, uint32_t mode)
{
    return mode == INCIDENT_READ ? real.pthread_rwlock_tryrdlock(lock)
                                 : real.pthread_rwlock_trywrlock(lock);
}

static int real_lock(pthread_rwlock_t *lock, uint32_t mode)
{
    return mode == INCIDENT_READ ? real.pthread_rwlock_rdlock(lock)
                                 : real.pthread_rwlock_wrlock(lock);
}

static int real_until(pthread_rwlock_t *lock, uint32_t mode, clockid_t clock,
                      const struct timespec *until)
{
    if (clock == CLOCK_REALTIME)
        return mode == INCIDENT_READ ? real.pthread_rwlock_timedrdlock(lock, until)
                                     : real.pthread_rwlock_timedwrlock(lock, until);
    return mode == INCIDENT_READ ? real.pthread_rwlock_clockrdlock(lock, clock, until)
                                 : real.pthread_rwlock_clockwrlock(lock, clock, until);
}

/* As for mutexes. */
static int wait_for_rwlock(struct thread *t, pthread_rwlock_t *lock, uint32_t mode)
{
    for (uint32_t look = 0;; look++) {
        enum judgement judgement = judge_wait(t, look);
        if (judgement == JUDGE_BREAK)
            return EDEADLK;
        if (judgement == JUDGE_WAIT)
            return real_lock(lock, mode);
        struct timespec until = sys_soon(LOOK_AGAIN_NS);
        int result = real_until(lock, mode, CLOCK_MONOTONIC, &until);
        if (result != ETIMEDOUT)
            return result;
    }
}

static inline __attribute__((always_inline)) int rwlock_lock(pthread_rwlock_t *lock, uint32_t mode,
                                                             struct site site)
{
    struct thread *t = thread_enter();
    if (!t)
        return real_lock(lock, mode);
    int result = try_lock(lock, mode);
    if (likely(result == 0))
        return rwlock_taken(t, lock, 0, mode, 0, site);
    if (rwlock_writer(lock) == t->tid)
        return real_lock(lock, mode); /* libc returns EDEADLK */
    struct undo undo;
    WAIT_BEGIN(t, &undo, lock, INCIDENT_RWLOCK, mode, 0, site);
    result = wait_for_rwlock(t, lock, mode);
    WAIT_END(t, &undo);
    return rwlock_taken(t, lock, result, mode, 0, site);
}

WRAPPER(int, pthread_rwlock_rdlock, (pthread_rwlock_t * lock))
{
    return rwlock_lock(lock, INCIDENT_READ, SITE_HERE);
}
EXPORT2(pthread_rwlock_rdlock, V_2_34, V_OLDEST);

WRAPPER(int, pthread_rwlock_wrlock, (pthread_rwlock_t * lock))
{
    return rwlock_lock(lock, INCIDENT_EXCLUSIVE, SITE_HERE);
}
EXPORT2(pthread_rwlock_wrlock, V_2_34, V_OLDEST);

WRAPPER(int, pthread_rwlock_tryrdlock, (pthread_rwlock_t * lock))
{
    struct thread *t = thread_enter();
    int result = real.pthread_rwlock_tryrdlock(lock);
    return t ? rwlock_taken(t, lock, result, INCIDENT_READ, INCIDENT_TRIED, SITE_HERE) : result;
}
EXPORT2(pthread_rwlock_tryrdlock, V_2_34, V_OLDEST);

WRAPPER(int, pthread_rwlock_trywrlock, (pthread_rwlock_t * lock))
{
    struct thread *t = thread_enter();
    int result = real.pthread_rwlock_trywrlock(lock);
    return t ? rwlock_taken(t, lock, result, INCIDENT_EXCLUSIVE, INCIDENT_TRIED, SITE_HERE)
             : result;
}
EXPORT2(pthread_rwlock_trywrlock, V_2_34, V_OLDEST);

static __attribute__((noinline)) int lock_until(pthread_rwlock_t *lock, uint32_t mode,
                                                clockid_t clock, const struct timespec *until,
                                                struct site site)
{
    struct thread *t = thread_enter();
    if (!t)
        return real_until(lock, mode, clock, until);
    if (try_lock(lock, mode) == 0)
        return rwlock_taken(t, lock, 0, mode, INCIDENT_TRIED, site);
    struct undo undo;
    WAIT_BEGIN(t, &undo, lock, INCIDENT_RWLOCK, mode, INCIDENT_TIMED, site);
    int result = real_until(lock, mode, clock, until);
    WAIT_END(t, &undo);
    return rwlock_taken(t, lock, result, mode, INCIDENT_TRIED, site);
}

WRAPPER(int, pthread_rwlock_timedrdlock, (pthread_rwlock_t * lock, const struct timespec *until))
{
    return lock_until(lock, INCIDENT_READ, CLOCK_REALTIME, until, SITE_HERE);
}
EXPORT2(pthread_rwlock_timedrdlock, V_2_34, V_OLDEST);

WRAPPER(int, pthread_rwlock_timedwrlock, (pthread_rwlock_t * lock, const struct timespec *until))
{
    return lock_until(lock, INCIDENT_EXCLUSIVE, CLOCK_REALTIME, until, SITE_HERE);
}
EXPORT2(pthread_rwlock_timedwrlock, V_2_34, V_OLDEST);

WRAPPER(int, pthread_rwlock_clockrdlock,
        (pthread_rwlock_t * lock, clockid_t clock, const struct timespec *until))
{
    return lock_until(lock, INCIDENT_READ, clock, until, SITE_HERE);
}
EXPORT2(pthread_rwlock_clockrdlock, V_2_34, V_2_30);

WRAPPER(int, pthread_rwlock_clockwrlock,
        (pthread_rwlock_t * lock, clockid_t clock, const struct timespec *until))
{
    return lock_until(lock, INCIDENT_EXCLUSIVE, clock, until, SITE_HERE);
}
EXPORT2(pthread_rwlock_clockwrlock, V_2_34, V_2_30);

/* Removes the hold first: a missing hold never causes a false alarm, a stale one may. */
WRAPPER(int, pthread_rwlock_unlock, (pthread_rwlock_t * lock))
{
    struct thread *t = thread_enter();
    if (unlikely(!t))
        unlock_passes();
    else if (!unhold_lock(t, lock))
        lock_stray(t, (uintptr_t)lock);
    return real.pthread_rwlock_unlock(lock);
}
EXPORT2(pthread_rwlock_unlock, V_2_34, V_OLDEST);

WRAPPER(int, pthread_rwlock_init, (pthread_rwlock_t * lock, const pthread_rwlockattr_t *attributes))
{
    lock_born(lock, INCIDENT_RWLOCK, 0, 0, SITE_HERE);
    return real.pthread_rwlock_init(lock, attributes);
}
EXPORT2(pthread_rwlock_init, V_2_34, V_OLDEST);

WRAPPER(int, pthread_rwlock_destroy, (pthread_rwlock_t * lock))
{
    lock_gone(lock, 1);
    return real.pthread_rwlock_destroy(lock);
}
EXPORT2(pthread_rwlock_destroy, V_2_34, V_OLDEST);
