/* Eight ways to hang, with POSIX threads, and the same programs written right.
 *
 *     hangs_pthread NAME [good]
 *
 * Each forms its deadlock for sure: the threads meet before the fatal step. Written right, each
 * ends by itself and prints "done". */
#include "settle.h"
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool good; /* written right */

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t b = PTHREAD_MUTEX_INITIALIZER;
static sem_t here; /* posted by whoever has reached the place where the other may go on */

static void meet(void)
{
    wait_until_all_sleep();
}

static void start(pthread_t *thread, void *(*run)(void *))
{
    if (pthread_create(thread, NULL, run, NULL) != 0)
        exit(3);
}

/* Runs two threads to their end. */
static void both(void *(*one)(void *), void *(*two)(void *))
{
    pthread_t first, second;
    start(&first, one);
    start(&second, two);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
}

/* ------------------------------------------------------------------ mutexes, a b and b a */

static void *mutex_one(void *unused)
{
    pthread_mutex_lock(&a);
    meet();
    pthread_mutex_lock(&b);
    pthread_mutex_unlock(&b);
    pthread_mutex_unlock(&a);
    return unused;
}

static void *mutex_two(void *unused)
{
    pthread_mutex_lock(good ? &a : &b);
    meet();
    pthread_mutex_lock(good ? &b : &a);
    pthread_mutex_unlock(good ? &b : &a);
    pthread_mutex_unlock(good ? &a : &b);
    return unused;
}

static void mutex_abba(void)
{
    both(mutex_one, mutex_two);
}

/* ------------------------------------------------------------------ semaphores */

static sem_t left, right;

static void *semaphore_one(void *unused)
{
    sem_wait(&left);
    meet();
    sem_wait(&right);
    sem_post(&right);
    sem_post(&left);
    return unused;
}

static void *semaphore_two(void *unused)
{
    sem_wait(good ? &left : &right);
    meet();
    sem_wait(good ? &right : &left);
    sem_post(good ? &right : &left);
    sem_post(good ? &left : &right);
    return unused;
}

static void semaphore_abba(void)
{
    sem_init(&left, 0, 1);
    sem_init(&right, 0, 1);
    both(semaphore_one, semaphore_two);
}

/* ------------------------------------------------------------------ a condition under a lock */

static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static bool ready;

static void *condition_waiter(void *unused)
{
    if (!good)
        pthread_mutex_lock(&a);
    pthread_mutex_lock(&b);
    while (!ready)
        pthread_cond_wait(&condition, &b);
    pthread_mutex_unlock(&b);
    if (!good)
        pthread_mutex_unlock(&a);
    return unused;
}

static void *condition_signaller(void *unused)
{
    meet();
    pthread_mutex_lock(&a);
    pthread_mutex_lock(&b);
    ready = true;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&b);
    pthread_mutex_unlock(&a);
    return unused;
}

static void condition_outer(void)
{
    both(condition_waiter, condition_signaller);
}

/* ------------------------------------------------------------------ a join under a lock */

static void *join_child(void *unused)
{
    meet();
    pthread_mutex_lock(&a);
    pthread_mutex_unlock(&a);
    return unused;
}

static void join_locked(void)
{
    pthread_t child;
    pthread_mutex_lock(&a);
    start(&child, join_child);
    if (good)
        pthread_mutex_unlock(&a);
    pthread_join(child, NULL);
    if (!good)
        pthread_mutex_unlock(&a);
}

/* ------------------------------------------------------------------ upgrading a read lock */

static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;

static void rwlock_upgrade(void)
{
    pthread_rwlock_rdlock(&table);
    if (good)
        pthread_rwlock_unlock(&table);
    pthread_rwlock_wrlock(&table);
    pthread_rwlock_unlock(&table);
}

/* ------------------------------------------------------------------ a barrier under a lock */

static pthread_barrier_t barrier;

static void *barrier_one(void *unused)
{
    pthread_mutex_lock(&a);
    if (good)
        pthread_mutex_unlock(&a);
    pthread_barrier_wait(&barrier);
    if (!good)
        pthread_mutex_unlock(&a);
    return unused;
}

static void *barrier_two(void *unused)
{
    meet();
    pthread_mutex_lock(&a);
    pthread_mutex_unlock(&a);
    pthread_barrier_wait(&barrier);
    return unused;
}

static void barrier_locked(void)
{
    pthread_barrier_init(&barrier, NULL, 2);
    both(barrier_one, barrier_two);
}

/* ------------------------------------------------------------------ the same lock twice */

static void self_relock(void)
{
    pthread_mutex_lock(&a);
    if (good)
        pthread_mutex_unlock(&a);
    pthread_mutex_lock(&a);
    pthread_mutex_unlock(&a);
}

/* ------------------------------------------------------------------ the owner ends */

static void *owner(void *unused)
{
    pthread_mutex_lock(&a);
    sem_post(&here);
    if (good)
        pthread_mutex_unlock(&a);
    return unused;
}

static void owner_gone(void)
{
    pthread_t thread;
    sem_init(&here, 0, 0);
    start(&thread, owner);
    sem_wait(&here);
    pthread_join(thread, NULL);
    pthread_mutex_lock(&a);
    pthread_mutex_unlock(&a);
}

int main(int count, char **arguments)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } hangs[] = {
        {"mutex-abba", mutex_abba},           {"semaphore-abba", semaphore_abba},
        {"condition-outer", condition_outer}, {"join-locked", join_locked},
        {"rwlock-upgrade", rwlock_upgrade},   {"barrier-locked", barrier_locked},
        {"self-relock", self_relock},         {"owner-gone", owner_gone},
    };
    good = count > 2 && strcmp(arguments[2], "good") == 0;
    for (size_t i = 0; count > 1 && i < sizeof hangs / sizeof *hangs; i++)
        if (strcmp(arguments[1], hangs[i].name) == 0) {
            hangs[i].run();
            puts("done");
            return 0;
        }
    for (size_t i = 0; i < sizeof hangs / sizeof *hangs; i++)
        puts(hangs[i].name);
    return 2;
}
