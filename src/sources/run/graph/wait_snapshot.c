/* Builds the wait-for graph of waiters and holders, for libgordian's engine.
 *
 *   process    a thread that waits without a time limit. All other threads can act, and will
 *              release what they hold: their holds are left out, so those units are free.
 *   mutex      one unit.
 *   rwlock     held for reading: one unit per reader, a writer requests all. Held for writing: one.
 *              If readers must not overtake writers, there is a second resource, the queue: each
 *              waiting writer holds a unit, a reader requests all.
 *   semaphore  its units, held by the threads that took them; only if those are all units, since
 *              otherwise an unknown thread could post.
 *   join       the end of a thread: one unit, held by that thread.
 *   condition  any thread may signal it: one resource for all conditions and barriers, of which
 *   barrier    each thread holds a unit; only if no thread runs.
 */
#include "sources/run/graph/wait_snapshot.h"

#include "foundation/base/memory.h"
#include "sources/run/graph/activity.h"
#include "sources/run/graph/lock_copy.h"
#include "sources/run/graph/owner.h"
#include "sources/run/libc/lock_layout.h"
#include "sources/run/locks/lock_registry.h"
#include "sources/run/threads/thread_table.h"

#include <string.h>

/* ------------------------------------------------------------------ the graph */

static bool add_graph_resource(struct wait_snapshot *view, uintptr_t lock, uint32_t kind,
                               uint32_t mode, uint64_t units, uint32_t *id)
{
    if (!memory_grow(&view->memory, &view->resources, &view->resource_room,
                     view->resource_count + 1, sizeof *view->resources) ||
        gordian_snapshot_add_resource(view->snapshot, units, id, NULL) != GORDIAN_OK)
        return false;
    view->resources[view->resource_count++] =
        (struct resource){lock, (uint8_t)kind, (uint8_t)mode, false};
    return true;
}

uint32_t wait_snapshot_process(const struct wait_snapshot *view, const struct thread *t)
{
    return t->index < view->record_count ? view->process_of[t->index] - 1 : GORDIAN_NONE;
}

static bool add_graph_wait(struct wait_snapshot *view, uint32_t process, uint32_t resource,
                           uint64_t units)
{
    return gordian_snapshot_wait(view->snapshot, process, resource, units, NULL) == GORDIAN_OK;
}

static bool add_graph_hold(struct wait_snapshot *view, uint32_t process, uint32_t resource,
                           uint64_t units)
{
    return gordian_snapshot_hold(view->snapshot, process, resource, units, NULL) == GORDIAN_OK;
}

/* All ended holders are one process that waits for itself forever. */
static bool add_ended_process(struct wait_snapshot *view, uint32_t *process)
{
    if (view->gone == GORDIAN_NONE) {
        uint32_t resource;
        if (gordian_snapshot_add_process(view->snapshot, &view->gone, NULL) != GORDIAN_OK ||
            !add_graph_resource(view, 0, 0, 0, 1, &resource) ||
            !add_graph_hold(view, view->gone, resource, 1) ||
            !add_graph_wait(view, view->gone, resource, 1))
            return false;
    }
    *process = view->gone;
    return true;
}

/* A lock with waiters, added to the graph once. `id` GORDIAN_NONE: it can become free. */
struct known {
    uintptr_t lock;
    uint32_t kind;
    uint32_t id;    /* the resource requested by mutex, write, unit and join waits */
    uint64_t units; /* units that a writer requests */
    uint32_t turn;  /* the resource requested by readers behind waiting writers; else `id` */
    uint64_t turn_units;
};

/* Adds one unit, held by the owner if it waits or has ended. */
static bool add_owner(struct wait_snapshot *view, struct known *known, enum owner owner,
                      struct thread *thread)
{
    uint32_t holder = GORDIAN_NONE;
    if (owner == OWNER_THREAD)
        holder = wait_snapshot_process(view, thread);
    else if (owner == OWNER_GONE && !add_ended_process(view, &holder))
        return false;
    if (holder == GORDIAN_NONE)
        return true;
    known->units = 1;
    if (!add_graph_resource(view, known->lock, known->kind, INCIDENT_EXCLUSIVE, 1, &known->id))
        return false;
    view->resources[known->id].gone = owner == OWNER_GONE;
    return add_graph_hold(view, holder, known->id, 1);
}

/* Returns the units that a thread holds. Holds of an ending thread are already among the orphans.
 */
static uint32_t units_held(const struct thread *t, uintptr_t lock, uint32_t mode)
{
    return thread_is_live(t) && !t->ending ? units_of_lock(t, lock, mode, NULL) : 0;
}

/* Adds a lock whose units are held by several threads. Units of running threads count as free. If
 * any unit is enough (semaphore), one running holder means that there is no deadlock. A writer
 * requests all units, so it waits for the other holders. */
static bool add_shared_units(struct wait_snapshot *view, struct known *known, uint32_t mode,
                             uint64_t expected, uint64_t gone)
{
    uint64_t found = gone, stuck = gone;
    uint32_t limit = view->record_count;
    for (uint32_t i = 0; i < limit; i++) {
        struct thread *t = &watch.threads[i];
        uint32_t units = units_held(t, known->lock, mode);
        found += units;
        stuck += wait_snapshot_process(view, t) == GORDIAN_NONE ? 0 : units;
    }
    if (stuck == 0 || (mode != INCIDENT_READ && stuck != found) || (expected && found != expected))
        return true;
    uint32_t process;
    known->units = found;
    if (!add_graph_resource(view, known->lock, known->kind, mode, found, &known->id))
        return false;
    view->resources[known->id].gone = gone != 0;
    if (gone &&
        (!add_ended_process(view, &process) || !add_graph_hold(view, process, known->id, gone)))
        return false;
    for (uint32_t i = 0; i < limit; i++) {
        struct thread *t = &watch.threads[i];
        uint32_t units = units_held(t, known->lock, mode);
        process = wait_snapshot_process(view, t);
        if (units && process != GORDIAN_NONE && !add_graph_hold(view, process, known->id, units))
            return false;
    }
    return true;
}

/* This may require a question to the kernel for every thread. */
bool wait_snapshot_acts(struct wait_snapshot *view)
{
    if (!view->asked) {
        view->asked = true;
        view->acts = any_thread_runs(view->ending);
    }
    return view->acts;
}

/* Returns whether the semaphore is used as a lock, as far as is known; fills `info`. */
static bool semaphore_is_lock(uintptr_t lock, struct lock_info *info)
{
    return lock_look(lock, info) && info->units != 0 && !atomic_load(&watch.handlers_post) &&
           (info->flags & (LOCK_KNOWN | LOCK_SIGNALS | LOCK_SHARED)) == LOCK_KNOWN;
}

/* Adds the queue of waiting writers, which readers do not overtake. */
static bool add_writer_queue(struct wait_snapshot *view, struct known *known)
{
    uint64_t writers = 0;
    for (uint32_t p = 0; p < view->count; p++)
        writers += view->looks[p].lock == known->lock && view->looks[p].mode == INCIDENT_EXCLUSIVE;
    if (writers == 0)
        return true;
    known->turn_units = writers;
    if (!add_graph_resource(view, known->lock, known->kind, INCIDENT_QUEUED, writers, &known->turn))
        return false;
    for (uint32_t p = 0; p < view->count; p++)
        if (view->looks[p].lock == known->lock && view->looks[p].mode == INCIDENT_EXCLUSIVE &&
            !add_graph_hold(view, p, known->turn, 1))
            return false;
    return true;
}

static bool add_rwlock(struct wait_snapshot *view, struct known *known,
                       const pthread_rwlock_t *rwlock)
{
    struct thread *thread;
    uint32_t writer = rwlock_writer(rwlock);
    if (writer) {
        enum owner owner = lock_owner(known->lock, writer, rwlock_named(rwlock), &thread);
        return add_owner(view, known, owner, thread) &&
               (known->turn = known->id, known->turn_units = 1, true);
    }
    if (rwlock_is_shared(rwlock))
        return true; /* other processes may release it */
    if (rwlock_readers(rwlock) == 0)
        return true; /* free */
    return add_shared_units(view, known, INCIDENT_READ, 0, orphans_readers(known->lock)) &&
           (known->id == GORDIAN_NONE || !rwlock_prefers_writers(rwlock) ||
            add_writer_queue(view, known));
}

/* Judges a semaphore as a lock, by the holders of its units. If one thread holds all units, or no
 * unit was ever released, another thread may be meant to post: then it is a deadlock only if no
 * thread runs at all. */
static bool add_semaphore(struct wait_snapshot *view, struct known *known)
{
    struct lock_info info;
    union lock_copy copy;
    int value = 1;
    if (!semaphore_is_lock(known->lock, &info))
        return true;
    if (!(info.flags & LOCK_POSTED) && wait_snapshot_acts(view))
        return true;
    for (uint32_t p = 0; p < view->count; p++)
        if (units_of_lock(view->looks[p].thread, known->lock, INCIDENT_UNIT, NULL) == info.units &&
            wait_snapshot_acts(view))
            return true;
    /* Read it last: a thread may have posted and gone to sleep while others were checked. */
    if (!lock_copy(known->lock, known->kind, &copy) || sem_getvalue(&copy.semaphore, &value) != 0 ||
        value > 0 || !semaphore_is_lock(known->lock, &info))
        return true;
    return add_shared_units(view, known, INCIDENT_UNIT, info.units, 0);
}

/* Returns whether the owner is in a condition wait with this mutex: it is about to release it. */
static bool is_about_to_release(const struct wait_snapshot *view, uintptr_t mutex, uint32_t tid)
{
    struct thread *t = table_by_tid(tid);
    uint32_t process = t ? wait_snapshot_process(view, t) : GORDIAN_NONE;
    return process != GORDIAN_NONE && view->looks[process].kind == INCIDENT_CONDITION &&
           view->looks[process].outer == mutex;
}

/* False: out of memory. */
static bool add_known_lock(struct wait_snapshot *view, const struct observed_wait *look,
                           struct known *known)
{
    union lock_copy copy;
    struct thread *thread = NULL;
    *known = (struct known){look->lock, look->kind, GORDIAN_NONE, 0, GORDIAN_NONE, 0};
    if (look->kind == INCIDENT_THREAD_END) {
        thread = table_by_handle(look->lock);
        return add_owner(view, known, thread ? OWNER_THREAD : OWNER_NONE, thread);
    }
    if (lock_flags(look->lock) & LOCK_STRAY)
        return true; /* other threads release it */
    if (!lock_copy(look->lock, look->kind, &copy))
        return true;
    switch (look->kind) {
    case INCIDENT_MUTEX: {
        if (is_about_to_release(view, look->lock, mutex_owner(&copy.mutex)))
            return true;
        enum owner owner =
            lock_owner(look->lock, mutex_owner(&copy.mutex), mutex_named(&copy.mutex), &thread);
        return add_owner(view, known, owner, thread);
    }
    case INCIDENT_RWLOCK:
        return add_rwlock(view, known, &copy.rwlock);
    case INCIDENT_SPIN: {
        struct orphan orphan;
        bool gone = orphan_of(known->lock, 0, &orphan) && orphan.held.kind == INCIDENT_SPIN;
        return add_shared_units(view, known, INCIDENT_EXCLUSIVE, 1, gone);
    }
    case INCIDENT_SEMAPHORE:
        return add_semaphore(view, known);
    default:
        return true;
    }
}

/* Returns the number of other threads that must act before this one continues; 0: it may continue
 * by itself, or another process may act. */
static uint64_t count_needed(const struct wait_snapshot *view, const struct observed_wait *look)
{
    struct lock_info info;
    union lock_copy copy;
    if (look->kind == INCIDENT_CONDITION)
        return lock_copy(look->lock, look->kind, &copy) && !condition_is_shared(&copy.condition);
    if (look->kind == INCIDENT_SEMAPHORE) {
        /* The judging thread is not asleep yet, so the semaphore may have been posted. */
        int value = 1;
        return (lock_flags(look->lock) & (LOCK_KNOWN | LOCK_SHARED)) == LOCK_KNOWN &&
               lock_copy(look->lock, look->kind, &copy) &&
               sem_getvalue(&copy.semaphore, &value) == 0 && value == 0;
    }
    if (!lock_look(look->lock, &info) || (info.flags & (LOCK_KNOWN | LOCK_SHARED)) != LOCK_KNOWN)
        return 0;
    uint64_t arrived = 0;
    for (uint32_t p = 0; p < view->count; p++)
        arrived += view->looks[p].lock == look->lock;
    if (arrived >= info.units)
        return 0;
    uint64_t missing = info.units - arrived;
    return missing < view->count ? missing : view->count;
}

/* ------------------------------------------------------------------ the snapshot */

/* Adds all threads that wait without a time limit. */
static bool gather_waits(struct wait_snapshot *view)
{
    view->record_count = atomic_load(&watch.thread_limit);
    view->process_of = arena_take(view->arena, (view->record_count + 1) * sizeof(uint32_t));
    view->looks = arena_take(view->arena, (view->record_count + 1) * sizeof *view->looks);
    if (!view->process_of || !view->looks)
        return false;
    memset(view->process_of, 0, (view->record_count + 1) * sizeof *view->process_of);
    for (uint32_t i = 0; i < view->record_count; i++) {
        struct observed_wait *look = &view->looks[view->count];
        struct thread *t = &watch.threads[i];
        if (t == view->ending || !observe_wait(t, look) || (look->flags & INCIDENT_TIMED))
            continue;
        observe_retaking(look);
        view->process_of[i] = ++view->count;
    }
    for (uint32_t p = 0; p < view->count; p++)
        if (gordian_snapshot_add_process(view->snapshot, NULL, NULL) != GORDIAN_OK)
            return false;
    return true;
}

static bool add_lock_wait(struct wait_snapshot *view, uint32_t process, struct known *known,
                          size_t *known_count)
{
    const struct observed_wait *look = &view->looks[process];
    struct known *lock = NULL;
    for (size_t i = *known_count; i-- > 0 && !lock;)
        if (known[i].lock == look->lock && known[i].kind == look->kind)
            lock = &known[i];
    if (!lock) {
        lock = &known[*known_count];
        if (!add_known_lock(view, look, lock))
            return false;
        ++*known_count;
    }
    if (look->kind == INCIDENT_RWLOCK && look->mode == INCIDENT_READ)
        return lock->turn == GORDIAN_NONE ||
               add_graph_wait(view, process, lock->turn, lock->turn_units);
    uint64_t units = look->mode == INCIDENT_EXCLUSIVE && lock->units ? lock->units : 1;
    return lock->id == GORDIAN_NONE || add_graph_wait(view, process, lock->id, units);
}

bool waits_for_anybody(const struct observed_wait *look)
{
    struct lock_info info;
    if (look->kind == INCIDENT_SEMAPHORE)
        return !semaphore_is_lock(look->lock, &info);
    return look->kind == INCIDENT_CONDITION || look->kind == INCIDENT_BARRIER;
}

/* Adds the resource that any thread could release: each thread holds a unit. */
static bool add_anybody(struct wait_snapshot *view)
{
    bool any = false;
    for (uint32_t p = 0; p < view->count && !any; p++)
        any = waits_for_anybody(&view->looks[p]);
    if (!any || wait_snapshot_acts(view))
        return true;
    if (!add_graph_resource(view, 0, INCIDENT_CONDITION, INCIDENT_SIGNAL, view->count,
                            &view->anybody))
        return false;
    for (uint32_t p = 0; p < view->count; p++) {
        if (!add_graph_hold(view, p, view->anybody, 1))
            return false;
        uint64_t needed =
            waits_for_anybody(&view->looks[p]) ? count_needed(view, &view->looks[p]) : 0;
        if (needed && !add_graph_wait(view, p, view->anybody, needed))
            return false;
    }
    return true;
}

bool wait_snapshot_take(struct wait_snapshot *view, struct arena *arena,
                        const struct thread *ending)
{
    memset(view, 0, sizeof *view);
    view->arena = arena;
    view->memory = arena_allocator(arena);
    view->ending = ending;
    view->gone = view->anybody = GORDIAN_NONE;
    if (gordian_snapshot_open(&view->snapshot, &view->memory, NULL) != GORDIAN_OK ||
        !gather_waits(view))
        return false;
    struct known *known = arena_take(arena, (view->count + 1) * sizeof *known);
    size_t known_count = 0;
    if (!known || !add_anybody(view))
        return false;
    for (uint32_t p = 0; p < view->count; p++)
        if (!waits_for_anybody(&view->looks[p]) && !add_lock_wait(view, p, known, &known_count))
            return false;
    return gordian_snapshot_check_with(view->snapshot, "sparse", &view->report, NULL) == GORDIAN_OK;
}

/* ------------------------------------------------------------------ questions */

bool wait_snapshot_is_dead(const struct wait_snapshot *view, uint32_t process)
{
    for (size_t i = 0; i < view->report.deadlocked_count; i++)
        if (view->report.deadlocked[i] == process)
            return true;
    return false;
}

bool wait_snapshot_owner_ended(const struct wait_snapshot *view, uint32_t process)
{
    const struct observed_wait *look = &view->looks[process];
    for (size_t i = 0; i < view->resource_count; i++)
        if (view->resources[i].lock == look->lock && view->resources[i].kind == look->kind &&
            view->resources[i].gone)
            return true;
    return false;
}
