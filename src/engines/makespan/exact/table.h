/*
 * For every abstract state (abstraction.h), the longest path to the end (worst case) or the
 * shortest (best case). It is a bound for every real state that the abstract state represents.
 *
 * The steps of a box depend only on its numbers of warps, and each of them maps a sub-box to one of
 * the same shape. So a box is computed row by row: a row is the maximum (or minimum) over a few
 * dozen rows of one or two bytes per state, which compilers vectorize. Steps in which a warp leaves
 * a block lead to later boxes. Boxes with the same sum of (block number * warps in it) do not
 * depend on each other, and are distributed over threads.
 */
#pragma once

#include "engines/makespan/anneal/run_state.h"
#include "engines/makespan/exact/abstraction.h"
#include "foundation/base/threads/thread_pool.h"

struct table {
    const struct abstraction *abstraction;
    gordian_makespan_goal goal;
    gordian_allocator memory;
    unsigned width; /* bytes per state: 1 or 2 */
    void *values;
};

/* Unknown: no bound. */
#define TABLE_UNKNOWN UINT32_MAX

/* Bytes per state. Values that do not fit are unknown (worst) or cut off (best). */
unsigned table_width(const struct makespan_model *model);

/* GORDIAN_STATUS_END: the watch stopped it. The abstraction must outlive the table. */
gordian_status table_open(struct table **out, const struct abstraction *abstraction,
                          gordian_makespan_goal goal, struct thread_pool *workers,
                          struct watch *watch, gordian_error *error);
void table_close(struct table *table); /* accepts NULL */

/* Returns the bound of state number `state`: at most this many cycles follow (worst), or at least
 * (best). */
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

/* Returns the bound of the initial state: all warps before their first instruction. */
uint32_t table_bound(const struct table *table);

/* Computes that bound alone. It keeps only the boxes that are still needed, which takes a fraction
 * of the memory. GORDIAN_STATUS_END: the watch stopped it. */
gordian_status table_passing(const struct abstraction *abstraction, gordian_makespan_goal goal,
                             struct thread_pool *workers, struct watch *watch, uint32_t *bound,
                             gordian_error *error);
/* Returns the bytes that table_passing needs; UINT64_MAX: there is not even enough memory to
 * compute the size. */
uint64_t table_passing_size(const struct abstraction *abstraction);
