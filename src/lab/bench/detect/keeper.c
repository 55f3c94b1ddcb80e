#include "lab/bench/detect/keeper.h"

#include <string.h>

#define NOBODY GORDIAN_NONE

bool keeper_open(struct keeper *keeper, const gordian_allocator *memory, uint32_t processes,
                 uint32_t resources)
{
    keeper->wait = memory_alloc(memory, processes * sizeof *keeper->wait);
    keeper->holder = memory_alloc(memory, resources * sizeof *keeper->holder);
    keeper->processes = memory_alloc(memory, processes * sizeof *keeper->processes);
    keeper->resources = memory_alloc(memory, resources * sizeof *keeper->resources);
    if (!keeper->wait || !keeper->holder || !keeper->processes || !keeper->resources)
        return false;
    keeper_clear(keeper, processes, resources);
    return true;
}

void keeper_close(struct keeper *keeper, const gordian_allocator *memory)
{
    memory_free_all(memory, keeper->wait, keeper->holder, keeper->processes, keeper->resources);
}

void keeper_clear(struct keeper *keeper, uint32_t processes, uint32_t resources)
{
    memset(keeper->wait, 0xff, processes * sizeof *keeper->wait);
    memset(keeper->holder, 0xff, resources * sizeof *keeper->holder);
    memset(keeper->processes, 0xff, processes * sizeof *keeper->processes);
    memset(keeper->resources, 0xff, resources * sizeof *keeper->resources);
}

static inline void hold(struct keeper *keeper, uint32_t process, uint32_t resource)
{
    struct keeper_resource *r = &keeper->resources[resource];
    uint32_t first = keeper->processes[process].held;
    keeper->holder[resource] = process;
    r->held_next = first;
    r->held_prev = NOBODY;
    if (first != NOBODY)
        keeper->resources[first].held_prev = resource;
    keeper->processes[process].held = resource;
}

static inline void drop(struct keeper *keeper, uint32_t process, uint32_t resource)
{
    uint32_t next = keeper->resources[resource].held_next;
    uint32_t prev = keeper->resources[resource].held_prev;
    keeper->holder[resource] = NOBODY;
    if (prev == NOBODY)
        keeper->processes[process].held = next;
    else
        keeper->resources[prev].held_next = next;
    if (next != NOBODY)
        keeper->resources[next].held_prev = prev;
}

static inline void leave(struct keeper *keeper, uint32_t process)
{
    struct keeper_resource *r = &keeper->resources[keeper->wait[process]];
    struct keeper_process *p = &keeper->processes[process];
    if (p->queue_prev == NOBODY)
        r->head = p->queue_next;
    else
        keeper->processes[p->queue_prev].queue_next = p->queue_next;
    if (p->queue_next == NOBODY)
        r->tail = p->queue_prev;
    else
        keeper->processes[p->queue_next].queue_prev = p->queue_prev;
    keeper->wait[process] = NOBODY;
}

static inline uint8_t keeper_block(struct keeper *keeper, uint32_t process, uint32_t resource)
{
    uint32_t at = keeper->holder[resource];
    while (at != process && keeper->wait[at] != NOBODY)
        at = keeper->holder[keeper->wait[at]];
    struct keeper_resource *r = &keeper->resources[resource];
    struct keeper_process *p = &keeper->processes[process];
    keeper->wait[process] = resource;
    p->queue_next = NOBODY;
    p->queue_prev = r->tail;
    if (r->tail == NOBODY)
        r->head = process;
    else
        keeper->processes[r->tail].queue_next = process;
    r->tail = process;
    return at == process ? GORDIAN_OUTCOME_DEADLOCK : GORDIAN_OUTCOME_BLOCKED;
}

void keeper_feed(struct keeper *keeper, const gordian_event *events, size_t count,
                 uint8_t *outcomes)
{
    for (size_t i = 0; i < count; i++) {
        const uint32_t process = events[i].process, resource = events[i].resource;
        if (events[i].op == GORDIAN_OP_REQUEST) {
            if (keeper->holder[resource] == NOBODY) {
                hold(keeper, process, resource);
                outcomes[i] = GORDIAN_OUTCOME_GRANTED;
            } else {
                outcomes[i] = keeper_block(keeper, process, resource);
            }
        } else if (events[i].op == GORDIAN_OP_RELEASE) {
            uint32_t next = keeper->resources[resource].head;
            drop(keeper, process, resource);
            if (next != NOBODY) {
                leave(keeper, next);
                hold(keeper, next, resource);
            }
            outcomes[i] = GORDIAN_OUTCOME_RELEASED;
        } else {
            leave(keeper, process);
            outcomes[i] = GORDIAN_OUTCOME_CANCELLED;
        }
    }
}
