/* sem_*. A semaphore has no owner. While units are released by threads that took them, it is a lock
 * with several units. The first post by a thread that holds none makes it a signal for good: then
 * it is unknown which thread would post it. Before any post it may be either. */
#include "sources/run/judge/judge.h"
#include "sources/run/libc/export.h"
#include "sources/run/libc/real.h"
#include "sources/run/start/enter.h"
#include "sources/run/state/guard.h"
#include "sources/run/threads/held_locks.h"
#include "sources/run/threads/wait.h"
#include "sources/run/wrappers/lock_lifetime.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>

/* Adds a unit. Units of signals are not counted, since they are never released. */
static int semaphore_taken(struct thread *t, sem_t *sem, int result, uint32_t flags,
                           struct site site)
{
    if (result != 0)
        return result;
    uint32_t i = holds_of(t);
    if (!(i && t->held[i - 1].lock == (uintptr_t)sem)) {
        if (lock_flags((uintptr_t)sem) & (LOCK_SIGNALS | LOCK_SHARED))
            return 0;
        i = held_find(t, (uintptr_t)sem);
        i = i == UINT32_MAX ? 0 : i + 1;
    }
    if (i && t->held[i - 1].units == 0) { /* left after a post: taken again */
        held_drop(t, i - 1);
        i = 0;
    }
    if (i)
        __atomic_fetch_add(&t->held[i - 1].units, 1, __ATOMIC_RELAXED);
    else
        hold_as(t, sem, INCIDENT_SEMAPHORE, INCIDENT_UNIT, flags, site);
    return 0;
}

static __attribute__((noinline)) int sem_wait_slow(struct thread *t, sem_t *sem, struct site site)
{
    struct undo undo;
    WAIT_BEGIN(t, &undo, sem, INCIDENT_SEMAPHORE, INCIDENT_UNIT, 0, site);
    int result = -1;
    if (judge_wait(t, 0) == JUDGE_BREAK)
        errno = EDEADLK;
    else
        result = real.sem_wait(sem);
    WAIT_END(t, &undo);
    return result;
}

WRAPPER(int, sem_wait, (sem_t * sem))
{
    struct thread *t = thread_enter();
    if (!t)
        return real.sem_wait(sem);
    struct site site = SITE_HERE;
    int saved = errno;
    pthread_testcancel(); /* sem_wait is always a cancellation point */
    int result = real.sem_trywait(sem);
    if (result != 0) {
        errno = saved;
        result = sem_wait_slow(t, sem, site);
    }
    return semaphore_taken(t, sem, result, 0, site);
}
EXPORT2(sem_wait, V_2_34, V_OLDEST);

WRAPPER(int, sem_trywait, (sem_t * sem))
{
    struct thread *t = thread_enter();
    int result = real.sem_trywait(sem);
    return t ? semaphore_taken(t, sem, result, INCIDENT_TRIED, SITE_HERE) : result;
}
EXPORT2(sem_trywait, V_2_34, V_OLDEST);

static __attribute__((noinline)) int wait_until(sem_t *sem, clockid_t clock, bool clocked,
                                                const struct timespec *until, struct site site)
{
    struct thread *t = thread_enter_slow();
    if (!t)
        return clocked ? real.sem_clockwait(sem, clock, until) : real.sem_timedwait(sem, until);
    struct undo undo;
    WAIT_BEGIN(t, &undo, sem, INCIDENT_SEMAPHORE, INCIDENT_UNIT, INCIDENT_TIMED, site);
    int result = clocked ? real.sem_clockwait(sem, clock, until) : real.sem_timedwait(sem, until);
    WAIT_END(t, &undo);
    return semaphore_taken(t, sem, result, INCIDENT_TRIED, site);
}

WRAPPER(int, sem_timedwait, (sem_t * sem, const struct timespec *until))
{
    return wait_until(sem, CLOCK_REALTIME, false, until, SITE_HERE);
}
EXPORT2(sem_timedwait, V_2_34, V_OLDEST);

WRAPPER(int, sem_clockwait, (sem_t * sem, clockid_t clock, const struct timespec *until))
{
    return wait_until(sem, clock, true, until, SITE_HERE);
}
EXPORT2(sem_clockwait, V_2_34, V_2_30);

/* Removes a unit. In a program with handlers, a post may come from one, while its thread changes
 * its holds. Then no hold is removed: one without units stays until the thread itself removes it.
 */
static bool unit_released(struct thread *t, const sem_t *sem)
{
    if (!atomic_load_explicit(&watch.caught, memory_order_relaxed))
        return unhold_lock(t, sem);
    uint32_t i = held_find(t, (uintptr_t)sem);
    if (i == UINT32_MAX || __atomic_load_n(&t->held[i].units, __ATOMIC_RELAXED) == 0)
        return false;
    __atomic_fetch_sub(&t->held[i].units, 1, __ATOMIC_RELAXED);
    return true;
}

/* A post from a signal handler counts as one by another thread, whatever its thread holds, since a
 * handler may run at any time. sem_post must work in handlers: this code never waits. */
WRAPPER(int, sem_post, (sem_t * sem))
{
    struct thread *t = thread_enter();
    uintptr_t lock = (uintptr_t)sem;
    if (t) {
        uint32_t mark = unit_released(t, sem) ? LOCK_POSTED : LOCK_SIGNALS;
        if (!(lock_flags(lock) & mark)) {
            struct shield shield;
            work_begin(t, &shield);
            lock_mark(lock, INCIDENT_SEMAPHORE, mark);
            work_end(t, &shield);
        }
    } else if (self && self->inside) {
        atomic_store_explicit(&watch.handlers_post, true, memory_order_relaxed);
    } else if (self && !(lock_flags(lock) & LOCK_HANDLED)) {
        lock_mark(lock, INCIDENT_SEMAPHORE, LOCK_SIGNALS | LOCK_HANDLED);
    }
    return real.sem_post(sem);
}
EXPORT2(sem_post, V_2_34, V_OLDEST);

WRAPPER(int, sem_init, (sem_t * sem, int shared, unsigned value))
{
    lock_born(sem, INCIDENT_SEMAPHORE, value, shared ? LOCK_SHARED : 0, SITE_HERE);
    return real.sem_init(sem, shared, value);
}
EXPORT2(sem_init, V_2_34, V_OLDEST);

WRAPPER(int, sem_destroy, (sem_t * sem))
{
    lock_gone(sem, 1);
    return real.sem_destroy(sem);
}
EXPORT2(sem_destroy, V_2_34, V_OLDEST);

WRAPPER(sem_t *, sem_open, (const char *name, int flags, ...))
{
    mode_t mode = 0;
    unsigned value = 0;
    if (flags & O_CREAT) {
        va_list more;
        va_start(more, flags);
        mode = va_arg(more, mode_t); /* NOLINT(clang-analyzer-valist.Uninitialized): it is */
        value = va_arg(more, unsigned);
        va_end(more);
    }
    struct thread *t = thread_enter();
    struct site site = SITE_HERE;
    sem_t *sem = real.sem_open(name, flags, mode, value);
    if (t && sem != SEM_FAILED && !(lock_flags((uintptr_t)sem) & LOCK_SHARED)) {
        lock_born(sem, INCIDENT_SEMAPHORE, 0, LOCK_SHARED, site);
        lock_set_name(sem, name);
    }
    return sem;
}
EXPORT2(sem_open, V_2_34, V_OLDEST);
