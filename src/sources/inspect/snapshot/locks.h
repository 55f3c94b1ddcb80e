/* The locks of a process snapshot: everything that a thread may wait for. Memory that processes
 * share is identified by its file, so that a lock in it is one lock however many processes map it.
 */
#pragma once

#include "foundation/base/hash.h"
#include "foundation/records/incident.h"

/* What decoders find out about a lock; zero: unknown. */
struct lock_facts {
    uint32_t flags;   /* enum incident_lock_flags, added to the known ones */
    uint32_t units;   /* semaphore: value; barrier: number of threads; rwlock: readers */
    uint32_t missing; /* barrier: threads that have not arrived */
    const char *name; /* NULL: identified by its address */
    bool own_end;     /* only the waiting process has the other end open */
    bool idles;       /* a wait in which a script may be idle: Event.wait, Queue.get */
    bool outsiders;   /* a process outside the snapshot may act on it */
};

struct snapshot_lock {
    uint32_t process;
    uint64_t address;
    uint64_t space, place; /* its identity: see snapshot_add_lock() */
    uint32_t kind;
    uint32_t target;     /* INCIDENT_THREAD_END: the thread */
    uint32_t owner_tid;  /* as stored in the lock */
    uint32_t first_hold; /* edge, or SNAPSHOT_NONE; the next ones by `next_hold` */
    struct lock_facts facts;
};

struct snapshot_locks {
    struct snapshot_lock *list;
    size_t count, capacity;
    struct hash index;
};

/* Returns the index of the lock with this space, place and kind, which is added if it is new.
 * UINT32_MAX: out of memory. */
uint32_t locks_intern(struct snapshot_locks *locks, const gordian_allocator *memory,
                      const struct snapshot_lock *lock);
void locks_clear(struct snapshot_locks *locks, const gordian_allocator *memory);
