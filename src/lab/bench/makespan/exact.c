/* Proofs of the case study, and certified intervals where there is no proof yet. */
#include "foundation/base/error.h"
#include "lab/bench/makespan/makespan.h"

struct exact_case {
    uint32_t warps, schedulers;
    uint32_t value;  /* expected; 0: not known */
    double seconds;  /* limit */
    double bar;      /* seconds; 0: none */
    uint64_t memory; /* memory limit in bytes; 0: 1 GB */
};

/* A proof is a row in seconds. An interval is a row in cycles: the upper bound against the lower.
 */
static gordian_status add_exact_row(struct bench *bench, const struct exact_case *wanted,
                                    const struct makespan_result *result, double seconds)
{
    char name[16];
    makespan_case_name(name, wanted->warps, wanted->schedulers);
    struct bench_row row;
    if (result->exact) {
        row = bench_row("s", "makespan/proof-%s/exact", name);
        row.value = seconds;
        bench_bar(&row, wanted->bar > 0 ? BAR_VALUE_AT_MOST : BAR_NONE, wanted->bar);
        bench_note(&row, "%u cycles; %.0f MB, %.1f M states", result->lower,
                   (double)result->most_memory / 1e6, (double)result->states / 1e6);
    } else {
        row = bench_row("cycles", "makespan/interval-%s/exact", name);
        row.value = result->upper;
        row.baseline = "lower end";
        row.baseline_value = result->lower;
        bench_note(&row, "%u to %u cycles, certain after %.1f s; %.0f MB", result->lower,
                   result->upper, seconds, (double)result->most_memory / 1e6);
        if (wanted->bar > 0) { /* a proof is the target */
            bench_bar(&row, BAR_AT_LEAST, 1);
        }
    }
    return bench_add(bench, &row);
}

static gordian_status prove(struct bench *bench, const struct exact_case *wanted)
{
    struct makespan_model *model;
    struct makespan_result result;
    gordian_makespan_options options;
    TRY(makespan_case(&model, wanted->warps, wanted->schedulers, bench->error));
    bench_progress(bench, "makespan: proof, %u warps, %u schedulers", wanted->warps,
                   wanted->schedulers);
    gordian_makespan_options_init(&options);
    options.seed = bench->options->seed;
    options.max_memory = wanted->memory ? wanted->memory : 1000000000;
    options.max_ns = (uint64_t)(wanted->seconds * 1e9);
    uint64_t begin = clock_ns();
    gordian_status status = makespan_exact.run(model, &options, &result, bench->error);
    double seconds = (double)(clock_ns() - begin) / 1e9;
    if (status == GORDIAN_OK) {
        if (wanted->value && (result.lower > wanted->value || result.upper < wanted->value))
            status =
                fail(bench->error, GORDIAN_STATUS_INPUT, "%u warps: %u to %u, where %u is exact",
                     wanted->warps, result.lower, result.upper, wanted->value);
        THEN(status, add_exact_row(bench, wanted, &result, seconds));
        makespan_result_free(&result);
    }
    model_close(model);
    return status;
}

gordian_status makespan_exact_rows(struct bench *bench)
{
    static const struct exact_case quick[] = {
        {6, 0, 67, 60, 0}, {6, 4, 78, 60, 0}, {24, 0, 0, 1, 0}, {32, 4, 0, 1, 0}};
    static const struct exact_case all[] = {{8, 0, 86, 60, 0},
                                            {8, 4, 98, 60, 0},
                                            {12, 0, 123, 120, 0},
                                            {12, 4, 141, 120, 0},
                                            {16, 4, 184, 600, 60},
                                            {16, 0, 160, 600, 600},
                                            {24, 0, 234, 600, 0, 4000000000},
                                            {24, 4, 0, 60, 0},
                                            {32, 0, 0, 60, 0},
                                            {32, 4, 0, 60, 0}};
    const struct exact_case *cases = bench->options->quick ? quick : all;
    size_t count = bench->options->quick ? sizeof quick / sizeof *quick : sizeof all / sizeof *all;
    for (size_t i = 0; i < count; i++)
        TRY(prove(bench, &cases[i]));
    return GORDIAN_OK;
}
