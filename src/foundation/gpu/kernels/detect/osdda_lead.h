/*
 * OSDDA as a resident service: the leader, and the kernel. Included by osdda.cu, whose rows are
 * whole, and osdda_blocks.cu, whose rows are in blocks. The including file defines its arguments
 * (`osdda`, which begin with `vectors`), the name of its kernel (OSDDA_KERNEL), the steps of the
 * grid (combine_paths, hand_over, rebuild_rows) and the functions of the leader that differ:
 *
 *     reaches_process   returns whether the process is on the path from this resource
 *     lay_grant         makes the row of a resource just granted; lay_release: released. By lane 0
 *     lead_other        executes an operation that only one of them has; returns whether it needs
 * the grid begin_step        called before a step of the grid step_failed       returns whether the
 * last step was left undone, for the next kernel to repeat resume_step       returns whether this
 * kernel, which has just begun, has such a step to do
 */
#pragma once

#include "foundation/gpu/kernels/detect/osdda.h"
#include "foundation/gpu/kernels/resident/service.h"
#include "foundation/gpu/language/kernel.h"

/* A path of one step; and its end. By lane 0. */
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

/* Sends the answer before anything else is done. Returns to every lane where the rows will end. */
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

/* Makes a step of a cancelled wait: a cheap one if its path is no cycle. */
DEVICE struct service_command cancel_wait(const osdda *a, struct service_command command)
{
    uint32_t cycle = 0;
    if (LANE == 0) { /* only lane 0 has seen what it has written */
        cycle = reaches_process(a, command.b, command.a);
        GPU_POINTER(uint32_t, a->vectors.wait)[command.a] = OSDDA_NONE;
    }
    command.c = command.a;
    if (warp_shuffle(WARP_ALL, cycle, 0))
        command.operation = OSDDA_REBUILD;
    return command;
}

/* Executes the leader's part of a command. Returns whether the rest needs a step of the grid. */
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
