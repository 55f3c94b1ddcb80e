/*
 * For every abstract state (abstraction.h) the longest way to the end (worst case) or the shortest
 * (best case): a bound for every real state it stands for.
 *
 * A box's steps depend on its numbers of warps only, and each of them leads from a part of the box
 * that is a box again to one of the same shape: so a box is computed row by row, each row the
 * maximum (or minimum) over a few dozen rows of one byte or two a state, which compilers turn into
 * vector instructions. Steps in which somebody leaves a block lead to boxes further on: boxes with
 * the same sum of (block number * warps in it) do not need each other, and threads share them.
 */
#pragma once

#include "engines/makespan/anneal/run_state.h"
#include "engines/makespan/exact/abstraction.h"
#include "foundation/base/threads/thread_pool.h"

struct table {
    const struct abstraction *abstraction;
    gordian_makespan_goal goal;
    gordian_allocator memory;
    unsigned width; /* bytes a state: 1 or 2 */
    void *values;
};

/* Not known: no bound. */
#define TABLE_UNKNOWN UINT32_MAX

/* Bytes a state: values that do not fit are not known (worst), or cut off (best). */
unsigned table_width(const struct makespan_model *model);

/* GORDIAN_STATUS_END: the watch stopped it. The abstraction must outlive the table. */
gordian_status table_open(struct table **out, const struct abstraction *abstraction,
                          gordian_makespan_goal goal, struct thread_pool *workers,
                          struct watch *watch, gordian_error *error);
void table_close(struct table *table); /* NULL is fine */

/* The bound of state number `state`: no more cycles than this follow (worst), no fewer (best). */
static inline uint32_t table_at(const struct table *table, uint64_t state)
{
    if (table->width == 1) {
        uint32_t value = ((const uint8_t *)table->values)[state];
        return value == UINT8_MAX && table->goal == GORDIAN_MAKESPAN_GOAL_WORST ? TABLE_UNKNOWN
                                                                                : value;
    }
    uint32_t value = ((const uint16_t *)table->values)[state];
    return value == UINT16_MAX && table->goal == GORDIAN_MAKESPAN_GOAL_WORST ? TABLE_UNKNOWN
                                                                             : value;
}

/* The bound of the whole: all warps before their first instruction. */
uint32_t table_bound(const struct table *table);

/* That bound alone: no more boxes are kept than still needed, which takes a fraction of the memory.
 * GORDIAN_STATUS_END: the watch stopped it. */
gordian_status table_passing(const struct abstraction *abstraction, gordian_makespan_goal goal,
                             struct thread_pool *workers, struct watch *watch, uint32_t *bound,
                             gordian_error *error);
/* Bytes that takes; UINT64_MAX: not even enough to tell. */
uint64_t table_passing_size(const struct abstraction *abstraction);
