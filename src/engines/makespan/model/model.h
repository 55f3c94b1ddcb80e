/*
 * The model: warps on one streaming multiprocessor with a greedy warp scheduler.
 *
 * W identical warps run the same string of instructions. In a cycle at most units[U] instructions
 * of type U start, at most `sigma` in all (the warp schedulers), and at most one per warp. Each
 * takes one cycle. Schedules are work-conserving: an instruction that could run, given the units
 * that others use, does run. So every cycle runs exactly
 *
 *     K = min(sigma, sum over U of min(units[U], warps whose next instruction is a U))
 *
 * instructions; which ones is not specified. The problem is to find the longest and the shortest
 * such schedule: the worst and the best *makespan*.
 *
 * Hardware figures are normalised to this model. `lanes` units in hardware give lanes / threads of
 * a warp starts per cycle, rounded down. If there are fewer lanes than threads of a warp, they give
 * one start per cycle and threads / lanes instructions for one, rounded up. An instruction that
 * keeps its unit for x cycles becomes x instructions. Both factors multiply.
 *
 * The model may be *relaxed*: several instructions of a warp per cycle, and latencies within
 * intervals (relax/relax.h). Then the pieces of an instruction are distinguished, and sigma counts
 * warps.
 *
 * Types are letters A to Z; by convention L (load/store), C (CUDA cores), S (special functions), D
 * (double precision), T (tensor cores).
 */
#pragma once

#include <gordian/gordian.h>

#define MAKESPAN_TYPES      GORDIAN_MAKESPAN_TYPES      /* 26 */
#define MAKESPAN_MAX_WARPS  GORDIAN_MAKESPAN_MAX_WARPS  /* 256: a warp is a byte */
#define MAKESPAN_MAX_LENGTH GORDIAN_MAKESPAN_MAX_LENGTH /* of the normalised string */
#define MAKESPAN_MAX_WORK   GORDIAN_MAKESPAN_MAX_WORK   /* warps * length */

/* Consecutive instructions of one type. */
struct makespan_run {
    uint32_t first, length;
    uint32_t type;
};

/* The kind of a piece of the normalised string. */
enum model_mark {
    MODEL_FIRST = 1,    /* first piece of an instruction */
    MODEL_OPTIONAL = 2, /* may be left out */
};

struct makespan_model {
    uint32_t warps;
    uint32_t length; /* of the normalised string, at least 1 */
    uint32_t work;   /* warps * length */
    uint32_t types;  /* number of types that occur, numbered from 0 in the order of their letters */
    uint32_t sigma;  /* most starts per cycle; never above what units and warps allow */
    bool bounded;    /* there are fewer schedulers than units, so a warp may have to wait for a
                        scheduler */
    uint32_t schedulers;            /* as in the problem; 0: no bound */
    uint32_t issue;                 /* most instructions of a warp that start in a cycle */
    bool relaxed;                   /* `issue` is more than 1, or some piece is optional */
    uint32_t units[MAKESPAN_TYPES]; /* never above warps * issue, because more cannot start */
    uint32_t given[MAKESPAN_TYPES]; /* as in the problem */
    char letters[MAKESPAN_TYPES];
    uint32_t counts[MAKESPAN_TYPES]; /* instructions of the type in the string */
    uint8_t *string;                 /* `length` types */
    char *text;                      /* the same in letters, with a NUL */
    uint8_t *marks;                  /* of each piece: enum model_mark */
    uint32_t least_length;           /* without the optional pieces, like the counts: */
    uint32_t least_counts[MAKESPAN_TYPES];
    struct makespan_run *runs;
    uint32_t run_count;
    gordian_allocator memory;
};

/* GORDIAN_STATUS_INPUT: an empty string, an unknown letter or one without units, no warps, or too
 * long. */
gordian_status model_open(struct makespan_model **out, const gordian_makespan_problem *problem,
                          const gordian_allocator *allocator, gordian_error *error);
void model_close(struct makespan_model *model); /* accepts NULL */

/*
 * Closed-form bounds that hold for every schedule (bounds.c).
 *
 * Worst case: consider the warp that ends last. In a cycle in which it does not run, other warps
 * use all units of its next type, or all schedulers. So the number of such cycles is at most what
 * the instructions of the other warps can fill. In detail:
 *
 * - n_U cycles in which all u_U units of its next type are in use take n_U u_U instructions of that
 *   type from work_U, the work of the other warps.
 * - In m other cycles sigma warps run: these take at least m sigma instructions, c_U of type U.
 * - Let s_U = min(u_U, sigma), work_U = q_U s_U + r_U and e_U = max(0, c_U - r_U) / s_U, rounded
 *   up. Then n_U <= q_U - e_U and c_U <= r_U + e_U sigma.
 * - So there are at most sum q_U + (sum r_U) / sigma of both, rounded down.
 *
 * This also holds for relaxed models. The proof does not use how many instructions of a warp run in
 * a cycle, except that all units of a type can only be in use if there are at most `issue` times as
 * many as other warps. The bound never falls when some work_U grows, so the longest latencies give
 * the largest bound.
 *
 * Best case: no schedule is shorter than a warp alone, than the work over what a cycle can do, or
 * than a type's work over its units plus the instructions that every warp has before and after that
 * type.
 */
uint32_t model_upper_bound(const struct makespan_model *model);
uint32_t model_lower_bound(const struct makespan_model *model);
