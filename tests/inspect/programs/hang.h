/* What the programs that hang share, in C and in C++. On standard output, without stdio and its
 * locks, they say who is who, in lines:
 *
 *     thread NAME TID
 *     lock NAME ADDRESS
 *     ready THREADS SLEEPING PID
 *     skip WHY                        it cannot be done here
 *
 * After "ready" as many threads are, or will be, there, and as many of them asleep for good: the
 * test waits until the kernel shows them so. */
#ifndef GORDIAN_TESTS_INSPECT_HANG_H
#define GORDIAN_TESTS_INSPECT_HANG_H

#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((format(printf, 1, 2))) static inline void say(const char *format, ...)
{
    char line[200];
    va_list list;
    va_start(list, format);
    int length = vsnprintf(line, sizeof line, format, list);
    va_end(list);
    if (write(STDOUT_FILENO, line, (size_t)length) != length)
        _exit(3);
}

static inline void thread_is(const char *name)
{
    if (strcmp(name, "main") != 0)
        prctl(PR_SET_NAME, name, 0, 0, 0);
    say("thread %s %ld\n", name, (long)syscall(SYS_gettid));
}

static inline void lock_is(const char *name, const void *address)
{
    say("lock %s %p\n", name, (void *)(size_t)address);
}

static inline void ready(int threads, int sleeping)
{
    say("ready %d %d %ld\n", threads, sleeping, (long)getpid());
}

static inline void skip(const char *why)
{
    say("skip %s\n", why);
    _exit(77);
}

/* Until so many have come. Nobody sleeps meanwhile, so whoever is seen asleep is where it hangs. */
static inline void wait_until_come(int *come, int all)
{
    while (__atomic_load_n(come, __ATOMIC_SEQ_CST) < all)
        sched_yield();
}

static inline void meet(int *come, int all)
{
    __atomic_add_fetch(come, 1, __ATOMIC_SEQ_CST);
    wait_until_come(come, all);
}

/* The main thread's end of the story: "idle" waits for a signal, as the loop of a server does, so
 * that not the whole process hangs; else it waits for one that hangs. */
static inline void stay(int idle, pthread_t other)
{
    if (!idle)
        pthread_join(other, NULL);
    for (;;)
        pause();
}

static inline pthread_t go(void *(*run)(void *), void *argument)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, argument) != 0)
        skip("no more threads");
    return thread;
}

#endif
