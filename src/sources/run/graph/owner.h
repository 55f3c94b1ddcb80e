/* Who has a lock. */
#pragma once

#include "sources/run/locks/lock_registry.h"

#include <pthread.h>

enum owner {
    OWNER_NONE,    /* nobody, or it is changing hands */
    OWNER_THREAD,  /* a thread we know: *thread */
    OWNER_RUNNING, /* somebody unknown who lives: an unwatched thread, another process */
    OWNER_GONE,    /* somebody who has ended, or stayed behind in the parent of a fork */
};

/* What a lock that names its owner is like. */
enum named {
    NAMED_SHARED = 1 << 0,  /* other processes may have it */
    NAMED_ROBUST = 1 << 1,  /* when the owner ends, the kernel passes it on */
    NAMED_INHERIT = 1 << 2, /* so it does here, to those who wait then */
};
uint32_t mutex_named(const pthread_mutex_t *mutex);
uint32_t rwlock_named(const pthread_rwlock_t *lock);

/* Who has a lock that names its owner by tid (mutex, rwlock for writing). */
enum owner lock_owner(uintptr_t lock, uint32_t tid, uint32_t named, struct thread **thread);

/* Did somebody end holding this lock, for good? A lock in shared memory that another thread of the
 * parent held at a fork is not that: there it lives on. */
bool orphan_of(uintptr_t lock, uint32_t tid, struct orphan *orphan);

/* The units of a lock that a thread holds, all its holds added; *hold: the first of them. Safe on
 * running threads, whose answer may be stale. What was held at a fork the child holds, too, unless
 * it is in shared memory: there are no two of it. */
uint32_t units_of_lock(const struct thread *t, uintptr_t lock, uint32_t mode,
                       const struct held **hold);
