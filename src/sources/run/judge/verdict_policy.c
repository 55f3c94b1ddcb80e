#include "sources/run/judge/verdict_policy.h"

#include <signal.h>
#include <string.h>

/* ------------------------------------------------------------------ the decision */

static const char why_lent[] =
    "another process runs in the same memory, and could end the deadlock";
static const char why_handler[] =
    "the program has signal handlers, and one of them could end the deadlock";
static const char why_core[] = "a core does not show which signals have handlers";
static const char why_timer[] =
    "a timer is armed (alarm, setitimer or timer_create), and its signal could end the deadlock";
static const char why_unasked[] = "it is unknown whether a timer is armed";
static const char why_ring[] =
    "a process of the deadlock has an io_uring, and one of its requests could end the wait";
static const char why_runs[] = "a thread that can reach the lock still runs, and could unlock it";
static const char why_shared[] =
    "other processes may share the lock's memory, and could release it";
static const char why_unlocks[] =
    "this program has unlocked locks of other threads before, and could do so again";
static const char why_signal[] = "a lock may be used as a signal here: another thread runs, and "
                                 "may be the one to unlock it";
static const char why_acquire[] = "the main thread of Python is part of the deadlock, and a signal "
                                  "interrupts its acquire()";
static const char why_evidence[] =
    "a holder is not stored in its lock, but found by other evidence";

__attribute__((visibility("hidden"))) const char policy_spares[] =
    "the program continues: it has signal handlers of its own, or an armed timer";

static struct policy likely_because(const char *why)
{
    return (struct policy){POLICY_LIKELY, false, why};
}

/* Some programs wait like this when they are idle. */
static bool may_be_idle(const struct policy_facts *facts)
{
    bool none_left = facts->argument == POLICY_NONE_LEFT;
    if (facts->parks || (none_left && facts->scheduled))
        return true;
    if (!facts->handlers)
        return false;
    return facts->reads || (none_left && (!facts->locked || facts->waits & POLICY_POSTED));
}

/* Returns whether a handler or a timer could end the wait, if there is one. */
static bool is_open(const struct policy_facts *facts)
{
    return facts->argument == POLICY_NONE_LEFT || facts->argument == POLICY_SELF ||
           facts->waits & (POLICY_POSTED | POLICY_CALL) || facts->handler_acted;
}

/* Returns why a signal could end the wait; NULL: it could not, as far as is known. */
static const char *signal_could_end(const struct policy_facts *facts)
{
    bool calls_only =
        facts->argument == POLICY_CYCLE && !(facts->waits & POLICY_POSTED) && !facts->handler_acted;
    if (facts->handlers && (!calls_only || facts->ends_calls))
        return why_handler;
    if (facts->timers == POLICY_TIMERS_ARMED)
        return why_timer;
    bool core = facts->unasked && facts->argument == POLICY_NONE_LEFT;
    return core && (!facts->locked || facts->waits & POLICY_POSTED) ? why_core : NULL;
}

/* Returns why another thread or process could end the wait; NULL: it could not. */
static const char *others_could_end(const struct policy_facts *facts)
{
    bool ended = facts->argument == POLICY_ENDED;
    return ended && facts->others_share                ? why_shared
           : ended && facts->others_run                ? why_runs
           : facts->waits & POLICY_CALL && facts->ring ? why_ring
           : facts->others_unlock                      ? why_unlocks
           : facts->as_signal                          ? why_signal
           : facts->waits & POLICY_ACQUIRE             ? why_acquire
           : facts->evidence                           ? why_evidence
                                                       : NULL;
}

struct policy policy_decide(const struct policy_facts *facts)
{
    if (may_be_idle(facts))
        return (struct policy){POLICY_NOTHING, false, NULL};
    if (facts->lent)
        return facts->argument == POLICY_NONE_LEFT ? (struct policy){POLICY_NOTHING, false, NULL}
                                                   : likely_because(why_lent);
    const char *why = is_open(facts) ? signal_could_end(facts) : NULL;
    if (!why)
        why = others_could_end(facts);
    if (!why && is_open(facts) && facts->timers == POLICY_TIMERS_UNKNOWN && !facts->unasked)
        why = why_unasked;
    if (why)
        return likely_because(why);
    return (struct policy){POLICY_PROVED, !facts->handlers && facts->timers == POLICY_TIMERS_NONE,
                           NULL};
}

bool policy_needs_timers(const struct policy_facts *facts, bool ends)
{
    struct policy_facts without = *facts, with = *facts;
    without.timers = POLICY_TIMERS_NONE;
    with.timers = POLICY_TIMERS_ARMED;
    struct policy one = policy_decide(&without), other = policy_decide(&with);
    return one.word != other.word || (ends && one.ends != other.ends);
}

/* ------------------------------------------------------------------ handlers that do not count */

#define BIT(number) (UINT64_C(1) << ((number)-1))
#define FAULTS                                                                                     \
    (BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGFPE) | BIT(SIGILL) | BIT(SIGTRAP) | BIT(SIGABRT) |        \
     BIT(SIGSYS))

uint64_t policy_aside(void)
{
    return FAULTS | BIT(32) | BIT(33);
}

/* Signals handled by known runtimes. A file belongs to a runtime if its name begins with this, and
 * no letter follows ("python3.11", "node", but not "nodes"). */
static const struct runtime {
    const char *file;
    bool schedules;
    uint64_t signals;
} runtimes[] = {
    /* For the signal dispatcher, for suspending threads, and for interruptible I/O. */
    {"libjvm.so", true,
     BIT(SIGHUP) | BIT(SIGINT) | BIT(SIGTERM) | BIT(SIGQUIT) | BIT(SIGUSR2) | BIT(SIGPIPE) |
         BIT(SIGXFSZ) | BIT(62)},
    /* KeyboardInterrupt. */
    {"python", false, BIT(SIGINT)},
    {"libpython", false, BIT(SIGINT)},
    /* For termination, the debugger, children and the window size: all go to the event loop. */
    {"node", false,
     BIT(SIGINT) | BIT(SIGTERM) | BIT(SIGHUP) | BIT(SIGUSR1) | BIT(SIGCHLD) | BIT(SIGWINCH)},
    {"nodejs", false,
     BIT(SIGINT) | BIT(SIGTERM) | BIT(SIGHUP) | BIT(SIGUSR1) | BIT(SIGCHLD) | BIT(SIGWINCH)},
    /* Sanitizers handle faults, which never count. */
    {"libasan", false, FAULTS},
    {"libtsan", false, FAULTS},
    {"libubsan", false, FAULTS},
    {"liblsan", false, FAULTS},
};

static const struct runtime *find_runtime(const char *file)
{
    for (size_t i = 0; i < sizeof runtimes / sizeof *runtimes; i++) {
        size_t length = strlen(runtimes[i].file);
        char next = strncmp(file, runtimes[i].file, length) == 0 ? file[length] : 'a';
        if (!((next >= 'a' && next <= 'z') || (next >= 'A' && next <= 'Z') || next == '_'))
            return &runtimes[i];
    }
    return NULL;
}

uint64_t policy_runtime(const char *file)
{
    const struct runtime *runtime = find_runtime(file);
    return runtime ? runtime->signals : 0;
}

bool policy_schedules(const char *file)
{
    const struct runtime *runtime = find_runtime(file);
    return runtime && runtime->schedules;
}

/* Go handles every signal it can, with SA_RESTART. */
uint64_t policy_go(void)
{
    return ~UINT64_C(0);
}
