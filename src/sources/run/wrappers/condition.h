/* Condition waits, for pthread_cond_ and cnd_. */
#pragma once

#include "sources/run/state/backtrace.h"

#include <pthread.h>

/* A wait that releases a mutex and retakes it. `wait` calls libc. */
struct condition_wait {
    int (*wait)(const struct condition_wait *call);
    void *condition;
    void *mutex;
    bool clocked; /* uses `clock` instead of the condition's */
    clockid_t clock;
    const struct timespec *until; /* NULL: no time limit */
    uint32_t through;             /* 0 or THROUGH_C11 */
};

/* Returns the result of libc. */
int condition_wait(const struct condition_wait *call, struct site site);

/* Called before this thread signals a condition. */
void condition_signalled(const void *condition);
