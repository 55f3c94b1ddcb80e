/* Two threads, two locks, opposite orders: for every pair of kinds. */
#include "matrix.h"

#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

union lock {
    pthread_mutex_t mutex;
    pthread_rwlock_t rwlock;
    pthread_spinlock_t spin;
    sem_t semaphore;
};

struct kind {
    const char *name;
    void (*init)(union lock *lock);
    int (*lock)(union lock *lock);
};

static void init_mutex(union lock *lock, int type, int protocol, int robust, int shared)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, type);
    pthread_mutexattr_setprotocol(&attributes, protocol);
    pthread_mutexattr_setrobust(&attributes, robust);
    pthread_mutexattr_setpshared(&attributes, shared);
    if (pthread_mutex_init(&lock->mutex, &attributes) != 0)
        exit(3);
}

#define MUTEX(name, type, protocol, robust, shared)                                                \
    static void init_##name(union lock *lock)                                                      \
    {                                                                                              \
        init_mutex(lock, type, protocol, robust, shared);                                          \
    }

MUTEX(normal, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED, 0)
MUTEX(recursive, PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED, 0)
MUTEX(errorcheck, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED, 0)
MUTEX(adaptive, PTHREAD_MUTEX_ADAPTIVE_NP, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED, 0)
MUTEX(robust, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST, 0)
MUTEX(inherit, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_STALLED, 0)
MUTEX(shared, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED, 1)

static int lock_mutex(union lock *lock)
{
    return pthread_mutex_lock(&lock->mutex);
}

static void init_rwlock(union lock *lock)
{
    pthread_rwlock_init(&lock->rwlock, NULL);
}

static int lock_write(union lock *lock)
{
    return pthread_rwlock_wrlock(&lock->rwlock);
}

static void init_spin(union lock *lock)
{
    pthread_spin_init(&lock->spin, PTHREAD_PROCESS_PRIVATE);
}

static int lock_spin(union lock *lock)
{
    return pthread_spin_lock(&lock->spin);
}

static void init_semaphore(union lock *lock)
{
    sem_init(&lock->semaphore, 0, 1);
}

static int lock_semaphore(union lock *lock)
{
    return sem_wait(&lock->semaphore);
}

static const struct kind kinds[] = {
    {"normal", init_normal, lock_mutex},
    {"recursive", init_recursive, lock_mutex},
    {"errorcheck", init_errorcheck, lock_mutex},
    {"adaptive", init_adaptive, lock_mutex},
    {"robust", init_robust, lock_mutex},
    {"inherit", init_inherit, lock_mutex},
    {"shared", init_shared, lock_mutex},
    {"write", init_rwlock, lock_write},
    {"spin", init_spin, lock_spin},
    {"semaphore", init_semaphore, lock_semaphore},
};

#define KINDS (sizeof kinds / sizeof *kinds)

struct pair {
    const struct kind *first, *second;
    union lock *first_lock, *second_lock;
};

static void *take_both(void *argument)
{
    struct pair *pair = argument;
    if (pair->first->lock(pair->first_lock) != 0)
        exit(3);
    settle();
    pair->second->lock(pair->second_lock);
    return NULL;
}

void matrix_pairs_list(void)
{
    for (size_t i = 0; i < KINDS; i++)
        for (size_t k = i; k < KINDS; k++)
            printf("abba-%s-%s deadlock\n", kinds[i].name, kinds[k].name);
}

int matrix_pairs_run(const char *name)
{
    for (size_t i = 0; i < KINDS; i++)
        for (size_t k = 0; k < KINDS; k++) {
            char own[64];
            snprintf(own, sizeof own, "abba-%s-%s", kinds[i].name, kinds[k].name);
            if (strcmp(own, name) != 0)
                continue;
            static union lock a, b;
            kinds[i].init(&a);
            kinds[k].init(&b);
            struct pair one = {&kinds[i], &kinds[k], &a, &b}, two = {&kinds[k], &kinds[i], &b, &a};
            pthread_t first = go(take_both, &one), second = go(take_both, &two);
            finish(first);
            finish(second);
            return 1;
        }
    return 0;
}
