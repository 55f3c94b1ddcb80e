/*
 * The makespan as an integer linear program, for any solver.
 *
 * The paper's predecessor (its reference [4]) computes the longest schedule with a solver, for at
 * most 4 warps of the case study. The paper does not give that program. This one has a binary
 * variable for every warp, instruction and cycle:
 *
 *     y_w_i_t    warp w has run instruction i by the end of cycle t
 *     fU_t       in cycle t all units of type U are in use
 *     b_t        in cycle t all schedulers are busy (if a warp may have to wait for one)
 *
 * The rows say:
 *
 * - what has been run stays run;
 * - an instruction is run after the one before it, in a later cycle;
 * - no more instructions start in a cycle than there are units and schedulers, and as many as there
 *   are if f or b is set;
 * - if a warp could run in cycle t (the instruction before is done by t - 1, this one is not done
 *   by t), f or b is set: the schedule is work-conserving.
 *
 * Warps are identical, and a warp at the same place as another does not pass it. So they can be
 * numbered such that the warp with the lower number is never behind: y_w_i_t >= y_{w+1}_i_t. Then
 * the last warp ends the schedule, and the makespan is the number of cycles in which its last
 * instruction is not done yet, plus one.
 *
 * Cycles end with T, the bound in closed form: no work-conserving schedule is longer. Instruction i
 * cannot run before cycle i, nor after cycle T - (length - i). For other cycles y is known and not
 * a variable, so warps * length * (T - length) variables remain.
 */
#pragma once

#include "engines/makespan/model/model.h"
#include "foundation/base/io/output.h"

/* Programs with more variables are not written. */
#define PROGRAM_MOST UINT64_C(50000000)

/* In the LP format of CPLEX; the objective is `makespan`. GORDIAN_STATUS_INPUT: there would be too
 * many variables. Write errors are reported by the output. */
gordian_status program_write(const struct makespan_model *model, gordian_makespan_goal goal,
                             struct output *out, gordian_error *error);
