/* Reads the state of libc's locks: owner, robust mutexes, priority inheritance. The layouts are
 * part of libc's interface (static initializers are compiled into programs). lock_layout_is_known
 * still checks them once. */
#pragma once

#include <linux/futex.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Returns whether the locks of this libc have these layouts. `tid`: the calling thread. */
bool lock_layout_is_known(uint32_t tid);

/* Bits of a mutex's __kind. The lowest two are the type: normal, recursive, errorcheck, adaptive.
 * KIND_INHERIT is priority inheritance. */
enum {
    KIND_TYPE = 3,
    KIND_ROBUST = 16,
    KIND_INHERIT = 32,
    KIND_PROTECT = 64,
    KIND_SHARED = 128,
    KIND_NOT_ELIDED = 512, /* libc must not use lock elision */
};

static inline uint32_t mutex_kind(const pthread_mutex_t *mutex)
{
    return (uint32_t)__atomic_load_n(&mutex->__data.__kind, __ATOMIC_RELAXED);
}

/* Returns the tid of the owner, or 0: there is no owner, or the owner is changing, or the mutex is
 * about to become free. */
static inline uint32_t mutex_owner(const pthread_mutex_t *mutex)
{
    uint32_t word = (uint32_t)__atomic_load_n(&mutex->__data.__lock, __ATOMIC_ACQUIRE);
    if (mutex_kind(mutex) & (KIND_ROBUST | KIND_INHERIT))
        return word & FUTEX_OWNER_DIED ? 0 : word & FUTEX_TID_MASK;
    return word ? (uint32_t)__atomic_load_n(&mutex->__data.__owner, __ATOMIC_RELAXED) : 0;
}

/* Returns the tid of the writer, or 0. */
static inline uint32_t rwlock_writer(const pthread_rwlock_t *lock)
{
    return (uint32_t)__atomic_load_n(&lock->__data.__cur_writer, __ATOMIC_ACQUIRE);
}

/* Returns how many threads hold it for reading, or wait to; the lowest three bits have other uses.
 */
static inline uint32_t rwlock_readers(const pthread_rwlock_t *lock)
{
    return __atomic_load_n(&lock->__data.__readers, __ATOMIC_ACQUIRE) >> 3;
}

static inline bool rwlock_is_shared(const pthread_rwlock_t *lock)
{
    return lock->__data.__shared != 0;
}

/* Readers do not overtake waiting writers. */
static inline bool rwlock_prefers_writers(const pthread_rwlock_t *lock)
{
    return lock->__data.__flags == PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP;
}

static inline bool condition_is_shared(const pthread_cond_t *condition)
{
    return condition->__data.__wrefs & 1;
}
