/* The wait-for graph's lists, inline: the few stores that granting, releasing, waiting and serving
 * take. Only rag.c and the event loop (engines/detect/events.c) include this. */
#pragma once

#include "engines/rag/rag.h"

/* ---- what a process holds */

static inline uint32_t *held_next(struct rag *rag, uint32_t ref)
{
    return ref & RAG_POOLED ? &rag->holds[ref & ~RAG_POOLED].held_next
                            : &rag->resources[ref].held_next;
}

static inline uint32_t *held_prev(struct rag *rag, uint32_t ref)
{
    return ref & RAG_POOLED ? &rag->holds[ref & ~RAG_POOLED].held_prev
                            : &rag->resources[ref].held_prev;
}

static inline void link_held(struct rag *rag, uint32_t process, uint32_t ref)
{
    uint32_t first = rag->processes[process].held;
    *held_next(rag, ref) = first;
    *held_prev(rag, ref) = NONE;
    if (first != NONE)
        *held_prev(rag, first) = ref;
    rag->processes[process].held = ref;
}

static inline void unlink_held(struct rag *rag, uint32_t process, uint32_t ref)
{
    uint32_t next = *held_next(rag, ref), prev = *held_prev(rag, ref);
    if (prev == NONE)
        rag->processes[process].held = next;
    else
        *held_next(rag, prev) = next;
    if (next != NONE)
        *held_prev(rag, next) = prev;
}

/* The embedded hold edge. */
static inline void grant_one(struct rag *rag, uint32_t process, uint32_t resource)
{
    rag->holder[resource] = process;
    link_held(rag, process, resource);
}

static inline void ungrant_one(struct rag *rag, uint32_t process, uint32_t resource)
{
    unlink_held(rag, process, resource);
    rag->holder[resource] = NONE;
}

/* ---- waiters of a resource */

static inline uint32_t *queue_next(struct rag *rag, uint32_t ref)
{
    return ref & RAG_POOLED ? &rag->waits[ref & ~RAG_POOLED].queue_next
                            : &rag->processes[ref].queue_next;
}

static inline uint32_t *queue_prev(struct rag *rag, uint32_t ref)
{
    return ref & RAG_POOLED ? &rag->waits[ref & ~RAG_POOLED].queue_prev
                            : &rag->processes[ref].queue_prev;
}

static inline void queue_push(struct rag *rag, uint32_t resource, uint32_t ref)
{
    struct rag_resource *r = &rag->resources[resource];
    *queue_next(rag, ref) = NONE;
    *queue_prev(rag, ref) = r->queue_tail;
    if (r->queue_tail == NONE)
        r->queue_head = ref;
    else
        *queue_next(rag, r->queue_tail) = ref;
    r->queue_tail = ref;
}

static inline void queue_pull(struct rag *rag, uint32_t resource, uint32_t ref)
{
    struct rag_resource *r = &rag->resources[resource];
    uint32_t next = *queue_next(rag, ref), prev = *queue_prev(rag, ref);
    if (prev == NONE)
        r->queue_head = next;
    else
        *queue_next(rag, prev) = next;
    if (next == NONE)
        r->queue_tail = prev;
    else
        *queue_prev(rag, next) = prev;
}

static inline void count_wait_edge(struct rag *rag, uint32_t resource, int change)
{
    if (!(rag->resources_more[resource].flags & RAG_ONE))
        rag->wait_edges += (uint32_t)change;
}

/* The embedded wait edge. */
static inline void block_one(struct rag *rag, uint32_t process, uint32_t resource, uint64_t units)
{
    rag->wait[process] = resource;
    if (!(rag->resources_more[resource].flags & RAG_ONE))
        rag->processes_more[process].wait_units = units;
    rag->processes_more[process].arrival = rag->clock++;
    queue_push(rag, resource, process);
    count_wait_edge(rag, resource, 1);
    rag->waiting++;
}

static inline void unblock_one(struct rag *rag, uint32_t process)
{
    queue_pull(rag, rag->wait[process], process);
    count_wait_edge(rag, rag->wait[process], -1);
    rag->wait[process] = NONE;
    rag->waiting--;
}
