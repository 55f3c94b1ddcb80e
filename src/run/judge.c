/* From a suspicion to a verdict. */
#include "run/judge.h"

#include "run/finding.h"
#include "run/guard.h"
#include "run/stall.h"
#include "run/sys.h"
#include "run/view.h"

#include <signal.h>
#include <string.h>

static struct guard guard;

void judge_fork(void)
{
    atomic_store(&guard.word, 0);
    finding_fork();
}

/* ------------------------------------------------------------------ the verdict */

static bool in_part(const gordian_part *part, uint32_t process)
{
    for (size_t i = 0; i < part->process_count; i++)
        if (part->processes[i] == process)
            return true;
    return false;
}

/* The part of the deadlock that thread `t` closed; with none given, the first that was not told
 * yet. NULL: none. */
static const gordian_part *find_part(const struct view *view, const struct thread *t)
{
    uint32_t process = t ? view_process(view, t) : GORDIAN_NONE;
    for (size_t i = 0; i < view->report.part_count; i++) {
        const gordian_part *part = &view->report.parts[i];
        if (in_part(part, view->gone))
            continue;
        if (t ? in_part(part, process) : !finding_known(view, part))
            return part;
    }
    return NULL;
}

/* Those of a part, as they were seen. */
static size_t members(const struct view *view, const gordian_part *part, struct look *looks)
{
    size_t count = 0;
    for (size_t i = 0; i < part->process_count; i++)
        if (part->processes[i] < view->count)
            looks[count++] = view->looks[part->processes[i]];
    return count;
}

/* Every one of them still in the same wait, and asleep. Somebody who has just said that he will
 * wait may need a moment to get there; if he does not, he does not wait. */
static bool settled(const struct look *looks, size_t count)
{
    uint64_t give_up = sys_now() + 2000000000u, pause = 50000;
    for (size_t i = 0; i < count; i++) {
        const struct look *look = &looks[i];
        if (look->thread == self || look->kind == INCIDENT_SPIN)
            continue;
        for (;;) {
            if (!look_holds(look))
                return false;
            enum sleep sleep = is_asleep(look->thread, NULL);
            if (sleep == SLEEP_YES)
                break;
            if (sleep == SLEEP_UNKNOWN &&
                (look->kind == INCIDENT_MUTEX || look->kind == INCIDENT_RWLOCK))
                break; /* the owner's mark alone says enough */
            if (sleep == SLEEP_UNKNOWN || sys_now() > give_up)
                return false;
            sys_sleep(pause);
            pause = pause < 2000000 ? pause * 2 : pause;
        }
    }
    return true;
}

/* All of them seen again, in the same waits, in one part. */
static bool same_part(const struct view *view, const gordian_part *part, const struct look *looks,
                      size_t count)
{
    size_t found = 0;
    for (size_t i = 0; i < part->process_count; i++) {
        if (part->processes[i] >= view->count)
            continue;
        const struct look *look = &view->looks[part->processes[i]];
        for (size_t k = 0; k < count; k++)
            found += looks[k].thread == look->thread && looks[k].generation == look->generation;
    }
    return found == count && part->process_count == count;
}

/* Handlers of signals could still wake somebody. Where all wait on conditions only, that is how
 * some programs idle; but a lock held by one of them and wanted by another nobody's handler gives
 * back. */
static bool may_be_idle(const struct view *view, const gordian_part *part)
{
    bool anybody = false;
    for (size_t i = 0; i < part->process_count; i++) {
        if (part->processes[i] >= view->count)
            continue;
        const struct look *look = &view->looks[part->processes[i]];
        if (for_anybody(look))
            anybody = true;
        else if (look->kind != INCIDENT_THREAD_END)
            return false;
    }
    return anybody && finding_handlers();
}

/* Looks, lets things settle, looks again. The view of the second look is left in *view. */
static const gordian_part *confirm(struct view *view, struct arena *arena, const struct thread *t,
                                   const struct thread *ending)
{
    const gordian_part *part = find_part(view, t);
    if (!part || may_be_idle(view, part))
        return NULL;
    struct look *looks = arena_take(arena, part->process_count * sizeof *looks);
    if (!looks)
        return NULL;
    size_t count = members(view, part, looks);
    if (!settled(looks, count) || !view_take(view, arena, ending))
        return NULL;
    part = find_part(view, t);
    return part && same_part(view, part, looks, count) && settled(looks, count) ? part : NULL;
}

/* Waits for something whose owner is gone, itself and not behind others. */
static bool confirm_gone(struct view *view, struct arena *arena, const struct thread *t)
{
    for (int look = 0; look < 2; look++) {
        uint32_t process = view_process(view, t);
        if (process == GORDIAN_NONE || view->gone == GORDIAN_NONE || !view_is_dead(view, process))
            return false;
        if (!view_owner_gone(view, process))
            return false;
        if (look == 0 && (sys_sleep(100000), !view_take(view, arena, view->ending)))
            return false;
    }
    return true;
}

/* ------------------------------------------------------------------ in and out */

/* Judges a wait, or, when a thread ends (`t` NULL), everybody's. */
static bool find(struct thread *t, struct thread *ending, struct notice *notice)
{
    static struct arena arena; /* the guard's */
    struct view view;
    if (!arena.base && !arena_open(&arena))
        return false;
    bool found = false;
    if (view_take(&view, &arena, ending) && view.report.deadlocked_count) {
        const gordian_part *part = confirm(&view, &arena, t, ending);
        found = part || (t && confirm_gone(&view, &arena, t));
        if (part)
            finding_deadlock(&view, part, t, notice);
        else if (found)
            finding_gone(&view, t, notice);
    }
    arena_reset(&arena);
    return found;
}

static void forget(void *notice)
{
    finding_forget(notice);
}

/* One who has been cancelled and is about to reach a cancellation point does not wait. There is no
 * way to ask but to act on it, as the wait itself would at once. */
static void end_if_cancelled(const struct thread *t, struct notice *notice)
{
    if (t->wait.kind != INCIDENT_SEMAPHORE && t->wait.kind != INCIDENT_CONDITION &&
        t->wait.kind != INCIDENT_THREAD_END)
        return;
    pthread_cleanup_push(forget, notice);
    pthread_testcancel();
    pthread_cleanup_pop(0);
}

static __attribute__((noinline)) enum judgement judge_fully(struct thread *t)
{
    struct notice notice;
    sigset_t old;
    guard_enter(t, &guard, &old);
    bool found = find(t, NULL, &notice);
    guard_leave(t, &guard, &old);
    if (!found)
        return JUDGE_WAIT;
    end_if_cancelled(t, &notice);
    return finding_tell(t, &notice) ? JUDGE_BREAK : JUDGE_WAIT;
}

#define MOST_LOOKS 4

enum judgement judge_wait(struct thread *t, uint32_t look)
{
    if (atomic_load_explicit(&watch.state, memory_order_relaxed) != WATCH_ON)
        return JUDGE_WAIT;
    int saved = errno;
    if (watch.stall_ns)
        stall_wake();
    t->inside++;
    enum trail trail = follow(t);
    inside_leave(t);
    enum judgement judgement = JUDGE_WAIT;
    if (trail == TRAIL_STUCK)
        judgement = judge_fully(t);
    else if (trail == TRAIL_WAKES && look < MOST_LOOKS)
        judgement = JUDGE_AGAIN;
    errno = saved;
    return judgement;
}

/* Whoever waits for what this thread leaves behind waits for ever. */
static void judge_orphans(struct thread *t)
{
    uint32_t limit = atomic_load(&watch.thread_limit);
    for (uint32_t i = 0; i < limit; i++) {
        struct thread *other = &watch.threads[i];
        struct look look;
        if (other == t || !look_at(other, &look) || (look.flags & INCIDENT_TIMED) ||
            held_find(t, look.lock) == UINT32_MAX)
            continue;
        struct notice notice;
        sigset_t old;
        guard_enter(t, &guard, &old);
        bool found = find(other, t, &notice);
        guard_leave(t, &guard, &old);
        if (found)
            finding_tell(t, &notice);
    }
}

void judge_end(struct thread *t)
{
    if (atomic_load_explicit(&watch.state, memory_order_relaxed) != WATCH_ON)
        return;
    if (t->count)
        judge_orphans(t);
    if (atomic_load(&watch.live) < 2 || somebody_runs(t))
        return;
    struct notice notice;
    sigset_t old;
    guard_enter(t, &guard, &old);
    bool found = find(NULL, t, &notice);
    guard_leave(t, &guard, &old);
    if (found)
        finding_tell(t, &notice);
}
