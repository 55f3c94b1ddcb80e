#include "sources/run/report/delivery.h"

#include "sources/run/report/reporter_launch.h"
#include "sources/run/state/system_call.h"

#include <signal.h>
#include <sys/resource.h>

/* Ends like abort(), with a core dump where enabled, but regardless of handlers. */
static __attribute__((noreturn)) void end_program(void)
{
    struct rlimit limit;
    if (sys_call(SYS_prlimit64, 0, RLIMIT_CORE, NULL, &limit) == 0 && limit.rlim_cur > 0) {
        struct sys_action action = {0};
        uint64_t abort_only = (uint64_t)1 << (SIGABRT - 1);
        sys_call(SYS_rt_sigaction, SIGABRT, &action, NULL, 8);
        sys_call(SYS_rt_sigprocmask, SIG_UNBLOCK, &abort_only, NULL, 8);
        sys_call(SYS_tgkill, watch.pid, sys_gettid(), SIGABRT);
    }
    for (;;)
        sys_call(SYS_exit_group, INCIDENT_EXIT_CODE);
}

static void count_finding(const struct notice *notice, bool actual)
{
    struct incident_tally *tally = watch.tally;
    bool ends = notice->action == INCIDENT_ABORT && watch.abort_likely;
    uint64_t *counter = notice->likely && !ends              ? &tally->likely
                        : actual                             ? &tally->deadlocks
                        : notice->kind == INCIDENT_POTENTIAL ? &tally->potentials
                        : notice->kind == INCIDENT_STALL     ? &tally->stalls
                                                             : NULL;
    if (notice->ignored)
        counter = &tally->suppressed;
    if (counter)
        __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

/* Starts the reporter, and applies its answer. */
static void ask_reporter(struct thread *t, struct notice *notice)
{
    if (t)
        t->inside++;
    enum incident_answer answer = launch_report(notice);
    if (t)
        inside_leave(t);
    notice->ignored = answer == INCIDENT_SUPPRESSED;
    notice->likely = notice->likely || answer == INCIDENT_DOUBTED;
    notice->doubted = answer == INCIDENT_LEFT || answer == INCIDENT_MOVED;
    if (answer == INCIDENT_MOVED)
        notice_forget(notice);
    else if (notice->ignored || notice->doubted || notice->likely)
        notice_answered(notice);
}

bool notice_deliver(struct thread *t, struct notice *notice)
{
    bool actual = notice->kind == INCIDENT_DEADLOCK || notice->kind == INCIDENT_OWNER_GONE;
    if (!notice->again) {
        ask_reporter(t, notice);
        if (!notice->doubted)
            count_finding(notice, actual);
    }
    if (!actual || notice->ignored || notice->doubted || (notice->likely && !watch.abort_likely))
        return false;
    if (notice->action == INCIDENT_ABORT)
        end_program();
    if (notice->action == INCIDENT_BREAK)
        __atomic_fetch_add(&watch.tally->broken, 1, __ATOMIC_RELAXED);
    return notice->action == INCIDENT_BREAK;
}
