/* Timers. Whether an interval timer is armed only the process itself can ask; while it sleeps, the
 * command outside reads here whether one ever was (sources/inspect/judge/facts.c). Timers of
 * timer_create() are listed by the kernel. */
#pragma once

#include "sources/run/judge/verdict_policy.h"

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

/* Is one armed? */
enum policy_timers timers_armed(void);

/* Asks for those that were armed before, and for a signal at the end of the parent. */
void timers_start(void);
