#pragma once

#include "sources/run/state/watch.h"

#include <pthread.h>
#include <semaphore.h>

/* A copy of a lock that another thread waits for. The lock may be freed at any moment: the kernel
 * makes the copy, and reports if the memory is gone. */
union lock_copy {
    pthread_mutex_t mutex;
    pthread_rwlock_t rwlock;
    pthread_cond_t condition;
    sem_t semaphore;
    uint32_t words[16];
};
bool lock_copy(uintptr_t lock, uint32_t kind, union lock_copy *copy);
