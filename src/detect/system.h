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

struct gordian_system {
    struct rag graph;
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

/* Takes events the short way (plain.c) up to the first that needs the long one; how many. */
size_t plain_feed(gordian_system *system, const gordian_event *events, size_t count,
                  gordian_result *results);

/* A zeroed bit set over all processes with those that can never run again. */
gordian_status system_dead(gordian_system *system, uint64_t **set, gordian_error *error);

#endif
