/* Taking and giving back a mutex, shared by pthread_mutex_ and mtx_. */
#pragma once

#include "sources/run/libc/lock_layout.h"
#include "sources/run/libc/lock_word.h"
#include "sources/run/threads/held_locks.h"

#include <pthread.h>

/* Takes and gives back a mutex of the plain kind exactly as libc does. False, GIVE_NOT: somebody is
 * in the way, or it is of another kind, and nothing has changed. */
static inline __attribute__((always_inline)) bool mutex_take(pthread_mutex_t *mutex, uint32_t tid)
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
        if (unlikely(!word_take(word)))
            return false;
    }
    mutex->__data.__nusers++;
    __atomic_store_n(&mutex->__data.__owner, (int)tid, __ATOMIC_RELAXED);
    return true;
}

/* How giving back went. */
enum give { GIVE_NOT, GIVE_DONE, GIVE_WAKE /* somebody waits for it: mutex_wake */ };

static inline __attribute__((always_inline)) enum give mutex_give(pthread_mutex_t *mutex)
{
    uint32_t kind = mutex_kind(mutex);
    if (unlikely((kind & ~(uint32_t)KIND_NOT_ELIDED) != 0))
        return GIVE_NOT;
    int *word = &mutex->__data.__lock;
    __atomic_store_n(&mutex->__data.__owner, 0, __ATOMIC_RELAXED);
    mutex->__data.__nusers--;
    if (*watch.single) {
        *word = 0;
        return GIVE_DONE;
    }
    return unlikely(word_give(word) > 1) ? GIVE_WAKE : GIVE_DONE;
}

/* Lets one of those go on who sleep on a mutex that was given back. It may be gone by now, and its
 * memory another's: that is libc's way, too. Where somebody waits, it is also looked whether a
 * handler gives it back (threads/handler_acts.h): a free lock does without. */
void mutex_wake(pthread_mutex_t *mutex);

/* Shared with C11's mtx_ functions: `through` is 0 or THROUGH_C11. Answers as pthread_mutex_lock
 * and its kin. */
int mutex_trylock_as(pthread_mutex_t *mutex, struct site site, uint32_t through);
int mutex_unlock_slow(pthread_mutex_t *mutex);
int mutex_lock_until(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *until,
                     struct site site, uint32_t through);

/* What is left to do behind mutex_lock_quick, by mutex_lock_rest, and for which place (held_slot).
 */
struct lock_rest {
    enum { LOCK_DONE, LOCK_NEW, LOCK_ELSEWHERE, LOCK_ANEW, LOCK_SLOW } what;
    size_t place;
};

/* The undisturbed case costs no call. The frames, `sites` of them (`caller`: see walk_again), are
 * walked before the lock is taken, and the place is found: loads behind an acquire have to wait for
 * it. LOCK_ANEW: nothing is done, the same is wanted with `anew`. */
static inline __attribute__((always_inline)) struct lock_rest
mutex_lock_quick(pthread_mutex_t *mutex, uint32_t through, uint32_t sites, struct site caller,
                 bool anew)
{
    struct thread *t = self;
    if (unlikely(t == NULL) || unlikely(t->used >= t->room))
        return (struct lock_rest){LOCK_SLOW, 0};
    size_t at = t->used;
    uint32_t frames = 0;
    struct held *h = held_slot(t, at);
    if (sites)
        frames = anew ? walk_anew(t, h->frame, sites, caller) : walk_again(t, h->frame, caller);
    if (sites && unlikely(frames == 0))
        return (struct lock_rest){LOCK_ANEW, 0};
    if (unlikely(!mutex_take(mutex, t->tid)))
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
    enum give give = mutex_give(mutex);
    if (unlikely(give == GIVE_NOT))
        return mutex_unlock_slow(mutex);
    t->used = used - sizeof *last;
    if (unlikely(give == GIVE_WAKE))
        mutex_wake(mutex);
    return 0;
}
