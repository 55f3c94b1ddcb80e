/* pthread_cond_*. */
#include "sources/run/wrappers/condition.h"

#include "sources/run/judge/judge.h"
#include "sources/run/libc/export.h"
#include "sources/run/libc/real.h"
#include "sources/run/start/enter.h"
#include "sources/run/threads/handler_acts.h"
#include "sources/run/threads/held_locks.h"
#include "sources/run/threads/observed_wait.h"
#include "sources/run/threads/wait.h"
#include "sources/run/threads/waiters.h"
#include "sources/run/wrappers/lock_lifetime.h"

#include <string.h>

/* State to restore after the wait, however it ends. */
struct waiter {
    struct thread *thread;
    volatile bool held;
    struct held hold;
};

/* The mutex is retaken, however the wait ends: by a signal, timeout, cancellation or jump. */
static void retake_mutex(struct waiter *waiter)
{
    struct thread *t = waiter->thread;
    wait_reset(t);
    if (!waiter->held)
        return;
    waiter->held = false; /* only once: the thread may also leave from here */
    struct held *h = hold_place(t);
    if (!h)
        return;
    size_t at = t->used;
    t->used = at + sizeof *h;
    *h = waiter->hold;
    h->lock = 0; /* it may be held under other locks now: check its order again */
    held_new(t, at, waiter->hold.lock, (struct site){0, h->frame[0]});
}

/* Undo handler. */
static void condition_left(void *context)
{
    struct waiter *waiter = context;
    jump_note(waiter->thread);
    retake_mutex(waiter);
}

static void release_mutex(struct thread *t, void *mutex, struct waiter *waiter)
{
    waiter->thread = t;
    uint32_t i = held_find(t, (uintptr_t)mutex);
    waiter->held = i != UINT32_MAX;
    if (!waiter->held)
        return;
    waiter->hold = t->held[i];
    held_drop(t, i);
}

/* Returns whether a thread that this one has signalled, with the mutex held, is awake and waits for
 * the mutex. Then a thread runs, and no other must be checked. Programs pass control between
 * threads this way. */
static bool woke_waiter(const struct thread *t, const struct waiter *waiter, const void *mutex)
{
    struct observed_wait look;
    if (!t->signalled || !waiter->held || !(waiter->hold.flags & HELD_SIGNALLED))
        return false;
    struct thread *other = waiters_find(t->signalled, t);
    return other && observe_wait(other, &look) && look.lock == t->signalled &&
           look.outer == (uintptr_t)mutex;
}

__attribute__((noinline)) int condition_wait(const struct condition_wait *call, struct site site)
{
    struct thread *t = thread_enter_slow();
    if (!t)
        return call->wait(call);
    struct waiter waiter;
    struct undo undo;
    release_mutex(t, call->mutex, &waiter);
    /* A thread that waits for the mutex that this wait releases will also continue. */
    t->woke_waiter =
        woke_waiter(t, &waiter, call->mutex) ||
        (waiter.held && waiter.hold.units == 1 && waiters_find((uintptr_t)call->mutex, t));
    t->signalled = 0;
    wait_fill(t, call->condition, INCIDENT_CONDITION, INCIDENT_SIGNAL,
              (call->until ? (uint32_t)INCIDENT_TIMED : 0) | call->through, site);
    t->wait.outer = (uintptr_t)call->mutex;
    undo_push(&undo, condition_left, &waiter);
    capture_wait(&t->wait);
    wait_publish(t);
    judge_wait(t, 0);
    int result = call->wait(call);
    retake_mutex(&waiter);
    undo_pop(&undo);
    return result;
}

static int posix_wait(const struct condition_wait *call)
{
    if (!call->until)
        return real.pthread_cond_wait(call->condition, call->mutex);
    return call->clocked
               ? real.pthread_cond_clockwait(call->condition, call->mutex, call->clock, call->until)
               : real.pthread_cond_timedwait(call->condition, call->mutex, call->until);
}

WRAPPER(int, pthread_cond_wait, (pthread_cond_t * condition, pthread_mutex_t *mutex))
{
    struct condition_wait call = {.wait = posix_wait, .condition = condition, .mutex = mutex};
    return condition_wait(&call, SITE_HERE);
}
EXPORT(pthread_cond_wait, V_COND);

WRAPPER(int, pthread_cond_timedwait,
        (pthread_cond_t * condition, pthread_mutex_t *mutex, const struct timespec *until))
{
    struct condition_wait call = {
        .wait = posix_wait, .condition = condition, .mutex = mutex, .until = until};
    return condition_wait(&call, SITE_HERE);
}
EXPORT(pthread_cond_timedwait, V_COND);

WRAPPER(int, pthread_cond_clockwait,
        (pthread_cond_t * condition, pthread_mutex_t *mutex, clockid_t clock,
         const struct timespec *until))
{
    struct condition_wait call = {.wait = posix_wait,
                                  .condition = condition,
                                  .mutex = mutex,
                                  .clocked = true,
                                  .clock = clock,
                                  .until = until};
    return condition_wait(&call, SITE_HERE);
}
EXPORT2(pthread_cond_clockwait, V_2_34, V_2_30);

void condition_signalled(const void *condition)
{
    struct thread *t = thread_enter();
    if (!t)
        return;
    t->signalled = (uintptr_t)condition;
    for (uint32_t i = 0; i < holds_of(t); i++)
        t->held[i].flags |= HELD_SIGNALLED;
}

WRAPPER(int, pthread_cond_signal, (pthread_cond_t * condition))
{
    condition_signalled(condition);
    return real.pthread_cond_signal(condition);
}
EXPORT(pthread_cond_signal, V_COND);

WRAPPER(int, pthread_cond_broadcast, (pthread_cond_t * condition))
{
    condition_signalled(condition);
    return real.pthread_cond_broadcast(condition);
}
EXPORT(pthread_cond_broadcast, V_COND);

WRAPPER(int, pthread_cond_init, (pthread_cond_t * condition, const pthread_condattr_t *attributes))
{
    lock_born(condition, INCIDENT_CONDITION, 0, 0, SITE_HERE);
    return real.pthread_cond_init(condition, attributes);
}
EXPORT(pthread_cond_init, V_COND);

WRAPPER(int, pthread_cond_destroy, (pthread_cond_t * condition))
{
    lock_gone(condition, 1);
    return real.pthread_cond_destroy(condition);
}
EXPORT(pthread_cond_destroy, V_COND);

/* ------------------------------------------------------------------ before glibc 2.3.2 */

#if defined(__x86_64__)
/* Such a condition was a pointer to a new one, which libc's old functions find. They call the new
 * functions inside libc, so the wait is observed here. */
static int wait_before_2_3_2(const struct condition_wait *call)
{
    return call->until ? real.oldest_cond_timedwait(call->condition, call->mutex, call->until)
                       : real.oldest_cond_wait(call->condition, call->mutex);
}

WRAPPER(int, oldest_cond_wait, (pthread_cond_t * condition, pthread_mutex_t *mutex))
{
    struct condition_wait call = {
        .wait = wait_before_2_3_2, .condition = condition, .mutex = mutex};
    return condition_wait(&call, SITE_HERE);
}
__asm__(".symver wrap_oldest_cond_wait,pthread_cond_wait@" V_OLDEST);

WRAPPER(int, oldest_cond_timedwait,
        (pthread_cond_t * condition, pthread_mutex_t *mutex, const struct timespec *until))
{
    struct condition_wait call = {
        .wait = wait_before_2_3_2, .condition = condition, .mutex = mutex, .until = until};
    return condition_wait(&call, SITE_HERE);
}
__asm__(".symver wrap_oldest_cond_timedwait,pthread_cond_timedwait@" V_OLDEST);
#endif
