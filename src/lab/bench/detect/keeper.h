/* `keeper`: the bare loop extended by service in order of arrival, and by the release of all that
 * an ending process holds. It has queues and lists of held resources, but no checks, names, counts
 * or witness. A lower bound for an engine that does all that. */
#pragma once

#include "foundation/base/memory.h"

struct keeper {
    uint32_t *wait, *holder;
    struct keeper_process {
        uint32_t queue_next, queue_prev; /* in the queue of its resource */
        uint32_t held;                   /* first of the resources that it holds */
    } * processes;
    struct keeper_resource {
        uint32_t held_next, held_prev; /* in the list of its holder */
        uint32_t head, tail;           /* of its queue */
    } * resources;
};

bool keeper_open(struct keeper *keeper, const gordian_allocator *memory, uint32_t processes,
                 uint32_t resources);
void keeper_close(struct keeper *keeper, const gordian_allocator *memory);
void keeper_clear(struct keeper *keeper, uint32_t processes, uint32_t resources);

/* Processes requests, releases and cancels; outcomes as gordian_outcome. */
void keeper_feed(struct keeper *keeper, const gordian_event *events, size_t count,
                 uint8_t *outcomes);
