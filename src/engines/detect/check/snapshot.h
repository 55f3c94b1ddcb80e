/*
 * A snapshot: hold and wait edges, stored so that the common case takes 4 bytes for each process
 * and 4 bytes for each resource.
 *
 * Nearly every process waits for one unit of one resource, and nearly every resource has one unit
 * and one holder. So the first wait of a process is `wait[p]` and the first hold of a resource is
 * `holder[q]`. Everything else (units other than one, further edges) is in arrays that are
 * allocated when needed.
 *
 * The check (engines/detect/check/engine.h) reads these arrays directly.
 */
#pragma once

#include "engines/detect/check/engine.h"
#include "engines/rag/rag.h"
#include "foundation/base/hash.h"

/* Upper bound of processes, resources, further holds and further waits each. Nodes then fit 31
 * bits, and edges 32. */
#define SNAPSHOT_MAX UINT32_C(0x3fffffff)

/* By resource; only once some resource has a number of units other than one. */
struct snapshot_units {
    uint64_t total;
    uint64_t held;  /* by all processes */
    uint64_t first; /* by holder[q] */
};

struct snapshot_edge {
    uint64_t units;
    uint32_t process;
    uint32_t resource;
};

struct snapshot_edges {
    struct snapshot_edge *edges;
    uint32_t count, room;
};

struct gordian_snapshot {
    gordian_allocator memory;

    uint32_t process_count, process_room;
    uint32_t *wait;       /* by process: the first resource it waits for, or NONE */
    uint64_t *wait_units; /* units of that; NULL: one each */

    uint32_t resource_count, resource_room;
    uint32_t *holder;             /* by resource: its first holder, or NONE */
    struct snapshot_units *units; /* NULL: one each */
    bool several;                 /* some resource has more than one unit */

    bool wide;                   /* some edge is for more than one unit */
    struct snapshot_edges holds; /* further ones; (p, q) may occur several times */
    struct snapshot_edges waits; /* further ones; (p, q) occurs once, here or in wait[] */
    struct hash wait_table;      /* finds (p, q) in `waits` */

    bool judged;                /* `result` belongs to the present state */
    struct check_result result; /* empty unless judged */

    struct background_device *device; /* open or being opened; NULL: not needed so far */
};

/* Adds processes and resources whose wait[] and holder[] the caller fills. Returns false if there
 * are too many, or out of memory. */
bool snapshot_enlarge(gordian_snapshot *snapshot, uint64_t processes, uint64_t resources);
/* Reserves memory for that many in all, if possible, without touching it. */
void snapshot_prepare(gordian_snapshot *snapshot, uint32_t processes, uint32_t resources);
/* Removes all processes and resources. There must be no edges except those in wait[] and holder[].
 */
void snapshot_clear(gordian_snapshot *snapshot);

/* Returns how many threads may work on the snapshot: at most `wanted` (0: one for each core) and
 * `most`, and at least one; only one if its allocator is the caller's. */
unsigned snapshot_threads(const gordian_snapshot *snapshot, unsigned wanted, uint64_t most);

static inline uint64_t snapshot_total(const gordian_snapshot *snapshot, uint32_t resource)
{
    return snapshot->units ? snapshot->units[resource].total : 1;
}

/* Returns the units held by holder[resource], which must not be NONE. */
static inline uint64_t snapshot_first_hold(const gordian_snapshot *snapshot, uint32_t resource)
{
    return snapshot->units ? snapshot->units[resource].first : 1;
}

/* Returns the units of wait[process], which must not be NONE. */
static inline uint64_t snapshot_first_wait(const gordian_snapshot *snapshot, uint32_t process)
{
    return snapshot->wait_units ? snapshot->wait_units[process] : 1;
}
