/* The kernel emulator's machine: schedules blocks and threads. emulator_operations.c has the kernel
 * operations that make threads wait. */
#include "foundation/gpu/machine.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

_Thread_local struct emulated_thread *emulated_thread
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

void machine_init(struct emulated_machine *machine, const gordian_allocator *memory)
{
    memset(machine, 0, sizeof *machine);
    machine->memory = *memory;
    atomic_init(&machine->stop, false);
}

void machine_free(struct emulated_machine *machine)
{
    if (machine->fibers)
        fiber_unmap(machine->fibers, machine->room);
    memory_free_all(&machine->memory, machine->fibers, machine->lanes, machine->ready,
                    machine->blocks);
}

/* Replaces all arrays by larger ones, or none. */
static bool grow_threads(struct emulated_machine *machine, size_t room)
{
    const gordian_allocator *memory = &machine->memory;
    struct fiber *fibers = memory_zeroed(memory, room * sizeof *fibers);
    struct emulated_lane *lanes = memory_zeroed(memory, room * sizeof *lanes);
    struct emulated_lane **ready = memory_zeroed(memory, room * sizeof(void *));
    if (!fibers || !lanes || !ready || !fiber_map(fibers, room)) {
        memory_free_all(memory, fibers, lanes, ready);
        return false;
    }
    if (machine->fibers)
        fiber_unmap(machine->fibers, machine->room);
    memory_free_all(memory, machine->fibers, machine->lanes, machine->ready);
    machine->fibers = fibers;
    machine->lanes = lanes;
    machine->ready = ready;
    machine->room = room;
    return true;
}

bool machine_reserve(struct emulated_machine *machine, uint32_t blocks, uint32_t threads)
{
    size_t wanted = (size_t)blocks * threads;
    if (wanted > machine->room && !grow_threads(machine, wanted))
        return false;
    if (blocks > machine->block_room) {
        struct emulated_block *more = memory_zeroed(&machine->memory, blocks * sizeof *more);
        if (!more)
            return false;
        memory_free(&machine->memory, machine->blocks);
        machine->blocks = more;
        machine->block_room = blocks;
    }
    return true;
}

unsigned emulated_resident(unsigned threads, size_t shared)
{
    unsigned warps = (threads + WARP_SIZE - 1) / WARP_SIZE;
    unsigned each = EMULATED_THREADS / WARP_SIZE / warps;
    if (each > EMULATED_BLOCKS)
        each = EMULATED_BLOCKS;
    if (shared && each > EMULATED_SHARED / shared)
        each = (unsigned)(EMULATED_SHARED / shared);
    return each * EMULATED_MULTIPROCESSORS;
}

uint32_t machine_window(const struct machine_launch *launch)
{
    uint32_t window = launch->cooperative ? launch->blocks : launch->seed ? 3 : 1;
    return window < launch->blocks ? window : launch->blocks;
}

/* ---- the queue of runnable threads */

void machine_ready(struct emulated_machine *machine, struct emulated_lane *lane)
{
    lane->state = EMULATED_READY;
    size_t at = machine->ready_head + machine->ready_count++;
    machine->ready[at < machine->room ? at : at - machine->room] = lane;
}

static struct emulated_lane *take_ready(struct emulated_machine *machine)
{
    if (machine->ready_count == 0)
        return NULL;
    size_t head = machine->ready_head;
    if (machine->shuffled && machine->ready_count > 1) {
        size_t pick = head + random_below(&machine->random, machine->ready_count);
        pick = pick < machine->room ? pick : pick - machine->room;
        struct emulated_lane *other = machine->ready[pick];
        machine->ready[pick] = machine->ready[head];
        machine->ready[head] = other;
    }
    struct emulated_lane *lane = machine->ready[head];
    machine->ready_head = head + 1 < machine->room ? head + 1 : 0;
    machine->ready_count--;
    return lane;
}

/* ---- switching */

void machine_yield(struct emulated_lane *lane)
{
    struct emulated_lane *next = take_ready(lane->machine);
    if (next == lane)
        return;
    emulated_thread = next ? &next->self : NULL;
    fiber_switch(lane->fiber, next ? next->fiber : &lane->machine->host);
}

void machine_fault(struct emulated_machine *machine, gordian_status status, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(machine->message, sizeof machine->message, format, list);
    va_end(list);
    machine->failure = status;
}

FIBER_UNWATCHED void machine_abandon(struct emulated_lane *lane)
{
    emulated_thread = NULL;
    fiber_leave(lane->fiber, &lane->machine->host);
}

/* Runs a kernel thread from its first instruction to its last. */
FIBER_UNWATCHED static void thread_main(void *argument)
{
    struct emulated_lane *lane = (struct emulated_lane *)argument;
    struct emulated_machine *machine = lane->machine;
    machine->launch->kernel->run(machine->launch->arguments);
    lane->state = EMULATED_RETURNED;
    machine->idle = 0;
    machine_returned(lane);
    struct emulated_lane *next = lane->block->live ? take_ready(machine) : NULL;
    emulated_thread = next ? &next->self : NULL;
    fiber_leave(lane->fiber, next ? next->fiber : &machine->host);
}

/* ---- blocks */

static bool start_block(struct emulated_machine *machine, uint32_t slot, uint32_t number)
{
    const struct machine_launch *launch = machine->launch;
    struct emulated_block *block = &machine->blocks[slot];
    memset(block, 0, sizeof *block);
    if (launch->shared) {
        block->dynamic = memory_alloc(&machine->memory, launch->shared);
        if (!block->dynamic) {
            machine_fault(machine, GORDIAN_STATUS_MEMORY, "out of memory");
            return false;
        }
        memset(block->dynamic, EMULATED_GARBAGE, launch->shared);
    }
    block->lanes = machine->lanes + (size_t)slot * launch->threads;
    block->threads = block->live = launch->threads;
    block->shared_bytes = launch->shared;
    struct fiber *fibers = machine->fibers + (size_t)slot * launch->threads;
    for (uint32_t i = 0; i < launch->threads; i++) {
        struct emulated_lane *lane = &block->lanes[i];
        *lane = (struct emulated_lane){
            .self = {i, number, launch->threads, launch->blocks},
            .machine = machine,
            .block = block,
            .fiber = &fibers[i],
        };
        fiber_start(lane->fiber, thread_main, lane);
        machine_ready(machine, lane);
    }
    machine->resident++;
    return true;
}

static void end_block(struct emulated_machine *machine, struct emulated_block *block)
{
    for (unsigned i = 0; i < block->array_count; i++)
        memory_free(&machine->memory, block->arrays[i].content);
    memory_free(&machine->memory, block->dynamic);
    block->dynamic = NULL;
    block->array_count = 0;
    block->lanes = NULL;
    machine->resident--;
}

/* No thread can run: reports what they wait for. */
static void report_stuck(struct emulated_machine *machine, uint32_t window)
{
    unsigned warp = 0, barrier = 0, returned = 0;
    uint32_t number = 0;
    for (uint32_t slot = 0; slot < window; slot++) {
        const struct emulated_block *block = &machine->blocks[slot];
        for (uint32_t i = 0; block->lanes && i < block->threads; i++) {
            const struct emulated_lane *lane = &block->lanes[i];
            number = lane->self.block;
            warp += lane->state == EMULATED_IN_WARP;
            barrier += lane->state == EMULATED_IN_BARRIER;
            returned += lane->state == EMULATED_RETURNED;
        }
    }
    machine_fault(machine, GORDIAN_STATUS_IO,
                  "kernel %s is stuck at block %u: %u threads wait at a barrier, %u in warp "
                  "operations, %u have returned",
                  machine->launch->name, number, barrier, warp, returned);
}

/* The order in which blocks start. A shuffled order is a walk with a step that is coprime to their
 * number. */
struct block_order {
    uint32_t count, next, step, started;
};

static uint32_t common_factor(uint32_t a, uint32_t b)
{
    while (b) {
        uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static struct block_order order_blocks(struct emulated_machine *machine)
{
    struct block_order order = {.count = machine->launch->blocks, .step = 1};
    if (machine->shuffled) {
        order.next = (uint32_t)random_below(&machine->random, order.count);
        order.step = 1 + (uint32_t)random_below(&machine->random, order.count);
        while (common_factor(order.step, order.count) != 1)
            order.step++;
    }
    return order;
}

/* Ends the blocks that are done and starts others in their slots. */
static bool replace_finished_blocks(struct emulated_machine *machine, uint32_t window,
                                    struct block_order *order)
{
    for (uint32_t slot = 0; slot < window; slot++) {
        struct emulated_block *block = &machine->blocks[slot];
        if (block->lanes && block->live == 0)
            end_block(machine, block);
        if (block->lanes || order->started == order->count)
            continue;
        if (!start_block(machine, slot, order->next))
            return false;
        order->next = (uint32_t)(((uint64_t)order->next + order->step) % order->count);
        order->started++;
    }
    return true;
}

void machine_run(struct emulated_machine *machine, const struct machine_launch *launch)
{
    uint32_t window = machine_window(launch);
    machine->launch = launch;
    machine->shuffled = launch->seed != 0;
    random_seed(&machine->random, launch->seed);
    machine->ready_head = machine->ready_count = 0;
    machine->resident = 0;
    machine->idle = 0;
    machine->failure = GORDIAN_OK;
    for (uint32_t slot = 0; slot < window; slot++)
        machine->blocks[slot].lanes = NULL;
    fiber_host(&machine->host);
    struct block_order order = order_blocks(machine);
    while (machine->failure == GORDIAN_OK && replace_finished_blocks(machine, window, &order) &&
           machine->resident) {
        struct emulated_lane *next = take_ready(machine);
        if (!next) {
            report_stuck(machine, window);
            break;
        }
        emulated_thread = &next->self;
        fiber_switch(&machine->host, next->fiber);
    }
    for (uint32_t slot = 0; slot < window; slot++) {
        if (machine->blocks[slot].lanes)
            end_block(machine, &machine->blocks[slot]);
    }
}
