/* The edges of a process snapshot, which make its wait-for graph: a thread waits for a lock, or
 * holds it. */
#pragma once

#include "foundation/base/memory.h"
#include "foundation/records/incident.h"

/* How certain a fact is. */
enum word {
    WORD_PROVED = INCIDENT_PROVED,
    WORD_LIKELY = INCIDENT_LIKELY,
};

struct wait_for_edge {
    uint32_t thread; /* or SNAPSHOT_GONE */
    uint32_t lock;
    uint32_t mode;
    uint32_t flags; /* enum incident_edge_flags */
    enum word word;
    const char *evidence; /* how it was found, as a part of a sentence; NULL */
    uint32_t next_hold;   /* of the same lock */
};

struct snapshot_edges {
    struct wait_for_edge *list;
    size_t count, capacity;
};

/* Returns its index; UINT32_MAX: out of memory. */
uint32_t edges_add(struct snapshot_edges *edges, const gordian_allocator *memory,
                   const struct wait_for_edge *edge);
/* Returns the thread's edge among the holds that begin with `first`; UINT32_MAX: none. */
uint32_t edges_find_hold(const struct snapshot_edges *edges, uint32_t first, uint32_t thread);
