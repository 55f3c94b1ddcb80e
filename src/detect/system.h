/* A system: the graph, an engine beside it, and the lists handed out to the caller. */
#ifndef GORDIAN_DETECT_SYSTEM_H
#define GORDIAN_DETECT_SYSTEM_H

#include "detect/engine.h"

/* A place in the queue of a resource, while several queues are merged. */
struct queue_cursor {
    uint64_t arrival;
    uint32_t ref;
    uint32_t resource;
};

struct shared;

struct gordian_system {
    struct rag graph;
    struct shared *shared; /* many threads (shared.h); NULL: one at a time */
    const struct detect_engine *engine;
    const struct detect_engine *hooks; /* the engine's, refined for the graph's model */
    void *state;                       /* the engine's */

    gordian_want *wants; /* a request put in order, or one being served */
    size_t want_room;
    struct queue_cursor *cursors;
    size_t cursor_room;

    uint32_t *processes; /* the last list of processes handed out */
    size_t process_room;
    gordian_edge *edges; /* the last list of edges handed out */
    size_t edge_room;
    uint64_t *marks; /* bit sets over processes and resources */
    size_t mark_room;
};

static inline const struct rag *system_graph(const gordian_system *system)
{
    return &system->graph;
}

/* Lets the model grow before a request that needs it; the engine may refuse. */
gordian_status system_grow_model(gordian_system *system, gordian_model model, gordian_error *error);

/* One event in the graph, as every system has it: what gordian_feed does unless the system is
 * shared. */
gordian_status system_feed(gordian_system *system, const gordian_event *event,
                           gordian_result *result, gordian_error *error);

/* Around everything that reads or changes what threads share; a thread may enter again. Nothing in
 * a system that is not shared. */
void shared_enter(struct shared *shared);
void shared_leave(struct shared *shared);

static inline void system_enter(const gordian_system *system)
{
    if (system->shared)
        shared_enter(system->shared);
}

static inline void system_leave(const gordian_system *system)
{
    if (system->shared)
        shared_leave(system->shared);
}

/* Takes events the short way (plain.c) up to the first that needs the long one; how many. */
size_t plain_feed(gordian_system *system, const gordian_event *events, size_t count,
                  gordian_result *results);

/* gordian_snapshot_take of what the graph knows: of a shared system all that deadlocks depend on.
 */
gordian_status system_snapshot(gordian_snapshot **out, const gordian_system *system,
                               gordian_error *error);

/* A zeroed bit set over all processes with those that can never run again. */
gordian_status system_dead(gordian_system *system, uint64_t **set, gordian_error *error);

#endif
