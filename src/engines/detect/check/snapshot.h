/*
 * What a snapshot holds: a bag of hold and wait edges, kept so that the common
 * one costs 4 bytes a process and 4 bytes a resource.
 *
 * Nearly every process waits for one unit of one resource and nearly every resource
 * has one unit and one holder. So the first wait of a process is `wait[p]`, the first
 * hold of a resource is `holder[q]`, and whatever goes beyond (units other than
 * one, further edges) lives in arrays that do not exist until they are needed.
 *
 * The analysis (engines/detect/check/engine.h) reads these arrays directly.
 */
#pragma once

#include "engines/detect/check/engine.h"
#include "engines/rag/rag.h"
#include "foundation/base/hash.h"

/* Processes, resources, further holds and further waits stay below this each: nodes then fit
 * 31 bits and edges 32. */
#define SNAPSHOT_MAX UINT32_C(0x3fffffff)

/* By resource, only once some resource has other than one unit. */
struct snapshot_units {
    uint64_t total;
    uint64_t held;  /* by everybody */
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
    uint64_t *wait_units; /* how many units of that; NULL: one each */

    uint32_t resource_count, resource_room;
    uint32_t *holder;             /* by resource: who holds it first, or NONE */
    struct snapshot_units *units; /* NULL: one each */
    bool several;                 /* some resource has more than one unit */

    bool wide;                   /* some edge is for more than one unit */
    struct snapshot_edges holds; /* further ones; (p, q) may come several times */
    struct snapshot_edges waits; /* further ones; (p, q) comes once, here or in wait[] */
    struct hash wait_table;      /* finds (p, q) in `waits` */

    bool judged;                /* `result` is that of the present state */
    struct check_result result; /* empty unless judged */

    struct background_device *device; /* being opened, or open; NULL: not before it is needed */
};

/* For who fills wait[] and holder[] itself: so many more of each; what they hold and wait for is
 * yet to be written. False: too many, or out of memory. */
bool snapshot_enlarge(gordian_snapshot *snapshot, uint64_t processes, uint64_t resources);
/* Room for so many in all, if it can be had: it is not touched. */
void snapshot_prepare(gordian_snapshot *snapshot, uint32_t processes, uint32_t resources);
/* Everybody goes; only if no edges but those of wait[] and holder[] are there. */
void snapshot_clear(gordian_snapshot *snapshot);

/* How many threads may work on it: at most `wanted` (0: as many as there are cores) and `most`, one
 * at least, and only one if its memory is a caller's. */
unsigned snapshot_threads(const gordian_snapshot *snapshot, unsigned wanted, uint64_t most);

static inline uint64_t snapshot_total(const gordian_snapshot *snapshot, uint32_t resource)
{
    return snapshot->units ? snapshot->units[resource].total : 1;
}

/* Units held by holder[resource], which must be someone. */
static inline uint64_t snapshot_first_hold(const gordian_snapshot *snapshot, uint32_t resource)
{
    return snapshot->units ? snapshot->units[resource].first : 1;
}

/* Units of wait[process], which must be something. */
static inline uint64_t snapshot_first_wait(const gordian_snapshot *snapshot, uint32_t process)
{
    return snapshot->wait_units ? snapshot->wait_units[process] : 1;
}
