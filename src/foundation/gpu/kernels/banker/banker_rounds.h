/* Rounds: the whole grid visits all processes; processes that fit release what they hold. */
#pragma once

#include "foundation/gpu/kernels/banker/banker.h"
#include "foundation/gpu/kernels/banker/banker_unit.h"

#define AHEAD 2u /* groups a lane has in flight */

#define WARP  ((BLOCK_INDEX * BLOCK_SIZE + THREAD_INDEX) / WARP_SIZE)
#define WARPS (GRID_SIZE * BLOCK_SIZE / WARP_SIZE)

#define CONTROL GPU_POINTER(struct banker_control, a->control)

typedef struct banker_arguments banker;

DEVICE uint32_t *finish_round(const banker *a)
{
    return GPU_POINTER(uint32_t, a->round);
}

/* Returns what the process needs under the question's assumptions. */
DEVICE const unit *need_row(const banker *a, uint32_t process)
{
    return process == a->process ? GPU_POINTER(const unit, a->own)
                                 : GPU_POINTER(const unit, a->need) + process * a->stride;
}

/* Returns what it releases of the resource. */
DEVICE unit given_by(const banker *a, uint32_t process, uint32_t resource)
{
    unit held = GPU_POINTER(const unit, a->held)[process * a->stride + resource];
    return process == a->process ? held + GPU_POINTER(const unit, a->taken)[resource] : held;
}

/* Returns whether the row is within `work`. By a warp. */
DEVICE bool row_fits(const banker *a, const unit *row)
{
    const group *need = (const group *)row, *work = GPU_POINTER(const group, a->work);
    uint32_t groups = (a->resources + GROUP - 1) / GROUP;
    for (uint32_t base = 0; base < groups; base += AHEAD * WARP_SIZE) {
        uint32_t over = 0;
        UNROLL
        for (uint32_t i = 0; i < AHEAD; i++) {
            uint32_t at = base + i * WARP_SIZE + LANE;
            if (at < groups)
                over |= exceeding(need[at], work[at]);
        }
        if (warp_any(WARP_ALL, over != 0))
            return false;
    }
    return true;
}

/* Puts all processes that fit into the list. */
DEVICE void look_round(const banker *a, uint32_t round)
{
    uint32_t *rounds = finish_round(a), *list = GPU_POINTER(uint32_t, a->list);
    for (uint32_t process = WARP; process < a->processes; process += WARPS) {
        if (rounds[process] != BANKER_NONE || !row_fits(a, need_row(a, process)))
            continue;
        if (LANE == 0) {
            rounds[process] = round;
            list[atomic_add32(&CONTROL->finished, 1)] = process;
        }
    }
}

/* Adds what list[from..to) hold to `work`. A thread has a column; if there are more threads, groups
 * of them share the rows of their block. */
DEVICE void give_back(const banker *a, uint32_t from, uint32_t to)
{
    const uint32_t *list = GPU_POINTER(const uint32_t, a->list);
    uint32_t wide = (a->resources + WARP_SIZE - 1) / WARP_SIZE * WARP_SIZE;
    uint32_t width = wide < BLOCK_SIZE ? wide : BLOCK_SIZE;
    uint32_t teams = BLOCK_SIZE / width, team = THREAD_INDEX / width;
    if (team >= teams)
        return;
    for (uint32_t resource = THREAD_INDEX % width; resource < a->resources; resource += width) {
        unit sum = 0;
        UNROLL_BY4
        for (uint32_t i = from + BLOCK_INDEX * teams + team; i < to; i += GRID_SIZE * teams)
            sum += given_by(a, list[i], resource);
        if (sum)
            atomic_add_unit(&GPU_POINTER(unit, a->work)[resource], sum);
    }
}

/* Returns how many entries of a resource's order need no more than `work` of it. */
DEVICE uint32_t reach_of(const banker *a, uint32_t resource, unit work)
{
    const entry *order = GPU_POINTER(const entry, a->order) + (uint64_t)resource * a->process_room;
    uint32_t low = 0, count = a->process_room;
    while (count > 0) {
        uint32_t half = count / 2;
        if (entry_need(order[low + half]) <= work) {
            low += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    return low;
}

/* Returns how many resources a row needs more of than `work`. By a warp. */
DEVICE uint32_t row_short(const banker *a, const unit *row)
{
    const group *need = (const group *)row, *work = GPU_POINTER(const group, a->work);
    uint32_t groups = (a->resources + GROUP - 1) / GROUP, over = 0;
    UNROLL_BY4
    for (uint32_t at = LANE; at < groups; at += WARP_SIZE)
        over += exceeding(need[at], work[at]);
    return warp_reduce_add(WARP_ALL, over);
}

/* The start of a search: the place that `work` reaches in every order, and how many resources every
 * process is short of. Finished processes, and the process in question, which is handled
 * separately, get a count that never falls to zero. */
DEVICE void count_short(const banker *a)
{
    const uint32_t *rounds = finish_round(a);
    const unit *work = GPU_POINTER(const unit, a->work);
    uint32_t *counts = GPU_POINTER(uint32_t, a->counts);
    uint32_t *pointers = GPU_POINTER(uint32_t, a->pointer);
    for (uint32_t resource = BLOCK_INDEX * BLOCK_SIZE + THREAD_INDEX; resource < a->resources;
         resource += GRID_SIZE * BLOCK_SIZE)
        pointers[resource] = reach_of(a, resource, work[resource]);
    for (uint32_t process = WARP; process < a->processes; process += WARPS) {
        uint32_t count = a->resources + 1;
        if (rounds[process] == BANKER_NONE && process != a->process)
            count = row_short(a, need_row(a, process));
        if (LANE == 0)
            counts[process] = count;
    }
}
