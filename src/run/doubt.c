#include "run/doubt.h"

#include "run/maps.h"
#include "run/mutex.h"
#include "run/sys.h"
#include "run/text.h"

#include <signal.h>

/* ------------------------------------------------------------------ signal handlers */

/* Does only a thread's own mistake raise it, or is it one of libc's own two, or the watcher's? */
static bool is_aside(int number)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, 32, 33};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (number == own[i])
            return true;
    return number == watch.status_signal;
}

static bool is_caught(int number)
{
    struct sys_action action = {0};
    if (watch.sandboxed) /* no call that may be forbidden: what was seen to be set */
        return atomic_load(&watch.caught) >> (number - 1) & 1;
    return sys_call(SYS_rt_sigaction, number, NULL, &action, 8) == 0 &&
           action.handler != (uintptr_t)SIG_DFL && action.handler != (uintptr_t)SIG_IGN;
}

/* The kernel is asked for each: that takes no descriptor, of which there may be none. */
static uint64_t caught_signals(void)
{
    uint64_t caught = 0;
    for (int number = 1; number <= 64; number++)
        if (!is_aside(number) && is_caught(number))
            caught |= (uint64_t)1 << (number - 1);
    return caught;
}

/* Is there a handler, and a thread that lets its signal in? */
static bool handlers_could_run(void)
{
    uint64_t caught = caught_signals(), blocked;
    if (caught == 0)
        return false;
    if (table_tasks() != atomic_load(&watch.live) + atomic_load(&watch.helpers))
        return true; /* somebody unknown may */
    uint32_t limit = atomic_load(&watch.thread_limit);
    for (uint32_t i = 0; i < limit; i++) {
        const struct thread *t = &watch.threads[i];
        char path[64];
        if (!thread_is_live(t))
            continue;
        text_join(path, sizeof path, "/proc/self/task/", t->tid, "/status");
        blocked = t->blocked;
        if ((t != self && !read_line_hex(path, "SigBlk:", &blocked)) || caught & ~blocked)
            return true;
    }
    return false;
}

/* ------------------------------------------------------------------ who could end what */

/* What the waits of a part are for. */
struct waits {
    size_t count;
    bool anybody;   /* what anybody could give: conditions, barriers, semaphores that are signals */
    bool posts;     /* such a semaphore, */
    bool handled;   /* and a handler has posted one before */
    bool locks;     /* something held by one and wanted by another */
    bool joins;     /* the end of a thread */
    bool as_signal; /* a lock may be meant as a signal: one thread waits for what it has, or for
                       the end of one who waits for that */
};

static struct waits sort_waits(const struct view *view, const gordian_part *part)
{
    struct waits waits = {0};
    for (size_t i = 0; i < part->process_count; i++) {
        if (part->processes[i] >= view->count)
            continue;
        const struct look *look = &view->looks[part->processes[i]];
        bool anybody = for_anybody(look), semaphore = look->kind == INCIDENT_SEMAPHORE;
        waits.count++;
        waits.anybody = waits.anybody || anybody;
        waits.posts = waits.posts || (anybody && semaphore);
        waits.handled =
            waits.handled || (semaphore && lock_flags(look->lock) & LOCK_HANDLED) ||
            (semaphore && atomic_load_explicit(&watch.handlers_post, memory_order_relaxed));
        waits.joins = waits.joins || look->kind == INCIDENT_THREAD_END;
        waits.locks = waits.locks || (!anybody && look->kind != INCIDENT_THREAD_END);
    }
    waits.as_signal = waits.locks && (waits.count == 1 || waits.joins);
    return waits;
}

/* Is this a lock that libc lets others give back, whatever the book says? */
static bool others_may_give(const struct look *look)
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

static bool some_may_be_given(const struct view *view, const gordian_part *part)
{
    for (size_t i = 0; i < part->process_count; i++)
        if (part->processes[i] < view->count && others_may_give(&view->looks[part->processes[i]]))
            return true;
    return false;
}

/* Is there a thread that runs, or waits for what it can get? */
static bool somebody_goes_on(struct view *view)
{
    for (uint32_t p = 0; p < view->count; p++)
        if (!view_is_dead(view, p))
            return true;
    return view_acts(view);
}

/* May other processes have this lock, too? What it says of itself comes first: looking at its
 * memory takes a descriptor. */
static bool may_be_shared(const struct look *look)
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

/* Somebody outside who could act: a thread, or, where the lock is shared, a process. */
static bool outsiders_act(struct view *view, const gordian_part *part)
{
    if (somebody_goes_on(view))
        return true;
    for (size_t i = 0; i < part->process_count; i++) {
        uint32_t process = part->processes[i];
        if (process < view->count && may_be_shared(&view->looks[process]))
            return true;
    }
    return false;
}

static const char handlers_could[] =
    "not proved: the program has signal handlers, and one of them could end it";
static const char lent_memory[] =
    "not proved: another process runs in the same memory, and could end it";
static const char strays_seen[] =
    "not proved: this program has unlocked locks of other threads, and could do so here";
static const char used_as_signal[] =
    "not proved: who locks, and then waits for whom that keeps waiting, may mean another thread to "
    "unlock, and others run";
static const char shared_with_others[] =
    "not proved: other processes may have the lock's memory, and could give it back";

/* A handler may post a semaphore. It must not signal a condition, but where nothing but conditions
 * is waited for that is how some programs idle. */
bool doubt_is_idle(const struct view *view, const gordian_part *part, bool patient)
{
    struct waits waits = sort_waits(view, part);
    if (!waits.anybody)
        return false;
    if (atomic_load(&watch.memory_lent))
        return true;
    return (!waits.locks || waits.handled || (waits.posts && !patient)) && handlers_could_run();
}

const char *doubt_part(struct view *view, const gordian_part *part)
{
    struct waits waits = sort_waits(view, part);
    bool strays = atomic_load(&watch.strays);
    if (atomic_load(&watch.memory_lent))
        return lent_memory;
    if (handlers_could_run())
        return handlers_could;
    if ((strays || waits.as_signal) && some_may_be_given(view, part) && outsiders_act(view, part))
        return strays ? strays_seen : used_as_signal;
    return NULL;
}

const char *doubt_gone(struct view *view, const struct look *look)
{
    if (atomic_load(&watch.memory_lent))
        return lent_memory;
    if (handlers_could_run())
        return handlers_could;
    if (maps_shared(look->lock))
        return shared_with_others;
    return atomic_load(&watch.strays) && somebody_goes_on(view) ? strays_seen : NULL;
}
