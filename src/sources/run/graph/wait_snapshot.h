/* The wait-for graph of all waiting threads, as a snapshot for libgordian's engine. */
#pragma once

#include "sources/run/state/arena.h"
#include "sources/run/threads/observed_wait.h"

/* What a resource of the graph represents. */
struct resource {
    uintptr_t lock; /* 0: the resource of ended threads, or the one any thread could release */
    uint8_t kind;
    uint8_t mode; /* INCIDENT_QUEUED: the queue of a rwlock */
    bool gone;    /* its holder has ended */
};

struct wait_snapshot {
    struct arena *arena;
    gordian_allocator memory;
    const struct thread *ending; /* about to end: it does not count */
    gordian_snapshot *snapshot;
    gordian_report report;
    struct observed_wait *looks; /* by process */
    uint32_t count;
    uint32_t *process_of; /* by record: process + 1 */
    uint32_t record_count;
    struct resource *resources;
    size_t resource_count, resource_room;
    bool asked, acts; /* acts: a thread can act, if `asked` */
    uint32_t gone;    /* the process that represents all ended holders, or none */
    uint32_t anybody; /* the resource that any thread could release, or none */
};

/* Takes a snapshot of all threads, and runs the engine. False: out of memory. The snapshot lives in
 * the arena. */
bool wait_snapshot_take(struct wait_snapshot *view, struct arena *arena,
                        const struct thread *ending);

/* Returns the process of a thread; GORDIAN_NONE: the thread runs. */
uint32_t wait_snapshot_process(const struct wait_snapshot *view, const struct thread *t);
bool wait_snapshot_is_dead(const struct wait_snapshot *view, uint32_t process);
/* Returns whether it waits for a lock whose owner has ended. */
bool wait_snapshot_owner_ended(const struct wait_snapshot *view, uint32_t process);
/* Returns whether any thread could end the wait, as far as is known. */
bool waits_for_anybody(const struct observed_wait *look);
/* Returns whether a thread can act. Determined once per snapshot. */
bool wait_snapshot_acts(struct wait_snapshot *view);
