/* `gordian bench makespan`: what its files share. */
#ifndef GORDIAN_BENCH_MAKESPAN_H
#define GORDIAN_BENCH_MAKESPAN_H

#include "harness.h"
#include "makespan/engine.h"

/* The paper's case study: L5 C9 L2 C9, one load a cycle, four others; `schedulers` 0: no bound. */
gordian_status makespan_case(struct makespan_model **model, uint32_t warps, uint32_t schedulers,
                             gordian_error *error);
/* "16", or "16-4" with four schedulers. */
const char *makespan_case_name(char buffer[16], uint32_t warps, uint32_t schedulers);

/* ---- the paper's figure 7 (makespan_curves.c) */

#define MAKESPAN_TIMES  9u
#define MAKESPAN_STARTS ORDER_TEMPLATES

/* Milliseconds of a chain's work. */
extern const double makespan_times[MAKESPAN_TIMES];

/* The best of some chains at each time, and what it took. */
struct makespan_curve {
    uint32_t best[MAKESPAN_TIMES];
    uint64_t steps;
    double seconds;
};

/* Eight chains one after another, two a start, each with its own clock: the best of each start into
 * curves[MAKESPAN_STARTS], of all into `all`; both are all zeros before. `only` below
 * MAKESPAN_STARTS: just the two of that start. */
gordian_status makespan_follow(struct bench *bench, const struct makespan_model *model,
                               bool published, unsigned only, struct makespan_curve *curves,
                               struct makespan_curve *all);

/* ---- rows: each adds its own */
gordian_status makespan_evaluation_rows(struct bench *bench); /* makespan_evaluation.c */
gordian_status makespan_curve_rows(struct bench *bench);      /* makespan_curves.c */
gordian_status makespan_exact_rows(struct bench *bench);      /* makespan_exact.c */
gordian_status makespan_lp_rows(struct bench *bench);         /* makespan_lp.c */

#endif
