/*
 * Schedules, and how they are built.
 *
 * A *pseudo-precedence string*, here `order`, is a list of warps, each `length` times. The entries
 * are placed one by one: the warp's next instruction starts in the earliest cycle that fits, after
 * its previous one and within the capacities. The result is always work-conserving, and every
 * work-conserving schedule is the result of some string: the one that lists its warps cycle by
 * cycle.
 *
 * Warps and cycles count from 0 here, and from 1 in the user interface. `order` has model->work
 * entries, `cycles[i]` is the cycle of entry i, and the makespan is the last cycle + 1.
 */
#pragma once

#include "engines/makespan/model/model.h"
#include "foundation/base/random.h"

/* Returns whether the order has each warp model->length times, and no other. */
bool order_valid(const struct makespan_model *model, const uint8_t *order);

/* The initial orders of the paper. */
enum order_template {
    ORDER_ROUND_ROBIN,    /* 1 2 .. W, 1 2 .. W, ... */
    ORDER_FIXED_PRIORITY, /* 1 1 .. 1, 2 2 .. 2, ... */
    ORDER_MOST_PENDING,   /* in each cycle, warps with the most instructions left come first */
    ORDER_RANDOM,
    ORDER_TEMPLATES,
};
/* `random` is used only for ORDER_RANDOM. */
void order_fill(const struct makespan_model *model, enum order_template which,
                struct random *random, uint8_t *order);

/* The simplest evaluation, the reference for the faster ones (evaluate.h,
 * foundation/gpu/kernels/makespan/makespan_chain.h): tests the cycles one by one. `cycles` may be
 * NULL. Fails only if memory runs out. */
gordian_status schedule_build(const struct makespan_model *model, const uint8_t *order,
                              uint32_t *cycles, uint32_t *makespan);

/* Sorts the entries by (cycle, warp): the same schedule, cycle by cycle. */
gordian_status schedule_canonical(const struct makespan_model *model, uint8_t *order,
                                  uint32_t *cycles);

/* Checks that this is a work-conserving schedule of this makespan. It shares no code with the
 * functions that build schedules (relax/schedule_check.c). It checks precedence, the capacity of
 * every type and the total capacity, that a warp runs at most one instruction per cycle, and that
 * no warp waits although it could have run. `why`, if not NULL, gets the first error. Returns
 * GORDIAN_STATUS_MEMORY if memory runs out, and GORDIAN_STATUS_INPUT if the schedule is wrong. */
gordian_status schedule_check(const struct makespan_model *model, const uint8_t *order,
                              const uint32_t *cycles, uint32_t makespan, gordian_error *why);
