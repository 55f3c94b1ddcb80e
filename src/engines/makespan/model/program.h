/*
 * The makespan as an integer program, for any solver.
 *
 * The paper's predecessor (its reference [4]) asks a solver for the longest schedule and found 4
 * warps of the case study to be what can be had; how it writes the program the paper does not say.
 * This one has a yes or no for every warp, instruction and cycle:
 *
 *     y_w_i_t    warp w has run instruction i by the end of cycle t
 *     fU_t       in cycle t all units of type U are taken
 *     b_t        in cycle t all schedulers are busy (where they may be what one waits for)
 *
 * and says that what has been run stays so; that an instruction is run after the one before it, in
 * a later cycle; that no more start in a cycle than there are units and schedulers, and as many as
 * there are where f or b say so; and that whoever could have run (the instruction before is done by
 * t - 1, this one is not by t) finds f or b set: the schedule is work-conserving.
 *
 * Warps are alike and pass nobody who stands where they stand, so their names can be given out
 * such that the warp with the lower number is never behind: y_w_i_t >= y_{w+1}_i_t. Then the last
 * warp ends the schedule, and the cycles in which its last instruction is still to be run, plus
 * none, are the makespan.
 *
 * Cycles end with T, the bound in closed form: no work-conserving schedule is longer. Instruction i
 * cannot run before cycle i, nor after cycle T - (length - i): outside y is known and not a
 * variable. What remains are warps * length * (T - length) of them.
 */
#pragma once

#include "engines/makespan/model/model.h"
#include "foundation/base/io/output.h"

/* More variables are not written. */
#define PROGRAM_MOST UINT64_C(50000000)

/* In the LP format of CPLEX; `makespan` is what it asks for. GORDIAN_STATUS_INPUT: there would
 * be too many variables. Whether writing worked the output tells. */
gordian_status program_write(const struct makespan_model *model, gordian_makespan_goal goal,
                             struct output *out, gordian_error *error);
