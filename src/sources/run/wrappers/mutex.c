/* pthread_mutex_*. Free mutexes of the normal type are taken and released here. Everything else is
 * left to libc. */
#include "sources/run/wrappers/mutex.h"

#include "sources/run/judge/judge.h"
#include "sources/run/libc/export.h"
#include "sources/run/libc/real.h"
#include "sources/run/start/enter.h"
#include "sources/run/state/system_call.h"
#include "sources/run/threads/handler_acts.h"
#include "sources/run/threads/wait.h"
#include "sources/run/wrappers/lock_lifetime.h"

#include <errno.h>

/* Called after any way of taking the mutex. */
static inline int mutex_taken(struct thread *t, pthread_mutex_t *mutex, int result, uint32_t flags,
                              struct site site)
{
    if (result != 0 && result != EOWNERDEAD)
        return result;
    struct held *last = held_last(t);
    if (last && last->lock == (uintptr_t)mutex && last->kind == INCIDENT_MUTEX &&
        (mutex_kind(mutex) & KIND_TYPE) == PTHREAD_MUTEX_RECURSIVE_NP)
        last->units++; /* recursion: only the first place matters */
    else
        hold_as(t, mutex, INCIDENT_MUTEX, INCIDENT_EXCLUSIVE, flags, site);
    return result;
}

/* Waits briefly and checks again while a thread ahead may still move unobserved. Mutexes with
 * priority inheritance accept no other clock, so they are checked only once. */
static int wait_for_mutex(struct thread *t, pthread_mutex_t *mutex)
{
    for (uint32_t look = 0;; look++) {
        enum judgement judgement = judge_wait(t, look);
        if (judgement == JUDGE_BREAK)
            return EDEADLK;
        if (judgement == JUDGE_WAIT || mutex_kind(mutex) & KIND_INHERIT)
            return real.pthread_mutex_lock(mutex);
        struct timespec until = sys_soon(LOOK_AGAIN_NS);
        int result = real.pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &until);
        if (result != ETIMEDOUT)
            return result;
    }
}

static __attribute__((noinline)) int mutex_lock_slow(pthread_mutex_t *mutex, struct site site,
                                                     uint32_t through)
{
    struct thread *t = thread_enter();
    if (!t)
        return real.pthread_mutex_lock(mutex);
    int result = real.pthread_mutex_trylock(mutex);
    if (result == 0 || result == EOWNERDEAD)
        return mutex_taken(t, mutex, result, through, site);
    /* libc returns EDEADLK itself. */
    bool refused = (mutex_kind(mutex) & KIND_TYPE) == PTHREAD_MUTEX_ERRORCHECK_NP &&
                   mutex_owner(mutex) == t->tid;
    if (result != EBUSY || refused)
        return mutex_taken(t, mutex, real.pthread_mutex_lock(mutex), through, site);
    struct undo undo;
    WAIT_BEGIN(t, &undo, mutex, INCIDENT_MUTEX, INCIDENT_EXCLUSIVE, through, site);
    result = wait_for_mutex(t, mutex);
    WAIT_END(t, &undo);
    return mutex_taken(t, mutex, result, through, site);
}

int mutex_lock_rest(pthread_mutex_t *mutex, struct lock_rest rest, uint32_t through,
                    struct site site)
{
    if (rest.what == LOCK_AGAIN)
        rest = mutex_lock_quick(mutex, through, watch.sites, site_of_caller(site), true);
    if (rest.what == LOCK_SLOW)
        return mutex_lock_slow(mutex, site, through);
    if (rest.what == LOCK_NEW)
        held_new(self, rest.place, (uintptr_t)mutex, site);
    else if (rest.what == LOCK_ELSEWHERE)
        held_elsewhere(self, (uintptr_t)mutex,
                       held_what(INCIDENT_MUTEX, INCIDENT_EXCLUSIVE, through, 0), site);
    return 0;
}

#ifdef __OPTIMIZE__
/* A tail call replaces its caller's frame, so it has the caller's call site. */
static __attribute__((noinline)) int lock_rest(pthread_mutex_t *mutex, uint32_t what, size_t place)
{
    return mutex_lock_rest(mutex, (struct lock_rest){what, place}, 0, SITE_HERE);
}

/* A separate function, so that the fast path saves no registers. */
static __attribute__((noinline)) int lock_without_sites(pthread_mutex_t *mutex)
{
    struct lock_rest rest = mutex_lock_quick(mutex, 0, 0, (struct site){0, 0}, false);
    return likely(rest.what == LOCK_DONE) ? 0 : lock_rest(mutex, rest.what, rest.place);
}

__attribute__((used)) int mutex_lock_from(pthread_mutex_t *mutex, uintptr_t frame,
                                          uintptr_t caller) __asm__("gordian_mutex_lock_from");

int mutex_lock_from(pthread_mutex_t *mutex, uintptr_t frame, uintptr_t caller)
{
    if (unlikely(!watch.sites))
        return lock_without_sites(mutex);
    struct lock_rest rest =
        mutex_lock_quick(mutex, 0, watch.sites, (struct site){frame, caller}, false);
    return likely(rest.what == LOCK_DONE) ? 0 : lock_rest(mutex, rest.what, rest.place);
}

/* At the start of a function, the caller's frame is in its register and the return address at its
 * place: so the wrapper needs no stack frame at every lock. */
ENTRY(pthread_mutex_lock, "gordian_mutex_lock_from");
#else
WRAPPER(int, pthread_mutex_lock, (pthread_mutex_t * mutex))
{
    return mutex_lock_slow(mutex, SITE_HERE, 0);
}
#endif
EXPORT(pthread_mutex_lock, V_OLDEST);

/* Returns whether another thread owns the mutex, and libc will unlock it anyway. */
static bool is_other_threads(const struct thread *t, const pthread_mutex_t *mutex)
{
    uint32_t kind = mutex_kind(mutex), type = kind & KIND_TYPE, owner = mutex_owner(mutex);
    return owner && owner != t->tid && owner != t->fork_tid &&
           !(kind & (KIND_ROBUST | KIND_INHERIT)) && type != PTHREAD_MUTEX_RECURSIVE_NP &&
           type != PTHREAD_MUTEX_ERRORCHECK_NP && held_find(t, (uintptr_t)mutex) == UINT32_MAX;
}

__attribute__((noinline)) void mutex_wake(pthread_mutex_t *mutex)
{
    int saved = errno;
    if (self->used < self->used_before)
        unlock_note(self);
    sys_call(SYS_futex, &mutex->__data.__lock, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    errno = saved;
}

/* Returns whether a handler has taken the mutex since this thread's wait began. Such a hold may be
 * recorded or not. */
static bool is_handlers(const struct thread *t, const pthread_mutex_t *mutex)
{
    uint32_t i = held_find(t, (uintptr_t)mutex);
    return i == UINT32_MAX ? mutex_owner(mutex) == t->tid
                           : i * sizeof(struct held) >= t->used_before;
}

__attribute__((noinline)) int mutex_unlock_slow(pthread_mutex_t *mutex)
{
    struct thread *t = thread_enter();
    if (!t) {
        if (self && !is_handlers(self, mutex))
            unlock_note(self);
        return real.pthread_mutex_unlock(mutex);
    }
    if (is_other_threads(t, mutex))
        lock_stray(t, (uintptr_t)mutex); /* before the owner continues */
    int result = real.pthread_mutex_unlock(mutex);
    if (result == 0)
        unhold_lock(t, mutex);
    return result;
}

WRAPPER(int, pthread_mutex_unlock, (pthread_mutex_t * mutex))
{
    return mutex_unlock_as(mutex);
}
EXPORT(pthread_mutex_unlock, V_OLDEST);

int mutex_trylock_as(pthread_mutex_t *mutex, struct site site, uint32_t through)
{
    struct thread *t = thread_enter();
    if (!t)
        return real.pthread_mutex_trylock(mutex);
    return mutex_taken(t, mutex, real.pthread_mutex_trylock(mutex), INCIDENT_TRIED | through, site);
}

WRAPPER(int, pthread_mutex_trylock, (pthread_mutex_t * mutex))
{
    return mutex_trylock_as(mutex, SITE_HERE, 0);
}
EXPORT2(pthread_mutex_trylock, V_2_34, V_OLDEST);

__attribute__((noinline)) int mutex_lock_until(pthread_mutex_t *mutex, clockid_t clock,
                                               const struct timespec *until, struct site site,
                                               uint32_t through)
{
    struct thread *t = thread_enter();
    if (!t)
        return clock == CLOCK_REALTIME ? real.pthread_mutex_timedlock(mutex, until)
                                       : real.pthread_mutex_clocklock(mutex, clock, until);
    int result = real.pthread_mutex_trylock(mutex);
    if (result == 0 || result == EOWNERDEAD)
        return mutex_taken(t, mutex, result, INCIDENT_TRIED | through, site);
    /* A timed wait closes no deadlock, but must be visible to others. */
    struct undo undo;
    WAIT_BEGIN(t, &undo, mutex, INCIDENT_MUTEX, INCIDENT_EXCLUSIVE, INCIDENT_TIMED | through, site);
    result = clock == CLOCK_REALTIME ? real.pthread_mutex_timedlock(mutex, until)
                                     : real.pthread_mutex_clocklock(mutex, clock, until);
    WAIT_END(t, &undo);
    return mutex_taken(t, mutex, result, INCIDENT_TRIED | through, site);
}

WRAPPER(int, pthread_mutex_timedlock, (pthread_mutex_t * mutex, const struct timespec *until))
{
    return mutex_lock_until(mutex, CLOCK_REALTIME, until, SITE_HERE, 0);
}
EXPORT2(pthread_mutex_timedlock, V_2_34, V_OLDEST);

WRAPPER(int, pthread_mutex_clocklock,
        (pthread_mutex_t * mutex, clockid_t clock, const struct timespec *until))
{
    return mutex_lock_until(mutex, clock, until, SITE_HERE, 0);
}
EXPORT2(pthread_mutex_clocklock, V_2_34, V_2_30);

WRAPPER(int, pthread_mutex_init, (pthread_mutex_t * mutex, const pthread_mutexattr_t *attributes))
{
    lock_born(mutex, INCIDENT_MUTEX, 0, 0, SITE_HERE);
    return real.pthread_mutex_init(mutex, attributes);
}
EXPORT(pthread_mutex_init, V_OLDEST);

WRAPPER(int, pthread_mutex_destroy, (pthread_mutex_t * mutex))
{
    lock_gone(mutex, 1);
    return real.pthread_mutex_destroy(mutex);
}
EXPORT(pthread_mutex_destroy, V_OLDEST);
