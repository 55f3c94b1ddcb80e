/* What src/engines/detect/shared.c is compiled with for one of the tests: now and then it lets
 * another thread have the core. */
#ifndef GORDIAN_TESTS_MEANWHILE_H
#define GORDIAN_TESTS_MEANWHILE_H

#include <sched.h>

static inline void let_others_in(void)
{
    static _Thread_local unsigned state;
    state = state * 1664525u + 1013904223u;
    if (state >> 27 == 0)
        sched_yield();
}

#define SHARED_MEANWHILE() let_others_in()

#endif
