/* Finds the owner of a lock. */
#pragma once

#include "sources/run/locks/lock_registry.h"

#include <pthread.h>

enum owner {
    OWNER_NONE,    /* none, or it is changing */
    OWNER_THREAD,  /* a known thread: *thread */
    OWNER_RUNNING, /* an unknown thread that is alive: an unwatched thread, or another process */
    OWNER_GONE,    /* a thread that has ended, or is left in the parent of a fork */
};

/* Properties of a lock that stores its owner. */
enum named {
    NAMED_SHARED = 1 << 0,  /* other processes may share it */
    NAMED_ROBUST = 1 << 1,  /* when the owner ends, the kernel releases it */
    NAMED_INHERIT = 1 << 2, /* priority inheritance: the same, for threads that wait then */
};
uint32_t mutex_named(const pthread_mutex_t *mutex);
uint32_t rwlock_named(const pthread_rwlock_t *lock);

/* Finds the owner of a lock that stores its owner's tid (mutex, rwlock for writing). */
enum owner lock_owner(uintptr_t lock, uint32_t tid, uint32_t named, struct thread **thread);

/* Returns whether a thread has ended with this lock, so that it stays locked. A lock in shared
 * memory that another thread of the parent held at a fork does not count: that thread is alive
 * there. */
bool orphan_of(uintptr_t lock, uint32_t tid, struct orphan *orphan);

/* Returns the number of units that a thread holds of a lock, in all holds; *hold: the first of
 * them. Safe for running threads, for which it may be out of date. The child of a fork also holds
 * the parent's locks, except in shared memory. */
uint32_t units_of_lock(const struct thread *t, uintptr_t lock, uint32_t mode,
                       const struct held **hold);
