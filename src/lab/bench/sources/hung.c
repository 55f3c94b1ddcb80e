/* The hanging program of `gordian bench inspect`: two threads wait for each other's lock, and the
 * other
 * threads wait behind them. One more thread only reads the clock, so that the program itself
 * measures
 * how long an inspection pauses it.
 *
 *     hung THREADS
 *
 * Prints "ready" when all threads sleep. Then, for every line it reads, it prints the nanoseconds
 * of the
 * longest pause since the previous line. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define PULSE_NS 100000

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static _Atomic uint64_t longest;
static atomic_int last; /* last thread that reached its lock */

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void *take_both_mutexes(void *mine)
{
    pthread_mutex_t *other = mine == &first ? &second : &first;
    pthread_mutex_lock(mine);
    pthread_barrier_wait(&both);
    atomic_store(&last, gettid());
    pthread_mutex_lock(other);
    return NULL;
}

static void *wait_behind_others(void *unused)
{
    (void)unused;
    atomic_store(&last, gettid());
    pthread_mutex_lock(&first);
    return NULL;
}

static void *pulse(void *unused)
{
    const struct timespec rest = {.tv_nsec = PULSE_NS};
    (void)unused;
    for (uint64_t before = now();;) {
        nanosleep(&rest, NULL);
        uint64_t time = now(), pause = time - before, known = atomic_load(&longest);
        while (pause > known && !atomic_compare_exchange_weak(&longest, &known, pause)) {
        }
        before = time;
    }
    return NULL;
}

static bool sleeps(int thread)
{
    char path[64], text[512] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
    FILE *file = fopen(path, "re");
    const char *state = file && fgets(text, sizeof text, file) ? strrchr(text, ')') : NULL;
    if (file)
        fclose(file);
    return state && state[1] && state[2] == 'S';
}

/* Starts a thread, and waits until it is blocked. */
static void start_hanging(void *(*run)(void *), void *argument)
{
    pthread_t thread;
    atomic_store(&last, 0);
    if (pthread_create(&thread, NULL, run, argument) != 0) {
        fprintf(stderr, "hung: cannot start a thread\n");
        exit(1);
    }
}

static void await_sleeping_thread(void)
{
    while (!atomic_load(&last) || !sleeps(atomic_load(&last)))
        usleep(100);
}

int main(int argc, char **argv)
{
    int threads = argc == 2 ? atoi(argv[1]) : 0;
    if (threads < 2) {
        fprintf(stderr, "usage: hung THREADS\n");
        return 2;
    }
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    pthread_barrier_init(&both, NULL, 2);
    start_hanging(take_both_mutexes, &first);
    start_hanging(take_both_mutexes, &second);
    await_sleeping_thread();
    for (int i = 2; i < threads; i++) {
        start_hanging(wait_behind_others, NULL);
        await_sleeping_thread();
    }
    start_hanging(pulse, NULL);
    puts("ready");
    fflush(stdout);
    for (int c; (c = getchar()) != EOF;)
        if (c == '\n') {
            printf("%llu\n", (unsigned long long)atomic_exchange(&longest, 0));
            fflush(stdout);
        }
    return 0;
}
