/*
 * Warps on one streaming multiprocessor.
 *
 * W identical warps run the same string of instructions. In a cycle at most units[U] instructions
 * of type U start, at most `sigma` in all (the warp schedulers), and at most one of a warp; each
 * takes one cycle. Schedules are work-conserving: whatever could run, given what the others use,
 * does run. So every cycle runs exactly
 *
 *     K = min(sigma, sum over U of min(units[U], warps whose next instruction is a U))
 *
 * instructions; which ones is nobody's promise. Wanted are the longest and the shortest such
 * schedule: the worst and the best *makespan*.
 *
 * Hardware figures are normalised to this. `lanes` units in hardware make lanes / threads of a warp
 * starts a cycle, rounded down; where they are fewer than a warp's threads, one start a cycle and
 * threads / lanes instructions for one, rounded up. An instruction that keeps its unit for x cycles
 * becomes x of them. Both multiply.
 *
 * The model may be *relaxed*: several instructions of a warp a cycle, latencies within intervals
 * (relax/relax.h). Then the pieces of an instruction are told apart, and sigma counts warps.
 *
 * Types are letters A to Z; by custom L (load/store), C (CUDA cores), S (special functions),
 * D (double precision), T (tensor cores).
 */
#pragma once

#include <gordian/gordian.h>

#define MAKESPAN_TYPES      GORDIAN_MAKESPAN_TYPES      /* 26 */
#define MAKESPAN_MAX_WARPS  GORDIAN_MAKESPAN_MAX_WARPS  /* 256: a warp is a byte */
#define MAKESPAN_MAX_LENGTH GORDIAN_MAKESPAN_MAX_LENGTH /* of the normalised string */
#define MAKESPAN_MAX_WORK   GORDIAN_MAKESPAN_MAX_WORK   /* warps * length */

/* Instructions of one type in a row. */
struct makespan_run {
    uint32_t first, length;
    uint32_t type;
};

/* What a piece of the normalised string is. */
enum model_mark {
    MODEL_FIRST = 1,    /* an instruction begins with it */
    MODEL_OPTIONAL = 2, /* and ends before it, maybe */
};

struct makespan_model {
    uint32_t warps;
    uint32_t length;     /* of the normalised string, at least 1 */
    uint32_t work;       /* warps * length */
    uint32_t types;      /* that occur, numbered from 0 in order of their letters */
    uint32_t sigma;      /* starts a cycle in all; never above what units and warps allow */
    bool bounded;        /* schedulers are fewer than units: they may be what one waits for */
    uint32_t schedulers; /* as asked for; 0: no bound */
    uint32_t issue;      /* instructions of a warp that may start in a cycle */
    bool relaxed;        /* that is more than 1, or something is optional */
    uint32_t units[MAKESPAN_TYPES]; /* never above warps * issue: more cannot start */
    uint32_t given[MAKESPAN_TYPES]; /* the same as asked for */
    char letters[MAKESPAN_TYPES];
    uint32_t counts[MAKESPAN_TYPES]; /* instructions of the type in the string */
    uint8_t *string;                 /* `length` types */
    char *text;                      /* the same in letters, with a NUL */
    uint8_t *marks;                  /* of each: enum model_mark */
    uint32_t least_length;           /* without what is optional, like these: */
    uint32_t least_counts[MAKESPAN_TYPES];
    struct makespan_run *runs;
    uint32_t run_count;
    gordian_allocator memory;
};

/* GORDIAN_STATUS_INPUT: an empty string, a letter that is none or has no units, no warps, too long.
 */
gordian_status model_open(struct makespan_model **out, const gordian_makespan_problem *problem,
                          const gordian_allocator *allocator, gordian_error *error);
void model_close(struct makespan_model *model); /* NULL is fine */

/* Bounds that hold for every schedule and cost nothing to find (bounds.c).
 *
 * Worst: look at the warp that ends last. A cycle in which it does not run is one in which units
 * of its next type, or all schedulers, are taken by others; so there are at most as many such
 * cycles as the other warps' instructions can fill. In detail: n_U cycles in which the u_U units of
 * its next type are taken use up n_U u_U of the others' work_U instructions of that type; in m
 * others sigma warps run, and so at least m sigma instructions, c_U of type U. With s_U = min(u_U,
 * sigma), work_U = q_U s_U + r_U and e_U = max(0, c_U - r_U) / s_U, rounded up, n_U <= q_U - e_U
 * and c_U <= r_U + e_U sigma: there are at most sum q_U + (sum r_U) / sigma of both, rounded down.
 * That holds for relaxed models as it stands: nothing was said about how many instructions of a
 * warp run in a cycle, but that the units of a type can be taken by others only if there are at
 * most `issue` times as many as other warps; and the bound falls with no work_U, so that the
 * longest latencies give the largest.
 * Best: no schedule is shorter than a warp alone, the work over what a cycle can do, or a type's
 * work over its units with the instructions that every warp has before and after that type. */
uint32_t model_upper_bound(const struct makespan_model *model);
uint32_t model_lower_bound(const struct makespan_model *model);
