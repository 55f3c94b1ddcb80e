/* Worst-case makespans: evaluating schedules, the paper's figure 7, proofs, certified intervals. */
#include "lab/bench/makespan/makespan.h"

#include "lab/bench/makespan/cuda.h"

#include <stdio.h>

gordian_makespan_problem makespan_case_problem(uint32_t warps, uint32_t schedulers)
{
    static const gordian_unit units[] = {{.letter = 'L', .units = 1}, {.letter = 'C', .units = 4}};
    return (gordian_makespan_problem){.kernel = "LLLLLCCCCCCCCCLLCCCCCCCCC",
                                      .length = 25,
                                      .warps = warps,
                                      .schedulers = schedulers,
                                      .units = units,
                                      .unit_count = 2};
}

gordian_status makespan_case(struct makespan_model **model, uint32_t warps, uint32_t schedulers,
                             gordian_error *error)
{
    const gordian_makespan_problem problem = makespan_case_problem(warps, schedulers);
    return model_open(model, &problem, NULL, error);
}

const char *makespan_case_name(char buffer[16], uint32_t warps, uint32_t schedulers)
{
    if (schedulers)
        snprintf(buffer, 16, "%u-%u", warps, schedulers);
    else
        snprintf(buffer, 16, "%u", warps);
    return buffer;
}

gordian_status bench_makespan(struct bench *bench)
{
    if (bench_wants(bench, "anneal"))
        TRY(makespan_evaluation_rows(bench));
    if (bench_wants(bench, "anneal"))
        TRY(makespan_curve_rows(bench));
    if (bench_wants(bench, "exact"))
        TRY(makespan_exact_rows(bench));
    if (bench_wants(bench, "exact") && bench_wants(bench, "anneal"))
        TRY(makespan_lp_rows(bench)); /* not an engine of ours: measured with all of them */
    if (bench_wants(bench, "relax"))
        TRY(makespan_relax_rows(bench));
    const char *why = NULL;
    if (bench_wants(bench, "cuda"))
        TRY(engine_usable(&makespan_cuda.about, NULL, &why)
                ? makespan_cuda_rows(bench)
                : bench_skip(bench, "makespan/*/cuda", why));
    return GORDIAN_OK;
}
