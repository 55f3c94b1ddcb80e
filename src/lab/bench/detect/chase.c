#include "lab/bench/detect/chase.h"

#include <string.h>

bool chase_open(struct chase *chase, const gordian_allocator *memory, uint32_t processes,
                uint32_t resources)
{
    chase->wait = memory_alloc(memory, processes * sizeof *chase->wait);
    chase->holder = memory_alloc(memory, resources * sizeof *chase->holder);
    if (!chase->wait || !chase->holder)
        return false;
    chase_clear(chase, processes, resources);
    return true;
}

void chase_close(struct chase *chase, const gordian_allocator *memory)
{
    memory_free_all(memory, chase->wait, chase->holder);
}

void chase_clear(struct chase *chase, uint32_t processes, uint32_t resources)
{
    memset(chase->wait, 0xff, processes * sizeof *chase->wait);
    memset(chase->holder, 0xff, resources * sizeof *chase->holder);
}

static inline uint8_t chase_block(uint32_t *wait, const uint32_t *holder, uint32_t process,
                                  uint32_t resource)
{
    uint32_t at = holder[resource];
    while (at != process && wait[at] != GORDIAN_NONE)
        at = holder[wait[at]];
    wait[process] = resource;
    return at == process ? GORDIAN_OUTCOME_DEADLOCK : GORDIAN_OUTCOME_BLOCKED;
}

void chase_feed(struct chase *chase, const gordian_event *events, size_t count, uint8_t *outcomes)
{
    uint32_t *const wait = chase->wait, *const holder = chase->holder;
    for (size_t i = 0; i < count; i++) {
        const gordian_event *event = &events[i];
        const uint32_t process = event->process, resource = event->resource;
        if (event->op == GORDIAN_OP_REQUEST) {
            if (holder[resource] == GORDIAN_NONE) {
                holder[resource] = process;
                outcomes[i] = GORDIAN_OUTCOME_GRANTED;
            } else {
                outcomes[i] = chase_block(wait, holder, process, resource);
            }
        } else if (event->op == GORDIAN_OP_RELEASE) {
            holder[resource] = event->to;
            if (event->to != GORDIAN_NONE)
                wait[event->to] = GORDIAN_NONE;
            outcomes[i] = GORDIAN_OUTCOME_RELEASED;
        } else {
            wait[process] = GORDIAN_NONE;
            outcomes[i] = GORDIAN_OUTCOME_CANCELLED;
        }
    }
}

void chase_place(struct chase *chase, const gordian_event *events, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t *holder = &chase->holder[events[i].resource];
        if (*holder == GORDIAN_NONE)
            *holder = events[i].process;
        else
            chase->wait[events[i].process] = events[i].resource;
    }
}

uint32_t chase_length(const struct chase *chase, uint32_t process)
{
    uint32_t length = 0, at = process;
    while (chase->wait[at] != GORDIAN_NONE) {
        at = chase->holder[chase->wait[at]];
        length++;
        if (at == process)
            break;
    }
    return length;
}
