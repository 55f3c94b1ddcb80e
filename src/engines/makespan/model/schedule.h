/*
 * Schedules, and how they are built.
 *
 * A *pseudo-precedence string*, here `order`, names warps, each `length` times: take the entries
 * one by one and start the warp's next instruction in the earliest cycle that fits, after its
 * previous one and within the capacities. What comes out is always work-conserving, and every
 * work-conserving schedule comes out: reading its cells cycle by cycle gives it back.
 *
 * Warps and cycles count from 0 here, from 1 where people see them. `order` has model->work
 * entries, `cycles[i]` is where entry i went; the makespan is the last cycle + 1.
 */
#pragma once

#include "engines/makespan/model/model.h"
#include "foundation/base/random.h"

/* Each warp named model->length times, and no other? */
bool order_valid(const struct makespan_model *model, const uint8_t *order);

/* The paper's templates to start from. */
enum order_template {
    ORDER_ROUND_ROBIN,    /* 1 2 .. W, 1 2 .. W, ... */
    ORDER_FIXED_PRIORITY, /* 1 1 .. 1, 2 2 .. 2, ... */
    ORDER_MOST_PENDING,   /* each cycle serves those with the most instructions left first */
    ORDER_RANDOM,
    ORDER_TEMPLATES,
};
/* `random` is used for ORDER_RANDOM only. */
void order_fill(const struct makespan_model *model, enum order_template which,
                struct random *random, uint8_t *order);

/* The plainest evaluation, the oracle of the faster ones (evaluate.h,
 * foundation/gpu/kernels/makespan/makespan_chain.h): looks through the cycles one by one. `cycles`
 * may be NULL. Only lack of memory makes it fail. */
gordian_status schedule_build(const struct makespan_model *model, const uint8_t *order,
                              uint32_t *cycles, uint32_t *makespan);

/* Sorts the entries by (cycle, warp): the same schedule, read cycle by cycle. */
gordian_status schedule_canonical(const struct makespan_model *model, uint8_t *order,
                                  uint32_t *cycles);

/* Is this a work-conserving schedule of this makespan? Shares nothing with the code that builds
 * them (schedule_check.c): precedence, capacities of every type and in all, one instruction of a
 * warp a cycle, and nobody left out who could have run. `why`, if not NULL, is what is wrong;
 * memory may run out: GORDIAN_STATUS_MEMORY. A schedule that is wrong is GORDIAN_STATUS_INPUT. */
gordian_status schedule_check(const struct makespan_model *model, const uint8_t *order,
                              const uint32_t *cycles, uint32_t makespan, gordian_error *why);
