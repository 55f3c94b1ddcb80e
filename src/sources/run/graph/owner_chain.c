#include "sources/run/graph/owner_chain.h"

#include "sources/run/graph/activity.h"
#include "sources/run/graph/lock_copy.h"
#include "sources/run/graph/owner.h"
#include "sources/run/libc/lock_layout.h"
#include "sources/run/locks/lock_registry.h"
#include "sources/run/threads/thread_table.h"

/* Returns whether a running thread (or, if not `running`, a waiting one) holds units of the lock.
 */
static bool some_hold(uintptr_t lock, uint32_t mode, bool running)
{
    uint32_t limit = atomic_load(&watch.thread_limit);
    for (uint32_t i = 0; i < limit; i++) {
        struct thread *t = &watch.threads[i];
        if (thread_is_live(t) && !t->ending && units_of_lock(t, lock, mode, NULL) &&
            thread_runs(t) == running)
            return true;
    }
    return false;
}

enum ahead { AHEAD_RUNS, AHEAD_UNKNOWN, AHEAD_ONE, AHEAD_MANY };

static enum ahead behind_owner(const struct observed_wait *look, uint32_t tid, uint32_t named,
                               struct thread **next)
{
    switch (lock_owner(look->lock, tid, named, next)) {
    case OWNER_THREAD:
        return AHEAD_ONE;
    case OWNER_GONE:
        return AHEAD_MANY;
    case OWNER_RUNNING:
        return AHEAD_UNKNOWN;
    default:
        return AHEAD_RUNS;
    }
}

/* No known thread holds it: a thread that is just adding its hold, or another process, may. */
static enum ahead behind_spinner(const struct observed_wait *look)
{
    struct orphan orphan;
    if (some_hold(look->lock, INCIDENT_EXCLUSIVE, true))
        return AHEAD_RUNS;
    return some_hold(look->lock, INCIDENT_EXCLUSIVE, false) || orphan_of(look->lock, 0, &orphan)
               ? AHEAD_MANY
               : AHEAD_UNKNOWN;
}

/* Finds the thread that a waiter waits for, if there is only one. */
static enum ahead waits_for_whom(const struct observed_wait *look, struct thread **next)
{
    union lock_copy copy;
    uint32_t flags;
    const pthread_mutex_t *mutex = (const pthread_mutex_t *)look->lock;
    const pthread_rwlock_t *rwlock = (const pthread_rwlock_t *)look->lock;
    if (look->thread != self && (look->kind == INCIDENT_MUTEX || look->kind == INCIDENT_RWLOCK)) {
        if (!lock_copy(look->lock, look->kind, &copy) || !wait_is_same(look))
            return AHEAD_RUNS;
        mutex = &copy.mutex;
        rwlock = &copy.rwlock;
    }
    switch (look->kind) {
    case INCIDENT_MUTEX:
        return behind_owner(look, mutex_owner(mutex), mutex_named(mutex), next);
    case INCIDENT_RWLOCK:
        if (rwlock_writer(rwlock))
            return behind_owner(look, rwlock_writer(rwlock), rwlock_named(rwlock), next);
        /* A writer waits for all readers: one waiting reader may be enough for a deadlock. */
        return some_hold(look->lock, INCIDENT_READ, false) || orphans_any() ? AHEAD_MANY
                                                                            : AHEAD_RUNS;
    case INCIDENT_SPIN:
        return behind_spinner(look);
    case INCIDENT_SEMAPHORE:
        flags = lock_flags(look->lock);
        if (flags & LOCK_SHARED || some_hold(look->lock, INCIDENT_UNIT, true))
            return AHEAD_RUNS;
        if ((flags & (LOCK_KNOWN | LOCK_SIGNALS | LOCK_POSTED)) == (LOCK_KNOWN | LOCK_POSTED))
            return AHEAD_MANY;
        return any_thread_runs(NULL) ? AHEAD_RUNS : AHEAD_MANY;
    case INCIDENT_THREAD_END:
        *next = table_by_handle(look->lock);
        return *next ? AHEAD_ONE : AHEAD_RUNS;
    default: /* conditions, barriers: any thread may end the wait */
        if (look->thread == self && look->kind == INCIDENT_CONDITION && self->woke_waiter)
            return AHEAD_RUNS;
        return any_thread_runs(NULL) ? AHEAD_RUNS : AHEAD_MANY;
    }
}

enum trail follow_owners(struct thread *t)
{
    uint32_t most = atomic_load_explicit(&watch.live, memory_order_relaxed) + 1;
    struct thread *at = t;
    uintptr_t wanted = 0; /* the lock that led to `at` */
    for (uint32_t steps = 0; steps <= most; steps++) {
        struct observed_wait look;
        struct thread *next = NULL;
        if (!observe_wait(at, &look) || (look.flags & INCIDENT_TIMED))
            return TRAIL_RUNS;
        if (wanted && look.kind == INCIDENT_CONDITION && look.outer == wanted)
            return TRAIL_RUNS; /* about to enter or leave a condition wait: it will release the
                                  mutex */
        observe_retaking(&look);
        enum ahead ahead = waits_for_whom(&look, &next);
        if (ahead == AHEAD_MANY || next == t)
            return TRAIL_STUCK;
        /* A thread that wakes from a condition retakes its mutex without looking. */
        bool retakes = at != t && look.kind == INCIDENT_CONDITION;
        if (ahead == AHEAD_UNKNOWN || (ahead == AHEAD_RUNS && retakes))
            return TRAIL_WAKES;
        if (ahead == AHEAD_RUNS)
            return TRAIL_RUNS;
        at = next;
        wanted = look.lock;
    }
    return TRAIL_STUCK;
}
