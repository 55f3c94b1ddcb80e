/* alarm(), ualarm() and setitimer() arm interval timers. */
#include "sources/run/judge/timers.h"
#include "sources/run/libc/export.h"
#include "sources/run/libc/real.h"
#include "sources/run/start/enter.h"

#include <sys/time.h>
#include <unistd.h>

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
