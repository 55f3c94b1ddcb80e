#include "sources/run/judge/verdict_facts.h"

#include "sources/run/graph/lock_copy.h"
#include "sources/run/graph/owner.h"
#include "sources/run/judge/timers.h"
#include "sources/run/libc/lock_layout.h"
#include "sources/run/locks/lock_registry.h"
#include "sources/run/state/proc_files.h"
#include "sources/run/state/system_call.h"
#include "sources/run/state/text.h"
#include "sources/run/threads/handler_acts.h"
#include "sources/run/threads/thread_table.h"

#include <signal.h>

/* ------------------------------------------------------------------ signal handlers */

/* Signals that have handlers of the program. */
struct caught {
    uint64_t signals;  /* bit n-1 */
    uint64_t restarts; /* subset with SA_RESTART */
    bool scheduled;    /* a runtime that schedules threads has a handler */
};

static void note_caught(struct caught *caught, int number)
{
    struct sys_action action = {0};
    struct region region;
    uint64_t bit = (uint64_t)1 << (number - 1);
    if (sys_call(SYS_rt_sigaction, number, NULL, &action, 8) != 0 ||
        action.handler == (uintptr_t)SIG_DFL || action.handler == (uintptr_t)SIG_IGN)
        return;
    /* The base name of the file that contains the handler; "": none. */
    uintptr_t code = action.handler;
    const char *name = maps_find(code, &region) ? region.path : "";
    for (const char *at = name; *at; at++)
        if (*at == '/')
            name = at + 1;
    const char *file = name;
    caught->scheduled = caught->scheduled || policy_schedules(file);
    if (policy_runtime(file) & bit)
        return;
    caught->signals |= bit;
    caught->restarts |= action.flags & SA_RESTART ? bit : 0;
}

/* Asks the kernel for each signal: this needs no descriptor, of which there may be none left. */
static struct caught caught_signals(void)
{
    struct caught caught = {0};
    uint64_t aside = policy_aside();
    if (watch.status_signal)
        aside |= (uint64_t)1 << (watch.status_signal - 1);
    if (watch.sandboxed) { /* system calls are forbidden: use the handlers seen so far */
        caught.signals = atomic_load(&watch.caught) & ~aside;
        return caught;
    }
    for (int number = 1; number <= 64; number++)
        if (!(aside >> (number - 1) & 1))
            note_caught(&caught, number);
    return caught;
}

/* Returns which of these signals some thread does not block. */
static uint64_t unblocked_signals(uint64_t caught)
{
    uint64_t open = 0;
    if (table_tasks() != atomic_load(&watch.live) + atomic_load(&watch.helpers))
        return caught; /* an unknown thread may accept them */
    uint32_t limit = atomic_load(&watch.thread_limit);
    for (uint32_t i = 0; i < limit && open != caught; i++) {
        const struct thread *t = &watch.threads[i];
        char path[64];
        if (!thread_is_live(t))
            continue;
        text_join(path, sizeof path, "/proc/self/task/", t->tid, "/status");
        uint64_t blocked = t->blocked;
        if (t != self && !read_line_hex(path, "SigBlk:", &blocked))
            return caught;
        if (policy_is_shielded(blocked))
            return caught;
        open |= caught & ~blocked;
    }
    return open;
}

static void note_handlers(struct policy_facts *facts)
{
    struct caught caught = caught_signals();
    uint64_t open = caught.signals ? unblocked_signals(caught.signals) : 0;
    facts->handlers = open;
    facts->ends_calls = open & ~caught.restarts;
    facts->scheduled = caught.scheduled;
}

/* ------------------------------------------------------------------ facts about the waits */

/* The waits of a component. */
struct waits {
    size_t count;
    bool anybody;   /* any thread could end it: conditions, barriers, posts */
    bool handled;   /* a semaphore that a handler has posted before */
    bool semaphore; /* a semaphore */
    bool locks;     /* a lock held by another member, or a barrier */
    bool held;      /* a lock held by another member */
    bool joins;     /* a join */
};

static struct waits sort_waits(const struct wait_snapshot *view, const gordian_part *part)
{
    struct waits waits = {0};
    for (size_t i = 0; i < part->process_count; i++) {
        if (part->processes[i] >= view->count)
            continue;
        const struct observed_wait *look = &view->looks[part->processes[i]];
        bool anybody = waits_for_anybody(look), semaphore = look->kind == INCIDENT_SEMAPHORE;
        bool join = look->kind == INCIDENT_THREAD_END;
        waits.count++;
        waits.anybody = waits.anybody || anybody;
        waits.semaphore = waits.semaphore || semaphore;
        waits.handled =
            waits.handled || (semaphore && lock_flags(look->lock) & LOCK_HANDLED) ||
            (semaphore && atomic_load_explicit(&watch.handlers_post, memory_order_relaxed));
        waits.joins = waits.joins || join;
        waits.held = waits.held || (!anybody && !join);
        waits.locks = waits.locks || (!anybody && !join) || look->kind == INCIDENT_BARRIER;
    }
    return waits;
}

/* Returns whether libc allows other threads to release this lock, although POSIX does not. */
static bool others_may_release(const struct observed_wait *look)
{
    union lock_copy copy;
    if (look->kind == INCIDENT_RWLOCK || look->kind == INCIDENT_SPIN)
        return true;
    if (look->kind != INCIDENT_MUTEX || !lock_copy(look->lock, look->kind, &copy))
        return false;
    uint32_t kind = mutex_kind(&copy.mutex);
    return !(kind & (KIND_ROBUST | KIND_INHERIT)) &&
           (kind & KIND_TYPE) != PTHREAD_MUTEX_ERRORCHECK_NP &&
           (kind & KIND_TYPE) != PTHREAD_MUTEX_RECURSIVE_NP;
}

/* Returns whether a thread runs, or waits for a lock that it can get. */
static bool any_thread_continues(struct wait_snapshot *view)
{
    for (uint32_t p = 0; p < view->count; p++)
        if (!wait_snapshot_is_dead(view, p))
            return true;
    return wait_snapshot_acts(view);
}

/* Returns whether other processes may share the lock. The lock's own flag is checked first, since
 * checking its mapping needs a descriptor. */
static bool may_be_shared(const struct observed_wait *look)
{
    union lock_copy copy;
    if (look->kind == INCIDENT_THREAD_END || !lock_copy(look->lock, look->kind, &copy))
        return false;
    if (look->kind == INCIDENT_MUTEX && !(mutex_named(&copy.mutex) & NAMED_SHARED))
        return false;
    if (look->kind == INCIDENT_RWLOCK && !(rwlock_named(&copy.rwlock) & NAMED_SHARED))
        return false;
    return maps_shared(look->lock);
}

/* Returns whether a thread outside the deadlock could act or, if the lock is shared, another
 * process. */
static bool outsiders_act(struct wait_snapshot *view, const gordian_part *part)
{
    if (any_thread_continues(view))
        return true;
    for (size_t i = 0; i < part->process_count; i++) {
        uint32_t process = part->processes[i];
        if (process < view->count && may_be_shared(&view->looks[process]))
            return true;
    }
    return false;
}

static struct policy_facts part_facts(struct wait_snapshot *view, const gordian_part *part)
{
    struct waits waits = sort_waits(view, part);
    /* The process is idle: it waits for a signal or the end of its parent only. There is no lock,
     * and either there is one thread, which no other could wake, or the process requested a signal
     * at its parent's end. */
    bool parks = waits.anybody && !waits.locks &&
                 (atomic_load(&watch.at_death) || table_tasks() - atomic_load(&watch.helpers) == 1);
    struct policy_facts facts = {
        .argument = waits.anybody                    ? POLICY_NONE_LEFT
                    : waits.held && waits.count == 1 ? POLICY_SELF
                                                     : POLICY_CYCLE,
        .waits = POLICY_FIRM | (waits.semaphore ? (unsigned)POLICY_POSTED : 0),
        .locked = waits.locks,
        .parks = parks,
        .handler_acted = waits.handled || atomic_load(&gordian_run_acted),
        .timers = timers_armed(),
        .lent = atomic_load(&watch.memory_lent),
    };
    note_handlers(&facts);
    bool as_signal = waits.held && (waits.count == 1 || waits.joins);
    bool strays = atomic_load(&watch.strays);
    bool given = false;
    for (size_t i = 0; i < part->process_count && (strays || as_signal) && !given; i++)
        given = part->processes[i] < view->count &&
                others_may_release(&view->looks[part->processes[i]]);
    if (given && outsiders_act(view, part)) {
        facts.others_unlock = strays;
        facts.as_signal = as_signal;
    }
    return facts;
}

struct policy verdict_of_part(struct wait_snapshot *view, const gordian_part *part)
{
    struct policy_facts facts = part_facts(view, part);
    return policy_decide(&facts);
}

struct policy verdict_of_ended_owner(struct wait_snapshot *view, const struct observed_wait *look)
{
    struct policy_facts facts = {
        .argument = POLICY_ENDED,
        .waits = POLICY_FIRM,
        .locked = true,
        .handler_acted = atomic_load(&gordian_run_acted),
        .timers = timers_armed(),
        .lent = atomic_load(&watch.memory_lent),
        .others_share = maps_shared(look->lock),
        .others_run = any_thread_continues(view),
    };
    note_handlers(&facts);
    return policy_decide(&facts);
}
