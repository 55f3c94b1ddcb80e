/* The kernel operations that make a thread wait for others, for the kernel emulator
 * (language/kernel_emulated.h). */
#include "foundation/base/clock.h"
#include "foundation/gpu/machine.h"

#include <sched.h>
#include <string.h>
#include <time.h>

/* A kernel is stuck after this many steps without any change: a fraction of a second. */
#define IDLE_MOST (UINT64_C(1) << 22)
/* After this many idle steps a service's host thread yields; after that many it sleeps. */
#define IDLE_YIELDS 64
#define IDLE_SLEEPS 2000

static struct emulated_lane *current_lane(void)
{
    return (struct emulated_lane *)emulated_thread;
}

/* The last thread to arrive need not wait. When shuffled, it may still not be the next to run. */
static void yield_if_shuffled(struct emulated_lane *lane)
{
    if (!lane->machine->shuffled)
        return;
    machine_ready(lane->machine, lane);
    machine_yield(lane);
}

/* ---- warps */

static struct emulated_lane *first_of_warp(struct emulated_lane *lane)
{
    return lane - lane->self.thread % WARP_SIZE;
}

/* Returns the lanes that meet in the operation of `lane`: all of its mask that have not returned; 0
 * if one is not there yet. The last lanes mostly arrive last, so they are checked first. */
static uint32_t lanes_meeting(struct emulated_lane *first, const struct emulated_lane *lane)
{
    uint32_t members = 0;
    uint32_t count = first->block->threads - first->self.thread;
    for (uint32_t i = count < WARP_SIZE ? count : WARP_SIZE; i-- > 0;) {
        if (!(lane->mask >> i & 1) || first[i].state == EMULATED_RETURNED)
            continue;
        if (first[i].state != EMULATED_IN_WARP || first[i].operation != lane->operation ||
            first[i].mask != lane->mask)
            return 0;
        members |= UINT32_C(1) << i;
    }
    return members;
}

static uint64_t reduce_pair(enum emulated_warp_operation operation, uint64_t a, uint64_t b)
{
    switch (operation) {
    case EMULATED_WARP_ADD:
        return (uint32_t)(a + b);
    case EMULATED_WARP_MIN:
        return a < b ? a : b;
    case EMULATED_WARP_MAX:
        return a > b ? a : b;
    case EMULATED_WARP_AND:
        return a & b;
    default:
        return a | b;
    }
}

/* Returns the value that the lane asked for. The value of a lane that does not take part is
 * undefined; beyond the ends of the warp it is the lane's own. */
static uint64_t shuffled_value(const uint64_t *given, uint32_t members, uint32_t i,
                               const struct emulated_lane *lane)
{
    uint32_t from = i;
    if (lane->operation == EMULATED_WARP_SHUFFLE)
        from = lane->lane % WARP_SIZE;
    else if (lane->operation == EMULATED_WARP_SHUFFLE_XOR)
        from = i ^ lane->lane;
    else if (lane->operation == EMULATED_WARP_SHUFFLE_DOWN)
        from = i + lane->lane;
    else
        from = i - lane->lane;
    if (from >= WARP_SIZE)
        return given[i];
    return members >> from & 1 ? given[from] : ~given[i];
}

/* All lanes have arrived: gives each its result and lets it continue. `self` is running already. */
static void complete_warp(struct emulated_lane *first, uint32_t members, struct emulated_lane *self)
{
    uint64_t given[WARP_SIZE];
    enum emulated_warp_operation operation = first[find_first32(members)].operation;
    uint64_t common = first[find_first32(members)].value;
    uint32_t ballot = 0;
    for (uint32_t i = 0; i < WARP_SIZE; i++) {
        given[i] = members >> i & 1 ? first[i].value : 0;
        ballot |= (uint32_t)(given[i] != 0) << i;
        if ((members >> i & 1) && i > find_first32(members))
            common = reduce_pair(operation, common, given[i]);
    }
    for (uint32_t i = 0; i < WARP_SIZE; i++) {
        if (!(members >> i & 1))
            continue;
        struct emulated_lane *lane = &first[i];
        uint64_t same = 0;
        for (uint32_t k = 0; k < WARP_SIZE && operation == EMULATED_WARP_MATCH; k++)
            same |= (uint64_t)((members >> k & 1) && given[k] == given[i]) << k;
        if (operation == EMULATED_WARP_BALLOT)
            lane->value = ballot;
        else if (operation == EMULATED_WARP_MATCH)
            lane->value = same;
        else if (operation >= EMULATED_WARP_ADD)
            lane->value = common;
        else if (operation >= EMULATED_WARP_SHUFFLE)
            lane->value = shuffled_value(given, members, i, lane);
        if (lane == self)
            lane->state = EMULATED_READY;
        else
            machine_ready(lane->machine, lane);
    }
}

uint64_t emulated_warp(enum emulated_warp_operation operation, uint32_t mask, uint64_t x,
                       uint32_t argument)
{
    struct emulated_lane *lane = current_lane();
    struct emulated_lane *first = first_of_warp(lane);
    if (!(mask >> lane->self.thread % WARP_SIZE & 1)) {
        machine_fault(lane->machine, GORDIAN_STATUS_IO,
                      "kernel %s: thread %u of block %u is not in the mask %08x that it passed",
                      lane->machine->launch->name, lane->self.thread, lane->self.block, mask);
        machine_abandon(lane);
    }
    lane->operation = operation;
    lane->mask = mask;
    lane->value = x;
    lane->lane = argument;
    lane->state = EMULATED_IN_WARP;
    lane->machine->idle = 0;
    uint32_t members = lanes_meeting(first, lane);
    if (members) {
        complete_warp(first, members, lane);
        yield_if_shuffled(lane);
    } else {
        machine_yield(lane);
    }
    return lane->value;
}

/* ---- blocks */

/* All threads have arrived. `self` is running already; NULL: the last missing thread has returned.
 */
static void open_barrier(struct emulated_block *block, struct emulated_lane *self)
{
    block->result = block->votes;
    block->votes = block->arrived = 0;
    for (uint32_t i = 0; i < block->threads; i++) {
        struct emulated_lane *lane = &block->lanes[i];
        if (lane != self && lane->state == EMULATED_IN_BARRIER)
            machine_ready(lane->machine, lane);
    }
}

uint32_t emulated_block(bool x)
{
    struct emulated_lane *lane = current_lane();
    struct emulated_block *block = lane->block;
    lane->machine->idle = 0;
    block->votes += x;
    if (++block->arrived == block->live) {
        open_barrier(block, lane);
        yield_if_shuffled(lane);
    } else {
        lane->state = EMULATED_IN_BARRIER;
        machine_yield(lane);
    }
    return block->result;
}

void machine_returned(struct emulated_lane *lane)
{
    struct emulated_block *block = lane->block;
    block->live--;
    if (block->arrived && block->arrived == block->live)
        open_barrier(block, NULL);
    struct emulated_lane *first = first_of_warp(lane);
    /* Collect the lanes that the block has in this warp and that have not returned. */
    uint32_t live = 0;
    uint32_t count = first->block->threads - first->self.thread;
    for (uint32_t i = 0; i < WARP_SIZE && i < count; i++)
        live |= (uint32_t)(first[i].state != EMULATED_RETURNED) << i;
    uint32_t waiting = live;
    while (waiting) {
        struct emulated_lane *other = &first[find_first32(waiting)];
        waiting &= waiting - 1;
        uint32_t members = other->state == EMULATED_IN_WARP ? lanes_meeting(first, other) : 0;
        if (members)
            complete_warp(first, members, NULL);
    }
}

void require_cooperative(void)
{
    struct emulated_lane *lane = current_lane();
    if (lane->machine->launch->cooperative)
        return;
    machine_fault(lane->machine, GORDIAN_STATUS_IO,
                  "kernel %s: a grid barrier in a launch that is not cooperative",
                  lane->machine->launch->name);
    machine_abandon(lane);
}

void trap(void)
{
    struct emulated_lane *lane = current_lane();
    machine_fault(lane->machine, GORDIAN_STATUS_IO, "kernel %s: thread %u of block %u hit a trap",
                  lane->machine->launch->name, lane->self.thread, lane->self.block);
    machine_abandon(lane);
}

/* ---- waiting loops */

/* Nothing has changed: a service waits for the host; any other kernel would wait for ever. */
static void note_idle(struct emulated_lane *lane)
{
    struct emulated_machine *machine = lane->machine;
    machine->idle++;
    if (!machine->launch->service) {
        if (machine->idle < IDLE_MOST)
            return;
        machine_fault(machine, GORDIAN_STATUS_IO,
                      "kernel %s is stuck: thread %u of block %u and others wait for values that "
                      "do not change",
                      machine->launch->name, lane->self.thread, lane->self.block);
        machine_abandon(lane);
    }
    if (atomic_load_explicit(&machine->stop, memory_order_relaxed)) {
        machine_fault(machine, GORDIAN_STATUS_IO, "kernel %s was stopped", machine->launch->name);
        machine_abandon(lane);
    }
    if (machine->idle < IDLE_YIELDS + 2 * machine->ready_count)
        return;
    struct timespec moment = {.tv_nsec = 50000};
    if (machine->idle < IDLE_SLEEPS)
        sched_yield();
    else
        nanosleep(&moment, NULL);
}

void emulated_step(bool same)
{
    struct emulated_lane *lane = current_lane();
    struct emulated_machine *machine = lane->machine;
    if (same) {
        note_idle(lane);
    } else {
        machine->idle = 0;
        if (!machine->shuffled || random_below(&machine->random, 4))
            return;
    }
    machine_ready(machine, lane);
    machine_yield(lane);
}

void emulated_seen(const volatile void *at, uint64_t x)
{
    struct emulated_lane *lane = current_lane();
    struct emulated_seen *seen = &lane->seen[(uintptr_t)at / 4 % 4];
    if (seen->at == at && seen->value == x)
        note_idle(lane);
    else
        lane->machine->idle = 0;
    *seen = (struct emulated_seen){at, x};
    machine_ready(lane->machine, lane);
    machine_yield(lane);
}

void emulated_nap(uint32_t nanoseconds)
{
    (void)nanoseconds; /* time passes while other threads run */
    emulated_step(true);
}

uint64_t emulated_ns(void)
{
    return clock_ns();
}

/* ---- shared memory */

void *emulated_shared(const void *declaration, size_t bytes)
{
    struct emulated_lane *lane = current_lane();
    struct emulated_block *block = lane->block;
    for (unsigned i = 0; i < block->array_count; i++) {
        if (block->arrays[i].declaration == declaration)
            return block->arrays[i].content;
    }
    const unsigned room = sizeof block->arrays / sizeof *block->arrays;
    void *content = NULL;
    if (block->array_count == room || block->shared_bytes + bytes > EMULATED_SHARED)
        machine_fault(lane->machine, GORDIAN_STATUS_IO, "kernel %s uses too much shared memory",
                      lane->machine->launch->name);
    else if (!(content = memory_alloc(&lane->machine->memory, bytes)))
        machine_fault(lane->machine, GORDIAN_STATUS_MEMORY, "out of memory");
    if (!content)
        machine_abandon(lane);
    memset(content, EMULATED_GARBAGE, bytes);
    block->arrays[block->array_count++] = (struct emulated_array){declaration, content};
    block->shared_bytes += bytes;
    return content;
}

void *emulated_shared_dynamic(void)
{
    return current_lane()->block->dynamic;
}
