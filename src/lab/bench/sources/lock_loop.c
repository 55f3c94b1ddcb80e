/* The program whose locks `gordian bench run` measures: natively, under `gordian run`, under other
 * tools.
 * It times itself, prints nanoseconds per pair of lock and unlock, or per round, and checks what
 * the
 * locks protect.
 *
 *     lock_loop WHAT PAIRS [THREADS]
 *
 * WHAT: mutex, nested (two locks, one inside the other), rwlock (read), contended, condition-round
 * (two
 * threads alternate by a condition, which is signalled after unlocking; PAIRS are rounds). */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MOST 64

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t together;
static volatile uint64_t counter;
static uint64_t pairs;

static uint64_t loop_ns(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void loop_mutex(void)
{
    for (uint64_t i = 0; i < pairs; i++) {
        pthread_mutex_lock(&first);
        counter = counter + 1;
        pthread_mutex_unlock(&first);
    }
}

static void loop_nested(void)
{
    for (uint64_t i = 0; i < pairs; i++) {
        pthread_mutex_lock(&first);
        pthread_mutex_lock(&second);
        counter = counter + 1;
        pthread_mutex_unlock(&second);
        pthread_mutex_unlock(&first);
    }
}

static void loop_rwlock(void)
{
    for (uint64_t i = 0; i < pairs; i++) {
        pthread_rwlock_rdlock(&shared);
        counter = counter + 1;
        pthread_rwlock_unlock(&shared);
    }
}

static void *contender(void *unused)
{
    (void)unused;
    pthread_barrier_wait(&together);
    loop_mutex();
    return NULL;
}

/* Returns the wall time of all threads together, without starting the others. */
static uint64_t contended(unsigned threads)
{
    pthread_t list[THREADS_MOST];
    pthread_barrier_init(&together, NULL, threads + 1);
    for (unsigned i = 0; i < threads; i++)
        if (pthread_create(&list[i], NULL, contender, NULL) != 0)
            exit(3);
    pthread_barrier_wait(&together);
    uint64_t start = loop_ns(CLOCK_MONOTONIC);
    for (unsigned i = 0; i < threads; i++)
        pthread_join(list[i], NULL);
    return loop_ns(CLOCK_MONOTONIC) - start;
}

static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static unsigned turn; /* 0 or 1: the thread whose turn it is */

static void take_turns_at_condition(unsigned own)
{
    for (uint64_t i = 0; i < pairs; i++) {
        pthread_mutex_lock(&first);
        while (turn != own)
            pthread_cond_wait(&turned, &first);
        turn = 1 - own;
        counter = counter + own;
        pthread_mutex_unlock(&first);
        pthread_cond_signal(&turned);
    }
}

static void *partner(void *unused)
{
    take_turns_at_condition(1);
    return unused;
}

static void *bystander(void *unused)
{
    pause();
    return unused;
}

/* Returns CPU time. Another thread exists, asleep: with a single thread, the C library does not
 * really lock. */
static uint64_t alone(void (*loop)(void))
{
    uint64_t wanted = pairs;
    pthread_t other;
    if (pthread_create(&other, NULL, bystander, NULL) != 0)
        exit(3);
    pairs = wanted / 10;
    loop(); /* warm up */
    counter = 0;
    pairs = wanted;
    uint64_t start = loop_ns(CLOCK_THREAD_CPUTIME_ID);
    loop();
    return loop_ns(CLOCK_THREAD_CPUTIME_ID) - start;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    unsigned threads = argc > 3 ? (unsigned)atoi(argv[3]) : 1;
    pairs = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    uint64_t time = 0, all = pairs;
    if (pairs == 0 || threads == 0 || threads > THREADS_MOST)
        return 2;
    if (strcmp(what, "mutex") == 0) {
        time = alone(loop_mutex);
    } else if (strcmp(what, "nested") == 0) {
        time = alone(loop_nested);
    } else if (strcmp(what, "rwlock") == 0) {
        time = alone(loop_rwlock);
    } else if (strcmp(what, "contended") == 0) {
        time = contended(threads);
        all = pairs * threads;
    } else if (strcmp(what, "condition-round") == 0) {
        /* Wall time: most of a round is spent asleep. */
        pthread_t other;
        uint64_t start = loop_ns(CLOCK_MONOTONIC);
        if (pthread_create(&other, NULL, partner, NULL) != 0)
            exit(3);
        take_turns_at_condition(0);
        pthread_join(other, NULL);
        time = loop_ns(CLOCK_MONOTONIC) - start;
    } else {
        return 2;
    }
    if (counter != all)
        return 1; /* the lock did not exclude */
    printf("%.3f\n", (double)time / (double)all);
    return 0;
}
