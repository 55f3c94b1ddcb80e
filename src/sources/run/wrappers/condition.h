/* Condition waits, shared by pthread_cond_ and cnd_. */
#pragma once

#include "sources/run/state/backtrace.h"

#include <pthread.h>

/* A wait that gives a mutex back and takes it again. `wait` does the real thing. */
struct condition_wait {
    int (*wait)(const struct condition_wait *call);
    void *condition;
    void *mutex;
    bool clocked; /* by `clock`, else by that of the condition */
    clockid_t clock;
    const struct timespec *until; /* NULL: without end */
    uint32_t through;             /* 0 or THROUGH_C11 */
};

/* The answer is the real one's. */
int condition_wait(const struct condition_wait *call, struct site site);

/* This thread is about to signal one. */
void condition_signalled(const void *condition);
