/* The waiting threads and what they wait for, as a snapshot for libgordian's engine. */
#pragma once

#include "sources/run/state/arena.h"
#include "sources/run/threads/observed_wait.h"

/* What a resource of the snapshot stands for. */
struct resource {
    uintptr_t lock; /* 0: the resource of all who wait for anybody, or of the gone */
    uint8_t kind;
    uint8_t mode; /* INCIDENT_QUEUED: the turn of an rwlock */
    bool gone;    /* the one who has it has ended */
};

struct wait_snapshot {
    struct arena *arena;
    gordian_allocator memory;
    const struct thread *ending; /* does not count: it is about to end */
    gordian_snapshot *snapshot;
    gordian_report report;
    struct observed_wait *looks; /* by process */
    uint32_t count;
    uint32_t *process_of; /* by record: process + 1 */
    uint32_t record_count;
    struct resource *resources;
    size_t resource_count, resource_room;
    bool asked, acts; /* does anybody run? */
    uint32_t gone;    /* the process that stands for all who ended holding something, or none */
    uint32_t anybody; /* the resource of all who wait for anybody, or none */
};

/* Looks at everybody and lets the engine judge. False: out of memory. The view lives in the arena.
 */
bool wait_snapshot_take(struct wait_snapshot *view, struct arena *arena,
                        const struct thread *ending);

/* The process of a thread; GORDIAN_NONE: it runs. */
uint32_t wait_snapshot_process(const struct wait_snapshot *view, const struct thread *t);
bool wait_snapshot_is_dead(const struct wait_snapshot *view, uint32_t process);
/* Does it wait for something whose owner is gone? */
bool wait_snapshot_owner_gone(const struct wait_snapshot *view, uint32_t process);
/* A wait that anybody could end, as far as is known. */
bool waits_for_anybody(const struct observed_wait *look);
/* Is there a thread that could act? Asked at most once a view. */
bool wait_snapshot_acts(struct wait_snapshot *view);
