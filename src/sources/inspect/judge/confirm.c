#include "sources/inspect/judge/confirm.h"

#include "foundation/base/clock.h"
#include "foundation/base/memory.h"
#include "sources/inspect/decoders/glibc.h"
#include "sources/inspect/judge/facts.h"
#include "sources/inspect/target/system_calls.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ------------------------------------------------------------------ asleep in the lock */

/* Returns whether the thread sleeps in a futex of this lock without a time limit. */
static bool sleeps_in(const struct report *report, const struct sleep_call *call,
                      const struct report_lock *lock)
{
    static const uint8_t sizes[] = {
        [INCIDENT_MUTEX] = sizeof(pthread_mutex_t),
        [INCIDENT_RWLOCK] = sizeof(pthread_rwlock_t),
        [INCIDENT_SEMAPHORE] = sizeof(sem_t),
        [INCIDENT_CONDITION] = sizeof(pthread_cond_t),
        [INCIDENT_BARRIER] = sizeof(pthread_barrier_t),
    };
    uint32_t kind = lock->raw.kind;
    if (call->kind != CALL_FUTEX || call->timed)
        return false;
    if (kind != INCIDENT_THREAD_END)
        return kind < sizeof sizes && call->address - lock->raw.address < sizes[kind];
    return lock->raw.target != INCIDENT_NONE &&
           call->value == report->threads[lock->raw.target].raw.tid;
}

/* Waits that poll are not visible in the kernel. */
static bool waits_here(const struct report *report, const struct target *target,
                       const struct target_thread *thread, const struct report_edge *wait)
{
    struct sleep_call call;
    const struct report_lock *lock = &report->locks[wait->raw.lock];
    if (thread->tid == report->head.teller || lock->raw.kind == INCIDENT_SPIN)
        return true;
    return sleep_call(target, thread, &call) && sleeps_in(report, &call, lock);
}

/* ------------------------------------------------------------------ the owner */

/* Returns whether the lock still names this owner. */
static bool holds_still(const struct report *report, struct target *target,
                        const struct report_edge *hold)
{
    const struct report_lock *lock = &report->locks[hold->raw.lock];
    uint32_t tid = report->threads[hold->raw.thread].raw.tid;
    if (hold->raw.mode != INCIDENT_EXCLUSIVE || (hold->raw.flags & INCIDENT_COULD))
        return true;
    if (lock->raw.kind == INCIDENT_MUTEX) {
        struct glibc_mutex mutex;
        if (!target_read_all(target, lock->raw.address, &mutex, sizeof mutex))
            return false;
        bool in_word = mutex.kind & (GLIBC_ROBUST | GLIBC_INHERIT);
        return (in_word ? mutex.lock & GLIBC_TID : mutex.owner) == tid;
    }
    struct glibc_rwlock rwlock;
    return lock->raw.kind != INCIDENT_RWLOCK ||
           (target_read_all(target, lock->raw.address, &rwlock, sizeof rwlock) &&
            rwlock.writer == tid);
}

/* Returns whether an owner that is reported to have ended does not exist. */
static bool is_gone(const struct report_thread *thread, const struct target *target)
{
    char path[64];
    if (!(thread->raw.flags & INCIDENT_ENDED))
        return true;
    snprintf(path, sizeof path, "/proc/%u", thread->raw.tid);
    bool foreign = thread->raw.flags & INCIDENT_FOREIGN;
    return !target_thread(target, thread->raw.tid) && !(foreign && access(path, F_OK) == 0);
}

/* ------------------------------------------------------------------ two listings */

/* Returns whether the claim matches the last listing. */
static bool stands_now(const struct report *report, struct target *target)
{
    for (size_t i = 0; i < report->witness_count; i++) {
        const struct report_edge *edge = &report->edges[i];
        const struct report_thread *thread = &report->threads[edge->raw.thread];
        const struct target_thread *there = target_thread(target, thread->raw.tid);
        if (!is_gone(thread, target))
            return false;
        if (edge->raw.flags & INCIDENT_WAITS) {
            if (!there || !waits_here(report, target, there, edge))
                return false;
        } else if (!holds_still(report, target, edge)) {
            return false;
        }
    }
    return true;
}

/* Returns the total number of context switches of the waiters. */
static uint64_t count_switches(const struct report *report, const struct target *target)
{
    uint64_t switches = 0;
    for (size_t i = 0; i < report->witness_count; i++) {
        const struct report_edge *edge = &report->edges[i];
        uint32_t tid = report->threads[edge->raw.thread].raw.tid;
        const struct target_thread *there = target_thread(target, tid);
        bool spins = report->locks[edge->raw.lock].raw.kind == INCIDENT_SPIN;
        if ((edge->raw.flags & INCIDENT_WAITS) && there && tid != report->head.teller && !spins)
            switches += there->switches;
    }
    return switches;
}

/* Lists the threads twice. The claim stands if no waiter has moved, and the locks match it both
 * times. */
static enum confirm stands_twice(const struct report *report, struct target *target,
                                 gordian_error *error)
{
    if (target_list(target, error) != GORDIAN_OK)
        return CONFIRM_BLIND;
    uint64_t before = count_switches(report, target);
    bool stands = stands_now(report, target);
    if (target_list(target, error) != GORDIAN_OK)
        return CONFIRM_BLIND;
    return stands && stands_now(report, target) && count_switches(report, target) == before
               ? CONFIRM_STANDS
               : CONFIRM_MOVED;
}

/* ------------------------------------------------------------------ threads that could still act
 */

static bool is_listed(const struct report *report, uint32_t tid)
{
    if (tid == report->head.teller || tid == report->head.helper)
        return true;
    for (size_t i = 0; i < report->thread_count; i++)
        if (report->threads[i].raw.tid == tid && report->threads[i].raw.wait != INCIDENT_NONE)
            return true;
    return false;
}

static bool is_posted(const struct report *report)
{
    for (size_t i = 0; i < report->witness_count; i++)
        if ((report->edges[i].raw.flags & INCIDENT_WAITS) &&
            report->locks[report->edges[i].raw.lock].raw.kind == INCIDENT_SEMAPHORE)
            return true;
    return false;
}

/* Python builds locks, events and everything else on semaphores. The Python decoder
 * (sources/inspect/decoders/python.c) knows their holders, a watcher of semaphores does not. */
static bool is_python(const struct target *target)
{
    bool found = false;
    for (size_t i = 0; i < target->mapping_count && !found; i++) {
        const char *name = path_tail(target->mappings[i].path);
        found = strncmp(name, "python", 6) == 0 || strncmp(name, "libpython", 9) == 0;
    }
    return found;
}

static enum confirm weigh_others(const struct report *report, const struct target *target,
                                 char *why, size_t size)
{
    if (is_posted(report) && is_python(target))
        return CONFIRM_LEFT;
    if (is_posted(report) && facts_handlers(target)) {
        snprintf(why, size, "the program has signal handlers, and one may post a semaphore");
        return CONFIRM_DOUBTED;
    }
    for (size_t i = 0; i < target->thread_count && report_has_open_wait(report); i++)
        if (!is_listed(report, target->threads[i].tid)) {
            snprintf(why, size, "thread %u is outside the deadlock, and could still act",
                     target->threads[i].tid);
            return CONFIRM_DOUBTED;
        }
    return CONFIRM_STANDS;
}

enum confirm inspect_confirm(const struct report *report, uint64_t patience_ns, char *why,
                             size_t size)
{
    struct target *target;
    gordian_error error = {0};
    enum confirm verdict = CONFIRM_BLIND;
    uint64_t until = clock_ns() + patience_ns;
    why[0] = '\0';
    if (target_open_live(&target, report->head.pid, &error) == GORDIAN_OK) {
        for (;;) {
            verdict = stands_twice(report, target, &error);
            if (verdict == CONFIRM_STANDS)
                verdict = weigh_others(report, target, why, size);
            bool changes = verdict == CONFIRM_MOVED || verdict == CONFIRM_DOUBTED;
            if (!changes || clock_ns() > until)
                break;
            nanosleep(&(struct timespec){0, 5000000}, NULL);
        }
        target_close(target);
    }
    if (verdict == CONFIRM_BLIND)
        snprintf(why, size, "%s", error.message);
    return verdict;
}
