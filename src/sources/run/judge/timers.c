#include "sources/run/judge/timers.h"

#include "sources/run/libc/export.h"
#include "sources/run/state/proc_files.h"
#include "sources/run/state/system_call.h"

#include <sys/prctl.h>

EXPORTED _Atomic uint32_t gordian_run_timers;

static bool is_timer_set(const uint64_t setting[4])
{
    return setting[2] || setting[3]; /* remaining time, after the interval */
}

/* Checks the timers of timer_create(), by their IDs in /proc/self/timers. */
static enum policy_timers created_timers(void)
{
    char text[4096];
    long length = read_small("/proc/self/timers", text, sizeof text);
    if (length < 0 || length >= (long)sizeof text - 1)
        return POLICY_TIMERS_UNKNOWN;
    text[length] = '\0';
    for (const char *at = text; *at; at++) {
        uint64_t setting[4] = {0};
        long number = 0;
        if (at[0] != 'I' || at[1] != 'D' || at[2] != ':')
            continue;
        for (at += 3; *at == ' '; at++)
            ;
        for (; *at >= '0' && *at <= '9'; at++)
            number = number * 10 + (*at - '0');
        if (sys_call(SYS_timer_gettime, number, setting) == 0 && is_timer_set(setting))
            return POLICY_TIMERS_ARMED;
    }
    return POLICY_TIMERS_NONE;
}

enum policy_timers timers_armed(void)
{
    if (watch.sandboxed) /* the state when the sandbox started */
        return watch.timers ? POLICY_TIMERS_ARMED : POLICY_TIMERS_NONE;
    for (int which = 0; which < 3; which++) { /* ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF */
        uint64_t setting[4] = {0};
        if (sys_call(SYS_getitimer, which, setting) != 0)
            return POLICY_TIMERS_UNKNOWN;
        if (is_timer_set(setting))
            return POLICY_TIMERS_ARMED;
    }
    return created_timers();
}

void timers_start(void)
{
    bool armed = timers_armed() != POLICY_TIMERS_NONE; /* exec() keeps timers armed */
    atomic_store(&gordian_run_timers, armed ? TIMERS_ARMED : TIMERS_RECORDED);
    /* The main process of `gordian run` receives a signal when the command ends, which it did not
     * request. */
    int signal = 0;
    atomic_store(&watch.at_death, sys_call(SYS_prctl, PR_GET_PDEATHSIG, &signal) == 0 && signal &&
                                      (uint64_t)sys_call(SYS_getppid) != watch.tally->command);
}
