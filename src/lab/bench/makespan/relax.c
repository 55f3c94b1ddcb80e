/* Relaxed models of the case study: two instructions of a warp per cycle, loads of one to four
 * cycles. Exact if all states can be enumerated, an interval for the paper's 16 warps. */
#include "foundation/base/error.h"
#include "lab/bench/makespan/makespan.h"

struct relaxed_case {
    const char *name;
    uint32_t warps, issue;
    uint32_t latency_most; /* of loads */
    double seconds;
};

static gordian_status add_relaxed_row(struct bench *bench, const struct relaxed_case *wanted,
                                      const struct makespan_result *result, double seconds)
{
    struct bench_row row;
    if (result->exact) {
        row = bench_row("s", "makespan/%s-%u-4/relax", wanted->name, wanted->warps);
        row.value = seconds;
        bench_note(&row, "%u cycles; %.2f M states", result->lower, (double)result->states / 1e6);
    } else {
        row = bench_row("cycles", "makespan/%s-%u-4/relax", wanted->name, wanted->warps);
        row.value = result->upper;
        row.baseline = "lower end";
        row.baseline_value = result->lower;
        bench_note(&row, "%u to %u cycles, certain after %.1f s", result->lower, result->upper,
                   seconds);
    }
    return bench_add(bench, &row);
}

static gordian_status relax_case(struct bench *bench, const struct relaxed_case *wanted)
{
    struct makespan_model *model;
    struct makespan_result result;
    gordian_makespan_options options;
    const gordian_unit units[] = {
        {.letter = 'L', .units = 1, .latency = 1, .latency_most = wanted->latency_most},
        {.letter = 'C', .units = 4}};
    gordian_makespan_problem problem = makespan_case_problem(wanted->warps, 4);
    problem.issue = wanted->issue;
    problem.units = units;
    TRY(model_open(&model, &problem, NULL, bench->error));
    bench_progress(bench, "makespan: %s, %u warps", wanted->name, wanted->warps);
    gordian_makespan_options_init(&options);
    options.seed = bench->options->seed;
    options.max_ns = (uint64_t)(wanted->seconds * 1e9);
    uint64_t begin = clock_ns();
    gordian_status status = makespan_relax.run(model, &options, &result, bench->error);
    double seconds = (double)(clock_ns() - begin) / 1e9;
    if (status == GORDIAN_OK) {
        status = add_relaxed_row(bench, wanted, &result, seconds);
        makespan_result_free(&result);
    }
    model_close(model);
    return status;
}

gordian_status makespan_relax_rows(struct bench *bench)
{
    static const struct relaxed_case cases[] = {{"dual", 3, 2, 0, 60},
                                                {"latency", 3, 1, 4, 60},
                                                {"dual", 5, 2, 0, 60},
                                                {"dual", 16, 2, 0, 30},
                                                {"latency", 16, 1, 4, 30}};
    size_t count = bench->options->quick ? 2 : sizeof cases / sizeof *cases;
    for (size_t i = 0; i < count; i++)
        TRY(relax_case(bench, &cases[i]));
    return GORDIAN_OK;
}
