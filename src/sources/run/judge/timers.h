/* Timers. Only the process itself can ask whether an interval timer is armed. While the process
 * sleeps, `gordian inspect` reads here whether an interval timer was ever armed
 * (sources/inspect/judge/facts.c). The kernel lists timers of timer_create(). */
#pragma once

#include "sources/run/judge/verdict_policy.h"

#include <stdatomic.h>
#include <stdint.h>

/* Values of the variable below. */
enum {
    TIMERS_UNRECORDED, /* unknown: the library is off */
    TIMERS_RECORDED,   /* no interval timer was ever armed */
    TIMERS_ARMED,      /* one was armed, and may have expired */
};

/* Read from outside by this name. */
extern _Atomic uint32_t gordian_run_timers;

/* Returns whether a timer is armed. */
enum policy_timers timers_armed(void);

/* Records timers armed before, and a signal at the end of the parent. */
void timers_start(void);
