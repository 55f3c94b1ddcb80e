/*
 * OSDDA as a resident service: the leader, and the kernel. Included by osdda.cu, whose rows are
 * whole, and osdda_blocks.cu, whose rows are blocks. Whoever includes it says what its arguments
 * are (`osdda`: they begin with `vectors`) and what its kernel is called (OSDDA_KERNEL), and has
 * the steps of the grid (combine_paths, hand_over, rebuild_rows) and what differs for the leader:
 *
 *     reaches_process   is the process on the path from this resource?
 *     lay_grant         the row of a resource just granted; lay_release: given back. Lane 0's
 *     lead_other        an operation that only one of them knows; does it need the grid?
 *     begin_step        before a step of the grid
 *     step_failed       has the last step been left undone, for the next kernel to do again?
 *     resume_step       and does this kernel, which has just begun, have such a step to do?
 */
#pragma once

#include "foundation/gpu/kernels/detect/osdda.h"
#include "foundation/gpu/kernels/resident/service.h"
#include "foundation/gpu/language/kernel.h"

/* A path of one step; and none again. Lane 0's. */
DEVICE void grant_resource(const osdda *a, uint32_t process, uint32_t resource)
{
    GPU_POINTER(uint32_t, a->vectors.holder)[resource] = process;
    GPU_POINTER(uint32_t, a->vectors.sink_of)[resource] = process;
    lay_grant(a, process, resource);
}

DEVICE void release_resource(const osdda *a, uint32_t process, uint32_t resource)
{
    GPU_POINTER(uint32_t, a->vectors.holder)[resource] = OSDDA_NONE;
    GPU_POINTER(uint32_t, a->vectors.sink_of)[resource] = OSDDA_NONE;
    lay_release(a, process, resource);
}

/* The answer leaves before anything else is done. Where the rows will end, for every lane. */
DEVICE uint32_t block_process(const osdda *a, struct service_command command)
{
    uint32_t end = OSDDA_NONE;
    if (LANE == 0) {
        uint32_t sink = GPU_POINTER(uint32_t, a->vectors.sink_of)[command.b];
        service_answer(&a->vectors.service, command.number, sink);
        GPU_POINTER(uint32_t, a->vectors.wait)[command.a] = command.b;
        end = sink == command.a ? OSDDA_NONE : sink;
    }
    return warp_shuffle(WARP_ALL, end, 0);
}

/* A wait given up: as a step, cheap where its path is no cycle. */
DEVICE struct service_command cancel_wait(const osdda *a, struct service_command command)
{
    uint32_t cycle = 0;
    if (LANE == 0) { /* which alone has seen what it has written */
        cycle = reaches_process(a, command.b, command.a);
        GPU_POINTER(uint32_t, a->vectors.wait)[command.a] = OSDDA_NONE;
    }
    command.c = command.a;
    if (warp_shuffle(WARP_ALL, cycle, 0))
        command.operation = OSDDA_REBUILD;
    return command;
}

/* Carries a command out as far as the leader can; does the rest need a step of the grid? */
DEVICE bool lead_command(const osdda *a, struct service_command *command)
{
    switch (command->operation) {
    case OSDDA_GRANT:
        if (LANE == 0)
            grant_resource(a, command->a, command->b);
        return false;
    case OSDDA_RELEASE:
        if (LANE == 0)
            release_resource(a, command->a, command->b);
        return false;
    case OSDDA_BLOCK:
        command->c = block_process(a, *command);
        return true;
    case OSDDA_BLOCK_ALONE:
        block_process(a, *command);
        return false;
    case OSDDA_HAND_OVER:
        if (LANE == 0) {
            GPU_POINTER(uint32_t, a->vectors.holder)[command->b] = command->c;
            GPU_POINTER(uint32_t, a->vectors.wait)[command->c] = OSDDA_NONE;
        }
        return true;
    case OSDDA_CANCEL:
        *command = cancel_wait(a, *command);
        return true;
    case OSDDA_CANCEL_ALONE:
        if (LANE == 0)
            GPU_POINTER(uint32_t, a->vectors.wait)[command->a] = OSDDA_NONE;
        return false;
    case OSDDA_PING:
        if (LANE == 0) {
            fence_system(); /* the host reads the matrices next */
            service_answer(&a->vectors.service, command->number, 0);
        }
        return false;
    case OSDDA_REBUILD:
    case OSDDA_STOP:
        return true;
    default:
        return lead_other(a, *command);
    }
}

/* Takes commands until one needs the grid. */
DEVICE struct service_command lead_grid(const osdda *a, struct service_leader *leader)
{
    struct service_command command;
    bool again = leader->step == 0 && resume_step(a, &command);
    while (!again) {
        command = service_take(leader, &a->vectors.service);
        service_settled(leader, &a->vectors.service);
        if (command.operation != OSDDA_STOP && step_failed(a))
            command = service_put_back(leader, &a->vectors.service);
        if (lead_command(a, &command))
            break;
    }
    begin_step(a, command);
    service_broadcast(leader, &a->vectors.service, command);
    return command;
}

/* ------------------------------------------------------------------ the kernel */

DEVICE void carry_out(const osdda *a, struct service_command command)
{
    if (command.operation == OSDDA_HAND_OVER)
        hand_over(a, command);
    else if (command.operation == OSDDA_REBUILD)
        rebuild_rows(a, command.a);
    else
        combine_paths(a, command);
}

KERNEL_BOUNDED(OSDDA_KERNEL, osdda, OSDDA_MAX_THREADS, 2)
{
    SHARED(struct service_command, current, 1);
    struct service_leader leader;
    service_begin(&leader, &a.vectors.service);
    for (uint32_t step = 1;; step++) {
        if (THREAD_INDEX < WARP_SIZE) {
            struct service_command command = BLOCK_INDEX == 0
                                                 ? lead_grid(&a, &leader)
                                                 : service_follow(&a.vectors.service, step);
            if (LANE == 0)
                current[0] = command;
        }
        block_barrier();
        struct service_command command = current[0];
        if (command.operation == OSDDA_STOP)
            return;
        carry_out(&a, command);
        service_arrive(&a.vectors.service);
    }
}
