/*
 * The resource-allocation graph, also called wait-for graph: which process holds and waits for
 * what.
 *
 * It stores the state and the serving policy, and nothing about deadlocks: the engines
 * (engines/detect/engine/engine.h) read this graph to find deadlocks.
 *
 * Layout. Following a chain of waiting processes reads two numbers a hop: what the process waits
 * for, and its holder. These two are separate arrays (wait, holder). In addition each process and
 * each resource has a record of 16 bytes with what nearly every event needs, and a second record
 * with the rest. Most processes wait for one resource and most resources have one holder, so the
 * first wait edge is part of the process and the first hold edge part of the resource; further
 * edges come from pools. A *reference* names either:
 *
 *     hold reference   resource id, or RAG_POOLED | index into holds
 *     wait reference   process id,  or RAG_POOLED | index into waits
 *
 * Lists. Everything that a process holds is one doubly linked list of hold references. All waiters
 * of a resource are one doubly linked queue of wait references in order of arrival. Further holders
 * of a resource and further resources of a request are linked from the embedded edge.
 *
 * Memory. What an event may need is reserved before the event changes anything (rag_reserve_*), so
 * changing the graph never fails.
 */
#pragma once

#include "foundation/base/memory.h"
#include "foundation/base/names/interner.h"

#define NONE        GORDIAN_NONE
#define RAG_POOLED  UINT32_C(0x80000000)
#define RAG_ID_MAX  UINT32_C(0x7fffffff) /* ids are below: the high bit marks the pool */
#define RAG_REMOVED (NONE - 1)           /* holder of a resource that was removed */

enum rag_flags {
    RAG_IN_USE = 1, /* not removed */
    RAG_ONE = 2,    /* resource: exactly one unit */
    RAG_AWAIT = 4,  /* resource: an await, see engines/detect/acts.c */
};

struct rag_process {
    uint32_t queue_next; /* the embedded wait edge's link in its resource's queue */
    uint32_t queue_prev;
    uint32_t held; /* first hold reference of its list, or NONE */
    uint32_t path; /* the engine's: see engines/detect/engine/path.h */
};

struct rag_process_more {
    uint64_t wait_units; /* of the embedded wait edge, unless for a one-unit resource */
    uint64_t arrival;    /* when its pending request arrived: order of service */
    uint64_t born;       /* when it was added: youngest and oldest */
    uint32_t wait_more;  /* further wait edges of its pending request, or NONE */
    uint32_t
        mark; /* the engine's: see engines/detect/engine/path.h and engines/detect/engine/multi.c */
};

struct rag_resource {
    uint32_t held_next; /* the embedded hold edge's link in its holder's list */
    uint32_t held_prev;
    uint32_t queue_head; /* wait references, in order of arrival */
    uint32_t queue_tail;
};

struct rag_resource_more {
    uint64_t total;
    uint64_t free;
    uint64_t held_units; /* of the embedded hold edge, unless of a one-unit resource */
    uint32_t holders;    /* further hold edges of this resource, or NONE */
    uint32_t flags;
    uint32_t witness; /* the engine's: see engines/detect/engine/multi.c */
};

struct rag_hold {
    uint64_t units;
    uint32_t process;
    uint32_t resource;
    uint32_t held_next, held_prev;
    uint32_t holders_next, holders_prev;
};

struct rag_wait {
    uint64_t units;
    uint32_t process;
    uint32_t resource;
    uint32_t queue_next, queue_prev;
    uint32_t more; /* next wait edge of the same request; in the free list: next free */
};

struct rag_attributes {
    int64_t priority;
    int64_t cost;
};

struct rag {
    gordian_allocator memory;

    uint32_t *wait; /* by process: first resource of its pending request; NONE: it runs */
    struct rag_process *processes;
    struct rag_process_more *processes_more;
    struct rag_attributes *attributes; /* NULL until one is set */
    uint32_t process_limit, process_room, process_count;
    uint32_t free_process; /* linked through .held; a free one waits for RAG_POOLED | itself */

    uint32_t *holder; /* by resource: the holder of the embedded hold edge, or NONE */
    struct rag_resource *resources;
    struct rag_resource_more *resources_more;
    uint32_t resource_limit, resource_room, resource_count;
    uint32_t free_resource; /* linked through .holders; a free one lacks RAG_IN_USE */

    struct rag_hold *holds; /* the pools of further edges */
    uint32_t hold_limit, hold_room, free_hold, holds_free_count;
    struct rag_wait *waits;
    uint32_t wait_limit, wait_room, free_wait, waits_free_count;

    uint32_t waiting;    /* processes that wait */
    uint32_t wait_edges; /* of theirs, those for resources of several units */
    uint64_t clock;      /* arrivals and births so far */
    gordian_model model;

    uint32_t opened; /* the engine's: the process that had closed the deadlock that the last cancel
                        or exit ended; NONE: it ended none, or the engine does not know it */

    uint32_t nowhere; /* target of stores that have no other target, see links.h */

    struct names process_names, resource_names;

    uint32_t *served; /* processes served by the current call */
    size_t served_count, served_room;
};

void rag_init(struct rag *rag, const gordian_allocator *memory);
void rag_free(struct rag *rag);

/* Adding may fail for lack of memory, and then changes nothing; after the matching reserve it does
 * not fail. */
bool rag_reserve(struct rag *rag, uint32_t processes, uint32_t resources);
bool rag_reserve_process(struct rag *rag, size_t name_length);
bool rag_reserve_resource(struct rag *rag, size_t name_length);
bool rag_add_process(struct rag *rag, const char *name, size_t length, uint32_t *id);
bool rag_add_resource(struct rag *rag, const char *name, size_t length, uint64_t units,
                      uint32_t *id);
/* Only for one without edges. */
void rag_remove_process(struct rag *rag, uint32_t process);
void rag_remove_resource(struct rag *rag, uint32_t resource);

/* Reserve memory for `edges` more hold or wait edges and everything that follows from them. */
bool rag_reserve_grant(struct rag *rag, size_t edges);
bool rag_reserve_block(struct rag *rag, size_t edges);
/* Reserves memory for serving all waiting processes in one more event. */
bool rag_reserve_served(struct rag *rag);

/* Changes. The caller has checked that units are free, held, ... as the names say. */
void rag_grant(struct rag *rag, uint32_t process, uint32_t resource, uint64_t units);
void rag_ungrant(struct rag *rag, uint32_t process, uint32_t resource, uint64_t units);
void rag_block(struct rag *rag, uint32_t process, const gordian_want *wants, size_t count);
void rag_unblock(struct rag *rag, uint32_t process); /* leaves all queues */

/* For deserializing a graph (engines/detect/serialize.c), after rag_reserve_grant: adds a hold
 * edge, pooled or embedded as it was; restores the order of the pooled holders of a resource, given
 * by their processes. `refs` is working memory, by process. */
void rag_put_hold(struct rag *rag, uint32_t process, uint32_t resource, uint64_t units,
                  bool pooled);
void rag_order_holders(struct rag *rag, uint32_t resource, const uint32_t *processes, size_t count,
                       uint32_t *refs);

/* Returns whether the whole pending request of `process` fits what is free. */
bool rag_fits(const struct rag *rag, uint32_t process);
/* Returns the units of `resource` that `process` holds. */
uint64_t rag_held_units(const struct rag *rag, uint32_t process, uint32_t resource);
/* Returns whether any process waits for something that `process` holds. */
bool rag_has_waiters(const struct rag *rag, uint32_t process);

/* ---- reading, in the engines' inner loops */

static inline bool rag_is_process(const struct rag *rag, uint32_t process)
{
    return process < rag->process_limit && rag->wait[process] != (process | RAG_POOLED);
}

static inline bool rag_is_resource(const struct rag *rag, uint32_t resource)
{
    return resource < rag->resource_limit && rag->resources_more[resource].flags & RAG_IN_USE;
}

static inline bool rag_waits(const struct rag *rag, uint32_t process)
{
    return rag->wait[process] < RAG_POOLED; /* NONE and a free id are above */
}

static inline uint64_t rag_free_units(const struct rag *rag, uint32_t resource)
{
    if (rag->resources_more[resource].flags & RAG_ONE) /* stored by the holder alone */
        return rag->holder[resource] == NONE;
    return rag->resources_more[resource].free;
}

static inline uint64_t rag_total_units(const struct rag *rag, uint32_t resource)
{
    return rag->resources_more[resource].total;
}

/* Prefetches what an event of this process, or about this resource, reads. */
static inline void rag_prefetch_process(const struct rag *rag, uint32_t process)
{
    __builtin_prefetch(&rag->wait[process], 1);
    __builtin_prefetch(&rag->processes[process], 1);
}

static inline void rag_prefetch_resource(const struct rag *rag, uint32_t resource)
{
    __builtin_prefetch(&rag->holder[resource], 1);
    __builtin_prefetch(&rag->resources[resource], 1);
}

/* An edge, in either form of storage. */
struct rag_edge {
    uint64_t units;
    uint32_t process;
    uint32_t resource;
    uint32_t next; /* reference of the next one in the list being walked */
};

/* What a process holds: for (ref = processes[p].held; ref != NONE; ref = edge.next) */
static inline struct rag_edge rag_held(const struct rag *rag, uint32_t ref)
{
    if (ref & RAG_POOLED) {
        const struct rag_hold *h = &rag->holds[ref & ~RAG_POOLED];
        return (struct rag_edge){h->units, h->process, h->resource, h->held_next};
    }
    const struct rag_resource_more *more = &rag->resources_more[ref];
    uint64_t units = more->flags & RAG_ONE ? 1 : more->held_units;
    return (struct rag_edge){units, rag->holder[ref], ref, rag->resources[ref].held_next};
}

/* The holders of a resource: for (ref = rag_first_holder(rag, q); ref != NONE; ref = edge.next) */
static inline uint32_t rag_first_holder(const struct rag *rag, uint32_t resource)
{
    return rag->holder[resource] != NONE ? resource : rag->resources_more[resource].holders;
}

static inline struct rag_edge rag_holder(const struct rag *rag, uint32_t ref)
{
    struct rag_edge edge = rag_held(rag, ref);
    edge.next = ref & RAG_POOLED ? rag->holds[ref & ~RAG_POOLED].holders_next
                                 : rag->resources_more[ref].holders;
    return edge;
}

/* What a waiting process waits for: for (ref = p; ref != NONE; ref = edge.next) */
static inline struct rag_edge rag_wanted(const struct rag *rag, uint32_t ref)
{
    if (ref & RAG_POOLED) {
        const struct rag_wait *w = &rag->waits[ref & ~RAG_POOLED];
        return (struct rag_edge){w->units, w->process, w->resource, w->more};
    }
    uint32_t resource = rag->wait[ref];
    const struct rag_process_more *more = &rag->processes_more[ref];
    uint64_t units = rag->resources_more[resource].flags & RAG_ONE ? 1 : more->wait_units;
    return (struct rag_edge){units, ref, resource, more->wait_more};
}

/* The waiters of a resource: for (ref = resources[q].queue_head; ref != NONE; ref = edge.next) */
static inline struct rag_edge rag_queued(const struct rag *rag, uint32_t ref)
{
    struct rag_edge edge = rag_wanted(rag, ref);
    edge.next = ref & RAG_POOLED ? rag->waits[ref & ~RAG_POOLED].queue_next
                                 : rag->processes[ref].queue_next;
    return edge;
}
