/* Measures makespans: the longest schedule found after a number of milliseconds. */
#include "foundation/base/error.h"
#include "lab/bench/makespan/makespan.h"
#include "lab/papers/measures.h"
#include "lab/published/makespan/makespan.h"

#define CASE_WARPS 16

static void set_value(struct results_value *value, uint32_t cycles)
{
    if (cycles <= value->value)
        return;
    value->value = cycles;
    value->samples = 1;
}

/* ------------------------------------------------------------------ eight instances, one by one */

static bool keep_going(void *context, const gordian_makespan_progress *progress)
{
    bench_progress(context, "makespan: an instance of figure 7, %u cycles so far", progress->lower);
    return true;
}

/* Runs the figure once, with the published annealer or with ours. */
static gordian_status run_figure(struct papers_run *run, bool ours)
{
    struct published_fig7_options options;
    if (run->has_figure[ours])
        return GORDIAN_OK;
    published_fig7_options_init(&options);
    options.seed = run->bench.options->seed;
    options.ours = ours;
    options.go_on = keep_going;
    options.context = &run->bench;
    if (run->bench.options->quick)
        options.iterations = PUBLISHED_FIG7_ITERATIONS / 20;
    gordian_status status = published_fig7_run(&run->figures[ours], &options, run->bench.error);
    run->has_figure[ours] = status == GORDIAN_OK;
    return status;
}

gordian_status measure_chains(struct papers_run *run, const struct papers_measure *measure,
                              const struct papers_point *points, size_t count,
                              struct results_value *values)
{
    const bool ours = measure->side == PAPERS_SIDE_OURS_CPU;
    TRY(run_figure(run, ours));
    const struct published_fig7 *figure = &run->figures[ours];
    for (size_t c = 0; c < PUBLISHED_FIG7_INSTANCES; c++)
        for (size_t i = 0; i < count; i++)
            if (ours || (unsigned)figure->curves[c].start == measure->how)
                set_value(&values[i],
                          published_fig7_at(figure, &figure->curves[c], points[i].x / 1e3));
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ on a device */

struct device_figure {
    const struct papers_point *points;
    size_t count;
    struct results_value *values;
    bool emulated; /* times mean nothing then, so everything found counts */
};

static void note_found(void *context, const gordian_makespan_improvement *found)
{
    const struct device_figure *figure = context;
    for (size_t i = 0; i < figure->count; i++)
        if (figure->emulated || found->seconds * 1e3 <= figure->points[i].x)
            set_value(&figure->values[i], found->value);
}

gordian_status measure_chains_cuda(struct papers_run *run, const struct papers_measure *measure,
                                   const struct papers_point *points, size_t count,
                                   struct results_value *values)
{
    const gordian_makespan_problem problem = makespan_case_problem(CASE_WARPS, 0);
    struct device_figure figure = {points, count, values, run->emulated};
    gordian_makespan *makespan;
    gordian_makespan_answer answer;
    gordian_makespan_options options;
    gordian_makespan_options_init(&options);
    options.engine = measure->with;
    options.seed = run->bench.options->seed;
    options.improved = note_found;
    options.context = &figure;
    options.max_ns = (uint64_t)(points[count - 1].x * 1e6);
    if (run->emulated)
        options.chains = 4;
    bench_progress(&run->bench, "makespan: %s", measure->what);
    TRY(gordian_makespan_open(&makespan, &problem, NULL, run->bench.error));
    gordian_status status = gordian_makespan_solve(makespan, &options, &answer, run->bench.error);
    gordian_makespan_close(makespan);
    return status;
}
