#ifndef GORDIAN_SOURCES_RUN_TIMERS_H
#define GORDIAN_SOURCES_RUN_TIMERS_H

#include <stdatomic.h>
#include <stdint.h>

/* What the variable below says. */
enum {
    TIMERS_UNRECORDED, /* nothing: the library is off */
    TIMERS_RECORDED,   /* no interval timer was armed so far */
    TIMERS_ARMED,      /* one was, and may be over */
};

/* Read from outside, by this name. */
extern _Atomic uint32_t gordian_run_timers;

void timers_start(void);

#endif
