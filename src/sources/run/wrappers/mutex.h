/* Taking and releasing a mutex, for pthread_mutex_ and mtx_. */
#pragma once

#include "sources/run/libc/lock_layout.h"
#include "sources/run/libc/lock_word.h"
#include "sources/run/threads/held_locks.h"

#include <pthread.h>

/* Take and release a normal mutex exactly like libc. False, RELEASE_NOT: it is contended or of
 * another type, and nothing has changed. */
static inline __attribute__((always_inline)) bool mutex_acquire(pthread_mutex_t *mutex,
                                                                uint32_t tid)
{
    uint32_t kind = mutex_kind(mutex);
    if (unlikely((kind & ~(uint32_t)KIND_NOT_ELIDED) != 0))
        return false;
    int *word = &mutex->__data.__lock;
    if (*watch.single) {
        if (*word != 0)
            return false;
        *word = 1;
    } else {
        if (unlikely(!word_acquire(word)))
            return false;
    }
    mutex->__data.__nusers++;
    __atomic_store_n(&mutex->__data.__owner, (int)tid, __ATOMIC_RELAXED);
    return true;
}

/* Result of a release. */
enum release { RELEASE_NOT, RELEASE_DONE, RELEASE_WAKE /* has waiters: call mutex_wake */ };

static inline __attribute__((always_inline)) enum release mutex_release(pthread_mutex_t *mutex)
{
    uint32_t kind = mutex_kind(mutex);
    if (unlikely((kind & ~(uint32_t)KIND_NOT_ELIDED) != 0))
        return RELEASE_NOT;
    int *word = &mutex->__data.__lock;
    __atomic_store_n(&mutex->__data.__owner, 0, __ATOMIC_RELAXED);
    mutex->__data.__nusers--;
    if (*watch.single) {
        *word = 0;
        return RELEASE_DONE;
    }
    return unlikely(word_release(word) > 1) ? RELEASE_WAKE : RELEASE_DONE;
}

/* Wakes one waiter of a released mutex. The mutex may be freed by now, and its memory reused; libc
 * behaves the same. Also checks whether a handler releases it (threads/handler_acts.h), which is
 * not done for free locks. */
void mutex_wake(pthread_mutex_t *mutex);

/* Also for C11's mtx_ functions: `through` is 0 or THROUGH_C11. Return the results of the pthread
 * functions. */
int mutex_trylock_as(pthread_mutex_t *mutex, struct site site, uint32_t through);
int mutex_unlock_slow(pthread_mutex_t *mutex);
int mutex_lock_until(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *until,
                     struct site site, uint32_t through);

/* What mutex_lock_rest must do after mutex_lock_quick, and for which entry (held_slot). */
struct lock_rest {
    enum { LOCK_DONE, LOCK_NEW, LOCK_ELSEWHERE, LOCK_AGAIN, LOCK_SLOW } what;
    size_t place;
};

/* The uncontended case needs no call. The frames (`sites` of them; `caller`: see walk_again) are
 * walked before the lock is taken, and the entry is found before, since loads after an acquire must
 * wait for it. LOCK_AGAIN: nothing was done; call it once more with `again`. */
static inline __attribute__((always_inline)) struct lock_rest
mutex_lock_quick(pthread_mutex_t *mutex, uint32_t through, uint32_t sites, struct site caller,
                 bool again)
{
    struct thread *t = self;
    if (unlikely(t == NULL) || unlikely(t->used >= t->room))
        return (struct lock_rest){LOCK_SLOW, 0};
    size_t at = t->used;
    uint32_t frames = 0;
    struct held *h = held_slot(t, at);
    if (sites)
        frames = again ? walk_anew(t, h->frame, sites, caller) : walk_again(t, h->frame, caller);
    if (sites && unlikely(frames == 0))
        return (struct lock_rest){LOCK_AGAIN, 0};
    if (unlikely(!mutex_acquire(mutex, t->tid)))
        return (struct lock_rest){LOCK_SLOW, 0};
    uint64_t what = held_what(INCIDENT_MUTEX, INCIDENT_EXCLUSIVE, through, frames);
    enum hold hold = hold_at(t, h, at, mutex, what, sites != 0, caller.caller);
    return (struct lock_rest){hold == HOLD_NOTED ? LOCK_DONE
                              : hold == HOLD_NEW ? LOCK_NEW
                                                 : LOCK_ELSEWHERE,
                              at};
}

int mutex_lock_rest(pthread_mutex_t *mutex, struct lock_rest rest, uint32_t through,
                    struct site site);

static inline __attribute__((always_inline)) int mutex_unlock_as(pthread_mutex_t *mutex)
{
    struct thread *t = self;
    if (unlikely(t == NULL))
        return mutex_unlock_slow(mutex);
    size_t used = t->used;
    const struct held *last = held_slot(t, used) - 1;
    if (unlikely(used == 0 || last->lock != (uintptr_t)mutex))
        return mutex_unlock_slow(mutex);
    enum release released = mutex_release(mutex);
    if (unlikely(released == RELEASE_NOT))
        return mutex_unlock_slow(mutex);
    t->used = used - sizeof *last;
    if (unlikely(released == RELEASE_WAKE))
        mutex_wake(mutex);
    return 0;
}
