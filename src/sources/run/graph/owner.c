#include "sources/run/graph/owner.h"

#include "sources/run/libc/lock_layout.h"
#include "sources/run/state/proc_files.h"
#include "sources/run/state/system_call.h"
#include "sources/run/threads/held_locks.h"
#include "sources/run/threads/thread_table.h"

#include <errno.h>
#include <signal.h>

uint32_t mutex_named(const pthread_mutex_t *mutex)
{
    uint32_t kind = mutex_kind(mutex);
    return (kind & KIND_SHARED ? NAMED_SHARED : 0u) | (kind & KIND_ROBUST ? NAMED_ROBUST : 0u) |
           (kind & KIND_INHERIT ? NAMED_INHERIT : 0u);
}

uint32_t rwlock_named(const pthread_rwlock_t *lock)
{
    return rwlock_is_shared(lock) ? NAMED_SHARED : 0;
}

bool orphan_of(uintptr_t lock, uint32_t tid, struct orphan *orphan)
{
    return orphans_find(lock, tid, orphan) && !(orphan->forked && maps_shared(lock));
}

/* Returns the thread that stored this ID in a lock; NULL: unknown. A thread that has forked still
 * holds what it held in the parent, under its ID there, or under the ID in an earlier parent. It
 * does not hold locks in shared memory, where that ID belongs to the parent. */
static struct thread *find_marking_thread(uintptr_t lock, uint32_t tid, bool *has)
{
    struct thread *t = table_by_tid(tid);
    *has = false;
    if (!t || !thread_is_live(t) || (t->tid != tid && !t->fork_tid))
        return NULL;
    *has = !t->ending && units_of_lock(t, lock, INCIDENT_EXCLUSIVE, NULL);
    if (t->tid == tid)
        return t;
    return *has || (t->fork_tid == tid && !maps_shared(lock)) ? t : NULL;
}

static bool thread_exists(uint32_t tid)
{
    return sys_call(SYS_tgkill, watch.pid, tid, 0) == 0;
}

/* Decides about an ID that no thread of this process has. */
static enum owner unknown_owner(uintptr_t lock, uint32_t tid, uint32_t named)
{
    if (named & NAMED_ROBUST || thread_exists(tid))
        return OWNER_RUNNING;
    /* The owner may be a process that shares the lock and has ended. Processes may be in different
     * pid namespaces. Only memory that has no name is certain to be shared within this one. */
    struct region region;
    if (named & NAMED_SHARED) {
        bool gone = sys_call(SYS_kill, tid, 0) != 0 && errno == ESRCH && maps_find(lock, &region) &&
                    region.anonymous;
        return gone ? OWNER_GONE : OWNER_RUNNING;
    }
    /* A private lock contains an ID that no thread of this process has. */
    return atomic_load(&watch.memory_lent) || maps_shared(lock) ? OWNER_RUNNING : OWNER_GONE;
}

enum owner lock_owner(uintptr_t lock, uint32_t tid, uint32_t named, struct thread **thread)
{
    struct orphan orphan;
    bool has;
    *thread = NULL;
    if (tid == 0)
        return OWNER_NONE;
    struct thread *t = find_marking_thread(lock, tid, &has);
    /* IDs are reused: the owner may be an earlier thread that ended with the lock, or this one,
     * which is about to. The kernel releases robust locks. */
    if (!has && !(named & NAMED_ROBUST) && orphan_of(lock, tid, &orphan))
        return named & NAMED_INHERIT && thread_exists(tid) ? OWNER_RUNNING : OWNER_GONE;
    /* The same ID may belong to a thread in another pid namespace. */
    if (!t || (!has && (t->ending || (named & NAMED_SHARED && maps_shared(lock)))))
        return t ? OWNER_RUNNING : unknown_owner(lock, tid, named);
    *thread = t;
    return OWNER_THREAD;
}

uint32_t units_of_lock(const struct thread *t, uintptr_t lock, uint32_t mode,
                       const struct held **hold)
{
    const struct held *held;
    uint32_t count = others_holds(t, &held), units = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (held[i].lock != lock || held[i].mode != mode ||
            (held[i].flags & HELD_INHERITED && maps_shared(lock)))
            continue;
        if (hold && units == 0)
            *hold = &held[i];
        units += held[i].units;
    }
    return units;
}
