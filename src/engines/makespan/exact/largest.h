/*
 * States that are finer than the states of the tables and coarser than real states.
 *
 * A run has the number of its warps, the number of instructions they have left together and, if its
 * type has several units, the largest number that one of them has left. The sums alone lose that
 * number: warps that run in parallel stay together, and none of them is left over with all its
 * work. For a type with one unit the sums are lossless (abstraction.h).
 *
 * Every real step is a step here, so the longest path is a bound. There are many more of these
 * states than of sums, but the table of sums still allows only few of them (search_tighten).
 */
#pragma once

#include "engines/makespan/exact/abstraction.h"

struct largest_run {
    uint32_t warps, work, largest; /* largest: 0 without warps */
};

/* A step of a run: the number of its warps that execute an instruction, and how many of these leave
 * the run. */
struct largest_step {
    uint32_t starts, leaves;
};

/* Bit positions of a run's numbers in a word. The work is stored minus one instruction per warp,
 * and the largest remainder minus 1. */
struct largest_field {
    uint32_t warps_at, warps_bits, work_at, work_bits, largest_at, largest_bits;
};

struct largest_layout {
    struct largest_field fields[ABSTRACTION_MAX_BLOCKS];
    uint32_t bits; /* total; UINT32_MAX: too many runs */
};

void largest_lay_out(struct largest_layout *layout, const struct makespan_model *model);

/* Returns whether some warps allow this step, with any largest remainder afterwards or with the
 * given one. Warps that leave have 1 instruction left, other warps that run have 2 or more, and
 * warps that do not run have 1 or more. The largest remainder stays if a warp that has it does not
 * run; all the others are unconstrained then. It falls by one if all warps that have it run. Every
 * sum between the limits is possible. */
static inline bool largest_may_be(const struct largest_run *run, const struct largest_step *step,
                                  uint32_t largest)
{
    const uint32_t most = run->largest, leave = step->leaves, stay = step->starts - leave;
    const uint32_t rest = run->warps - step->starts;
    if (run->warps == leave)
        return largest == 0 && most <= 1;
    if (largest == most)
        return rest > 0 && (stay == 0 || most > 1) &&
               leave + 2 * stay + (rest - 1) + most <= run->work &&
               run->work <= leave + most * (stay + rest);
    return largest + 1 == most && stay > 0 && largest > 0 &&
           leave + most + 2 * (stay - 1) + rest <= run->work &&
           run->work <= leave + most * stay + (most - 1) * rest;
}

/* Returns the largest number of warps that can have one instruction left. */
static inline uint32_t largest_leavers(const struct largest_run *run, uint32_t length)
{
    const uint32_t most = run->largest ? run->largest : length;
    return most == 1 ? run->warps : (run->warps * most - run->work) / (most - 1);
}

static inline bool largest_can(const struct largest_run *run, const struct largest_step *step,
                               uint32_t length, bool with_largest)
{
    if (with_largest)
        return largest_may_be(run, step, run->largest) ||
               (run->largest > 0 && largest_may_be(run, step, run->largest - 1));
    uint32_t warps = run->warps - step->leaves, work = run->work - step->starts;
    return step->starts <= run->work && warps <= work && work <= warps * length;
}
