#pragma once

#include "sources/run/state/watch.h"

#include <pthread.h>
#include <semaphore.h>

/* A copy of a lock that somebody else waits for. It may be freed at any moment: the kernel copies,
 * and says so when there is nothing there. */
union lock_copy {
    pthread_mutex_t mutex;
    pthread_rwlock_t rwlock;
    pthread_cond_t condition;
    sem_t semaphore;
    uint32_t words[16];
};
bool lock_copy(uintptr_t lock, uint32_t kind, union lock_copy *copy);
