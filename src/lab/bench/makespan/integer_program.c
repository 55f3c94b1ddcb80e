/* The integer program in a packaged solver, compared with our proof: the case study with the four
 * warps that the paper could solve. It took 58 hours for them. */
#include "engines/solver/lp_solver.h"
#include "foundation/base/error.h"
#include "lab/bench/makespan/makespan.h"

#define MOST_WARPS 4u

/* Cycles, with four schedulers and without: equal for so few warps. */
static const uint32_t exact_values[MOST_WARPS] = {25, 31, 37, 45};

static gordian_status add_lp_row(struct bench *bench, uint32_t warps,
                                 const gordian_makespan_answer *ours,
                                 const struct lp_solver_answer *lp)
{
    struct bench_row row = bench_row("s", "makespan/lp-%u/exact", warps);
    row.value = ours->seconds;
    row.baseline = lp->solver;
    row.baseline_value = lp->seconds;
    if (lp->optimal)
        bench_note(&row, "%u cycles; %s: the same", ours->lower, lp->solver);
    else if (lp->found)
        bench_note(&row, "%u cycles; %s: %u to %u at its time limit", ours->lower, lp->solver,
                   lp->found, lp->bound);
    else
        bench_note(&row, "%u cycles; %s: at most %u at its time limit", ours->lower, lp->solver,
                   lp->bound);
    return bench_add(bench, &row);
}

static gordian_status compare_lp(struct bench *bench, uint32_t warps, double limit)
{
    gordian_makespan *makespan;
    gordian_makespan_answer ours;
    struct lp_solver_answer lp;
    gordian_makespan_options options;
    gordian_makespan_options_init(&options);
    options.engine = "exact";
    options.seed = bench->options->seed;
    bench_progress(bench, "makespan: integer program, %u warps", warps);
    const gordian_makespan_problem problem = makespan_case_problem(warps, 0);
    TRY(gordian_makespan_open(&makespan, &problem, NULL, bench->error));
    gordian_status status = gordian_makespan_solve(makespan, &options, &ours, bench->error);
    THEN(status,
         lp_solver_run(makespan, GORDIAN_MAKESPAN_GOAL_WORST, NULL, limit, &lp, bench->error));
    /* Neither may contradict a known value. */
    const uint32_t value = exact_values[warps - 1];
    if (status == GORDIAN_OK &&
        (!ours.exact || ours.lower != value || lp.found > value ||
         (lp.bound != 0 && lp.bound < value) || (lp.optimal && lp.found != value)))
        status = fail(bench->error, GORDIAN_STATUS_INPUT,
                      "%u warps: %u cycles, %s %u to %u, where %u are exact", warps, ours.lower,
                      lp.solver, lp.found, lp.bound, value);
    THEN(status, add_lp_row(bench, warps, &ours, &lp));
    gordian_makespan_close(makespan);
    return status;
}

gordian_status makespan_lp_rows(struct bench *bench)
{
    bool quick = bench->options->quick;
    if (!lp_solver_available(NULL))
        return bench_skip(bench, "makespan/lp-*/exact", "no solver: cbc, highs or glpsol");
    for (uint32_t warps = 1; warps <= (quick ? 2 : MOST_WARPS); warps++)
        TRY(compare_lp(bench, warps, quick ? 5 : 120));
    return GORDIAN_OK;
}
