/* `keeper`: what the bare loop becomes when it must also serve in order of arrival and return
 * everything a process holds when it ends: queues and lists of holdings, and still no checks, no
 * names, no counts, no witness. The floor under an engine that does all that. */
#pragma once

#include "foundation/base/memory.h"

struct keeper {
    uint32_t *wait, *holder;
    struct keeper_process {
        uint32_t queue_next, queue_prev; /* among those who wait for the same */
        uint32_t held;                   /* first of what it holds */
    } * processes;
    struct keeper_resource {
        uint32_t held_next, held_prev; /* among what its holder holds */
        uint32_t head, tail;           /* of its queue */
    } * resources;
};

bool keeper_open(struct keeper *keeper, const gordian_allocator *memory, uint32_t processes,
                 uint32_t resources);
void keeper_close(struct keeper *keeper, const gordian_allocator *memory);
void keeper_clear(struct keeper *keeper, uint32_t processes, uint32_t resources);

/* Takes requests, releases and cancels; outcomes as gordian_outcome. */
void keeper_feed(struct keeper *keeper, const gordian_event *events, size_t count,
                 uint8_t *outcomes);
