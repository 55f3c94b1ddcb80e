/* `chase`: the simplest code that answers the same question for single-unit systems. Two compact
 * arrays and a loop that follows them; no names, queues, counts, witness or checks. The caller says
 * which process gets a released resource (`to`). */
#pragma once

#include "foundation/base/memory.h"

struct chase {
    uint32_t *wait;   /* by process: the resource it waits for, or GORDIAN_NONE */
    uint32_t *holder; /* by resource: the process that holds it, or GORDIAN_NONE */
};

bool chase_open(struct chase *chase, const gordian_allocator *memory, uint32_t processes,
                uint32_t resources);
void chase_close(struct chase *chase, const gordian_allocator *memory);
/* Resets it: no process holds or waits. */
void chase_clear(struct chase *chase, uint32_t processes, uint32_t resources);

/* Processes requests, releases and cancels; outcomes as gordian_outcome. */
void chase_feed(struct chase *chase, const gordian_event *events, size_t count, uint8_t *outcomes);
/* The same without deadlock detection, to set up a state. */
void chase_place(struct chase *chase, const gordian_event *events, size_t count);
/* Number of processes between a blocked one and the end of its chain. */
uint32_t chase_length(const struct chase *chase, uint32_t process);
