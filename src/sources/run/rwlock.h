/* What a read-write lock of this libc says about itself. */
#ifndef GORDIAN_SOURCES_RUN_RWLOCK_H
#define GORDIAN_SOURCES_RUN_RWLOCK_H

#include "sources/run/held.h"

#include <pthread.h>

/* The tid of who has it for writing, or 0. */
static inline uint32_t rwlock_writer(const pthread_rwlock_t *lock)
{
    return (uint32_t)__atomic_load_n(&lock->__data.__cur_writer, __ATOMIC_ACQUIRE);
}

/* How many have it for reading, or wait to; the lowest three bits are other things. */
static inline uint32_t rwlock_readers(const pthread_rwlock_t *lock)
{
    return __atomic_load_n(&lock->__data.__readers, __ATOMIC_ACQUIRE) >> 3;
}

static inline bool rwlock_is_shared(const pthread_rwlock_t *lock)
{
    return lock->__data.__shared != 0;
}

/* Readers do not overtake writers that wait. */
static inline bool rwlock_prefers_writers(const pthread_rwlock_t *lock)
{
    return lock->__data.__flags == PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP;
}

#endif
