/* Interval timers. Whether one is armed only the process itself can ask; while it sleeps, the
 * command outside reads here whether one ever was (sources/inspect/judge/facts.c). Timers of
 * timer_create() are listed by the kernel. */
#include "sources/run/timers.h"

#include "sources/run/doubt.h"
#include "sources/run/export.h"
#include "sources/run/real.h"
#include "sources/run/watch.h"

#include <sys/time.h>
#include <unistd.h>

EXPORTED _Atomic uint32_t gordian_run_timers;

void timers_start(void)
{
    bool armed = doubt_timers() != POLICY_TIMERS_NONE; /* exec() leaves them armed */
    atomic_store(&gordian_run_timers, armed ? TIMERS_ARMED : TIMERS_RECORDED);
    atomic_store(&watch.at_death, doubt_at_death());
}

static void note_armed(void)
{
    thread_enter();
    atomic_store_explicit(&gordian_run_timers, TIMERS_ARMED, memory_order_relaxed);
}

WRAPPER(unsigned, alarm, (unsigned seconds))
{
    note_armed();
    return real.alarm(seconds);
}
EXPORT(alarm, V_OLDEST);

WRAPPER(useconds_t, ualarm, (useconds_t first, useconds_t interval))
{
    note_armed();
    return real.ualarm(first, interval);
}
EXPORT(ualarm, V_OLDEST);

WRAPPER(int, setitimer,
        (__itimer_which_t which, const struct itimerval *value, struct itimerval *old))
{
    note_armed();
    return real.setitimer(which, value, old);
}
EXPORT(setitimer, V_OLDEST);
