/* Finds the deadlock that a wait closes, and confirms it. */
#include "sources/run/judge/judge.h"

#include "sources/run/graph/activity.h"
#include "sources/run/graph/owner_chain.h"
#include "sources/run/graph/wait_snapshot.h"
#include "sources/run/judge/deadlock_incident.h"
#include "sources/run/judge/verdict_facts.h"
#include "sources/run/libc/lock_layout.h"
#include "sources/run/report/delivery.h"
#include "sources/run/report/long_wait.h"
#include "sources/run/state/guard.h"
#include "sources/run/state/system_call.h"
#include "sources/run/threads/held_locks.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

static struct guard guard;

void judge_fork(void)
{
    atomic_store(&guard.word, 0);
    atomic_store(&watch.at_death, false); /* it applies to the parent only */
    notice_fork();
}

/* ------------------------------------------------------------------ the verdict */

static bool in_part(const gordian_part *part, uint32_t process)
{
    for (size_t i = 0; i < part->process_count; i++)
        if (part->processes[i] == process)
            return true;
    return false;
}

/* Returns the component (deadlock) that thread `t` closed; without `t`, the first that was not
 * reported yet. NULL: none. */
static const gordian_part *find_new_part(const struct wait_snapshot *view, const struct thread *t)
{
    uint32_t process = t ? wait_snapshot_process(view, t) : GORDIAN_NONE;
    for (size_t i = 0; i < view->report.part_count; i++) {
        const gordian_part *part = &view->report.parts[i];
        if (in_part(part, view->gone))
            continue;
        if (t ? in_part(part, process) : !is_known_deadlock(view, part))
            return part;
    }
    return NULL;
}

/* Copies the observed waits of the members. */
static size_t copy_member_waits(const struct wait_snapshot *view, const gordian_part *part,
                                struct observed_wait *looks)
{
    size_t count = 0;
    for (size_t i = 0; i < part->process_count; i++)
        if (part->processes[i] < view->count)
            looks[count++] = view->looks[part->processes[i]];
    return count;
}

enum verdict {
    VERDICT_NOTHING,
    VERDICT_AGAIN, /* a thread has moved, or is not asleep yet: look again */
    VERDICT_FOUND,
    VERDICT_DOUBTED, /* not proved, and too recent to report: look again later */
};

#define PATIENCE_NS 2000000u /* while the guard is held */

/* Checks that all threads are in the same wait, and asleep. A thread that has just published its
 * wait may need a moment to fall asleep. */
static enum verdict settled_verdict(const struct observed_wait *looks, size_t count)
{
    uint64_t give_up = sys_now() + PATIENCE_NS;
    for (size_t i = 0; i < count; i++) {
        struct thread *t = looks[i].thread;
        uint32_t kind = looks[i].kind;
        uint64_t spun = atomic_load(&t->spun);
        enum sleep sleep = SLEEP_NO;
        while (t != self && sleep != SLEEP_YES) {
            if (!wait_is_same(&looks[i]))
                return VERDICT_AGAIN;
            if (atomic_load(&t->looking) != LOOKING_DONE)
                return relies_on(t) ? VERDICT_NOTHING : VERDICT_AGAIN;
            /* A spinning thread shows that it still spins: then a signal sent to it has arrived,
             * and has not made it leave. */
            if (kind == INCIDENT_SPIN)
                sleep = atomic_load(&t->spun) - spun >= 2 ? SLEEP_YES : SLEEP_NO;
            else
                sleep = is_asleep(t, NULL);
            if (sleep == SLEEP_UNKNOWN) {
                if (kind != INCIDENT_MUTEX && kind != INCIDENT_RWLOCK)
                    return VERDICT_NOTHING;
                sleep = SLEEP_YES; /* the owner in the lock is sufficient */
            }
            if (sleep == SLEEP_NO && sys_now() > give_up)
                return VERDICT_AGAIN;
            if (sleep == SLEEP_NO)
                sys_sleep(50000);
        }
    }
    return VERDICT_FOUND;
}

/* Returns whether all members are in the new snapshot, in the same waits, in one component. */
static bool is_same_part(const struct wait_snapshot *view, const gordian_part *part,
                         const struct observed_wait *looks, size_t count)
{
    size_t found = 0;
    for (size_t i = 0; i < part->process_count; i++) {
        if (part->processes[i] >= view->count)
            continue;
        const struct observed_wait *look = &view->looks[part->processes[i]];
        for (size_t k = 0; k < count; k++)
            found += looks[k].thread == look->thread && looks[k].generation == look->generation;
    }
    return found == count && part->process_count == count;
}

/* Checks that the members are asleep. If the snapshot claims that no other thread runs, checks all
 * other waiters as well: a thread that got its lock before it fell asleep looks like a thread that
 * is about to sleep. */
static enum verdict all_settled(const struct wait_snapshot *view, const struct observed_wait *looks,
                                size_t count)
{
    enum verdict verdict = settled_verdict(looks, count);
    return verdict == VERDICT_FOUND && view->asked ? settled_verdict(view->looks, view->count)
                                                   : verdict;
}

/* Returns the component closed by this wait, or by the end of a thread. If the argument is that no
 * thread is left to act, it may be a component of other threads: this one was the last that could
 * act. */
static const gordian_part *closed_part(const struct wait_snapshot *view, const struct thread *t)
{
    const gordian_part *part = find_new_part(view, t);
    return part || !view->asked || view->acts ? part : find_new_part(view, NULL);
}

/* Returns whether the wait can be interrupted and repeated unnoticed. A handler interrupts a timed
 * semaphore wait, but not one without a time limit. */
static bool can_look_again(const struct thread *t)
{
    const struct wait *wait = &t->wait;
    if (wait->kind == INCIDENT_MUTEX)
        return !(mutex_kind((const pthread_mutex_t *)wait->lock) & KIND_INHERIT);
    if (wait->kind == INCIDENT_THREAD_END)
        return !(wait->flags & THROUGH_C11);
    return wait->kind == INCIDENT_RWLOCK || wait->kind == INCIDENT_SPIN;
}

/* Takes two snapshots, with all members asleep in between. Leaves the second one in *view, and the
 * component in *part. */
static enum verdict confirm_part(struct wait_snapshot *view, struct arena *arena,
                                 const struct thread *t, const struct thread *ending,
                                 const gordian_part **part)
{
    *part = closed_part(view, t);
    if (!*part || verdict_of_part(view, *part).word == POLICY_NOTHING)
        return VERDICT_NOTHING;
    struct observed_wait *looks = arena_take(arena, (*part)->process_count * sizeof *looks);
    if (!looks)
        return VERDICT_NOTHING;
    size_t count = copy_member_waits(view, *part, looks);
    enum verdict verdict = all_settled(view, looks, count);
    if (verdict != VERDICT_FOUND)
        return verdict;
    if (!wait_snapshot_take(view, arena, ending))
        return VERDICT_NOTHING;
    *part = closed_part(view, t);
    if (!*part || !is_same_part(view, *part, looks, count))
        return VERDICT_AGAIN;
    return all_settled(view, looks, count);
}

/* Returns whether the thread waits for a lock of an ended owner, not behind other threads. */
static bool confirm_ended_owner(struct wait_snapshot *view, struct arena *arena,
                                const struct thread *t)
{
    for (int look = 0; look < 2; look++) {
        uint32_t process = wait_snapshot_process(view, t);
        if (process == GORDIAN_NONE || view->gone == GORDIAN_NONE ||
            !wait_snapshot_is_dead(view, process) || !wait_snapshot_owner_ended(view, process))
            return false;
        if (look == 0 && (sys_sleep(100000), !wait_snapshot_take(view, arena, view->ending)))
            return false;
    }
    return true;
}

/* Returns a thread that waits for a lock of an ended owner, with `t` blocked behind it; NULL: none.
 */
static struct thread *find_behind_ended(const struct wait_snapshot *view, const struct thread *t)
{
    uint32_t process = wait_snapshot_process(view, t);
    if (process == GORDIAN_NONE || view->gone == GORDIAN_NONE ||
        !wait_snapshot_is_dead(view, process))
        return NULL;
    for (uint32_t p = 0; p < view->count; p++)
        if (p != process && wait_snapshot_is_dead(view, p) && wait_snapshot_owner_ended(view, p))
            return view->looks[p].thread;
    return NULL;
}

/* ------------------------------------------------------------------ certainty */

#define LIKELY_NS 2000000000u /* minimum duration of a likely deadlock before it is reported */
#define LOOK_MOST (2 * LOOK_AGAIN_NS) /* longest duration that one look adds */

/* Returns whether the doubtful wait has lasted long enough to report it. Only time counts in which
 * this thread could look: if the machine stands still, or has no time for this program, the threads
 * that could end the wait stand still as well. Waits that cannot be repeated are reported at once.
 */
static bool has_lasted(struct thread *t)
{
    uint64_t now = sys_now(), generation = atomic_load(&t->generation);
    if (!can_look_again(t))
        return true;
    if (t->doubted != generation) {
        t->doubted = generation;
        t->likely_for = 0;
    } else {
        uint64_t passed = now - t->likely_at;
        t->likely_for += passed < LOOK_MOST ? passed : LOOK_MOST;
    }
    t->likely_at = now;
    return t->likely_for >= LIKELY_NS;
}

/* A deadlock that a handler or a timer could still end must last before it is reported, even if
 * proved. `t`: the waiting thread; NULL: a thread ends. Only the thread itself knows how long its
 * wait has lasted. */
static enum verdict weigh_duration(const struct policy *policy, struct thread *t)
{
    if (policy->word == POLICY_NOTHING || (policy->word == POLICY_LIKELY && t && t != self))
        return VERDICT_NOTHING;
    return !policy->ends && t && t == self && !has_lasted(t) ? VERDICT_DOUBTED : VERDICT_FOUND;
}

static enum verdict weigh_deadlock(struct wait_snapshot *view, const gordian_part *part,
                                   struct thread *t, struct notice *notice)
{
    struct policy policy = verdict_of_part(view, part);
    enum verdict verdict = weigh_duration(&policy, t);
    bool member = t && in_part(part, wait_snapshot_process(view, t));
    if (verdict == VERDICT_FOUND)
        incident_of_deadlock(view, part, member ? t : NULL, &policy, notice);
    return verdict;
}

static enum verdict weigh_ended_owner(struct wait_snapshot *view, struct thread *t,
                                      struct notice *notice)
{
    struct policy policy =
        verdict_of_ended_owner(view, &view->looks[wait_snapshot_process(view, t)]);
    enum verdict verdict = weigh_duration(&policy, t);
    if (verdict == VERDICT_FOUND)
        incident_of_ended_owner(view, t, &policy, notice);
    return verdict;
}

/* While other threads run, the lock of an ended thread may still be released. Once `t`, the last of
 * them, is blocked behind it, no thread is left. */
static enum verdict find_ended_owner(struct wait_snapshot *view, struct arena *arena,
                                     struct thread *t, struct notice *notice)
{
    if (confirm_ended_owner(view, arena, t))
        return weigh_ended_owner(view, t, notice);
    struct thread *other = find_behind_ended(view, t);
    return other && confirm_ended_owner(view, arena, other) ? weigh_ended_owner(view, other, notice)
                                                            : VERDICT_NOTHING;
}

/* ------------------------------------------------------------------ entry points */

/* Judges one wait or, when a thread ends (`t` NULL), all waits. */
static enum verdict find_once(struct thread *t, struct thread *ending, struct notice *notice)
{
    static struct arena arena; /* used under the guard */
    struct wait_snapshot view;
    if (!arena.base && !arena_open(&arena))
        return VERDICT_NOTHING;
    const gordian_part *part = NULL;
    enum verdict verdict = VERDICT_NOTHING;
    if (wait_snapshot_take(&view, &arena, ending) && view.report.deadlocked_count) {
        verdict = confirm_part(&view, &arena, t, ending, &part);
        if (verdict == VERDICT_FOUND)
            verdict = weigh_deadlock(&view, part, t, notice);
        else if (verdict == VERDICT_NOTHING && t)
            verdict = find_ended_owner(&view, &arena, t, notice);
    }
    arena_reset(&arena);
    return verdict;
}

#define GIVE_UP_NS 10000000000u

/* Repeats until nothing moves. `by`: the calling thread. */
static enum verdict find_notice(struct thread *by, struct thread *t, struct thread *ending,
                                struct notice *notice)
{
    uint64_t give_up = sys_now() + GIVE_UP_NS, pause = 50000;
    for (;;) {
        sigset_t old;
        guard_enter(by, &guard, &old);
        memcpy(&by->blocked, &old, sizeof by->blocked);
        enum verdict verdict = find_once(t, ending, notice);
        guard_leave(by, &guard, &old);
        if (verdict != VERDICT_AGAIN || sys_now() > give_up)
            return verdict;
        sys_sleep(pause);
        pause = pause < 2000000 ? pause * 2 : pause;
    }
}

/* Undo handler: the thread was cancelled, so its wait is over. */
static void forget_notice(void *notice)
{
    notice_forget(notice);
    if (self)
        atomic_store(&self->looking, LOOKING_DONE);
}

/* If the thread leaves the wait before its finding is reported, the finding is dropped. */
static __attribute__((noinline)) enum judgement judge_fully(struct thread *t)
{
    struct notice notice = {.fd = -1};
    struct undo undo;
    undo_push(&undo, forget_notice, &notice);
    enum verdict verdict = find_notice(t, t, NULL, &notice);
    /* A cancelled thread that is about to reach a cancellation point does not wait. Acting on the
     * cancellation is the only way to find out, and the wait would do it at once. */
    uint32_t kind = t->wait.kind;
    if (verdict == VERDICT_FOUND &&
        (kind == INCIDENT_SEMAPHORE || kind == INCIDENT_CONDITION || kind == INCIDENT_THREAD_END))
        pthread_testcancel();
    undo_pop(&undo);
    if (verdict != VERDICT_FOUND)
        return verdict == VERDICT_DOUBTED ? JUDGE_AGAIN : JUDGE_WAIT;
    return notice_deliver(t, &notice) ? JUDGE_BREAK : JUDGE_WAIT;
}

#define MOST_LOOKS 4

static enum judgement look_once(struct thread *t, uint32_t look)
{
    t->inside++;
    enum trail trail = follow_owners(t);
    inside_leave(t);
    if (trail == TRAIL_STUCK)
        return judge_fully(t);
    return trail == TRAIL_WAKES && look < MOST_LOOKS ? JUDGE_AGAIN : JUDGE_WAIT;
}

/* wait_publish has set `looking`, so that the wait is never visible without it. */
enum judgement judge_wait(struct thread *t, uint32_t look)
{
    int saved = errno;
    enum judgement judgement = JUDGE_WAIT;
    uint32_t state = LOOKING_AGAIN;
    if (watch.stall_ns)
        long_wait_watch();
    if (look > 0)
        atomic_store(&t->looking, LOOKING);
    while (state == LOOKING_AGAIN && judgement == JUDGE_WAIT &&
           atomic_load_explicit(&watch.state, memory_order_relaxed) == WATCH_ON) {
        judgement = look_once(t, look);
        /* The number of sleeps so far: other threads compare it to see whether this one has slept
         * since. */
        struct rusage usage;
        if (t->wait.kind == INCIDENT_CONDITION || t->wait.kind == INCIDENT_SEMAPHORE ||
            t->wait.kind == INCIDENT_BARRIER)
            t->slept =
                sys_call(SYS_getrusage, RUSAGE_THREAD, &usage) == 0 ? (uint32_t)usage.ru_nvcsw : 0;
        state = atomic_exchange(&t->looking, LOOKING_DONE);
        if (state == LOOKING_AGAIN && judgement == JUDGE_WAIT)
            atomic_store(&t->looking, LOOKING);
    }
    if (state != LOOKING)
        atomic_store(&t->looking, LOOKING_DONE);
    errno = saved;
    return judgement;
}

/* Judges the waits for locks that the ending thread leaves locked. */
static void judge_orphans(struct thread *t)
{
    uint32_t limit = atomic_load(&watch.thread_limit);
    for (uint32_t i = 0; i < limit; i++) {
        struct thread *other = &watch.threads[i];
        struct observed_wait look;
        if (other == t || !observe_wait(other, &look) || (look.flags & INCIDENT_TIMED) ||
            held_find(t, look.lock) == UINT32_MAX)
            continue;
        struct notice notice;
        if (find_notice(t, other, t, &notice) == VERDICT_FOUND)
            notice_deliver(t, &notice);
    }
}

void judge_thread_end(struct thread *t)
{
    if (atomic_load_explicit(&watch.state, memory_order_relaxed) != WATCH_ON)
        return;
    if (t->used)
        judge_orphans(t);
    if (atomic_load(&watch.live) < 2 || any_thread_runs(t))
        return;
    struct notice notice;
    if (find_notice(t, NULL, t, &notice) == VERDICT_FOUND)
        notice_deliver(t, &notice);
}
