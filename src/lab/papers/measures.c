#include "lab/papers/measures.h"

#include "foundation/base/error.h"
#include "lab/bench/detect/published.h"
#include "lab/published/array/figure.h"
#include "lab/published/published.h"

#include <stdio.h>
#include <string.h>

const struct papers_measure papers_measures[] = {
    {"osdda-cpu-list", PAPERS_SIDE_PUBLISHED_CPU,
     "OSDDA on bit matrices on one core, the matrix engine", measure_detect, "matrix",
     PAPER_EXPERIMENT_LIST, .quick_limit = 2048},
    {"osdda-chars-list", PAPERS_SIDE_PUBLISHED_GPU, "GPU-OSDDA as published, one character per bit",
     measure_detect, "osdda-chars", PAPER_EXPERIMENT_LIST, .quick_limit = 2048,
     .label = "published initial, GPU"},
    {"osdda-ints-list", PAPERS_SIDE_PUBLISHED_GPU, "GPU-OSDDA as published, one integer per bit",
     measure_detect, "osdda-ints", PAPER_EXPERIMENT_LIST, .quick_limit = 2048,
     .label = "published initial, ints, GPU"},
    {"osdda-bits-list", PAPERS_SIDE_PUBLISHED_GPU, "GPU-OSDDA as published, bit-packed",
     measure_detect, "osdda-bits", PAPER_EXPERIMENT_LIST, .quick_limit = 4096},
    {"detect-cuda-list", PAPERS_SIDE_OURS_GPU, "the cuda engine", measure_detect, "cuda",
     PAPER_EXPERIMENT_LIST},
    {"detect-sparse-list", PAPERS_SIDE_OURS_CPU, "the sparse engine", measure_detect, "sparse",
     PAPER_EXPERIMENT_LIST},
    {"osdda-cpu-block", PAPERS_SIDE_PUBLISHED_CPU,
     "OSDDA on bit matrices on one core, the matrix engine", measure_detect, "matrix",
     PAPER_EXPERIMENT_BLOCK, .quick_limit = 2048},
    {"osdda-bits-block", PAPERS_SIDE_PUBLISHED_GPU, "GPU-OSDDA as published, bit-packed",
     measure_detect, "osdda-bits", PAPER_EXPERIMENT_BLOCK, .quick_limit = 4096},
    {"detect-cuda-block", PAPERS_SIDE_OURS_GPU, "the cuda engine", measure_detect, "cuda",
     PAPER_EXPERIMENT_BLOCK},
    {"detect-sparse-block", PAPERS_SIDE_OURS_CPU, "the sparse engine", measure_detect, "sparse",
     PAPER_EXPERIMENT_BLOCK},
    {"osdda-cpu-release", PAPERS_SIDE_PUBLISHED_CPU,
     "OSDDA on bit matrices on one core, the matrix engine", measure_detect, "matrix",
     PAPER_EXPERIMENT_RELEASE, .quick_limit = 2048},
    {"osdda-bits-release", PAPERS_SIDE_PUBLISHED_GPU, "GPU-OSDDA as published, bit-packed",
     measure_detect, "osdda-bits", PAPER_EXPERIMENT_RELEASE, .quick_limit = 4096},
    {"detect-cuda-release", PAPERS_SIDE_OURS_GPU, "the cuda engine", measure_detect, "cuda",
     PAPER_EXPERIMENT_RELEASE},
    {"detect-sparse-release", PAPERS_SIDE_OURS_CPU, "the sparse engine", measure_detect, "sparse",
     PAPER_EXPERIMENT_RELEASE},
    {"lmdda-cpu-list", PAPERS_SIDE_PUBLISHED_CPU,
     "LMDDA on bit matrices on one core, the matrix engine", measure_detect, "matrix",
     PAPER_EXPERIMENT_LIST_AND_RELEASE, .quick_limit = 512},
    {"lmdda-chars-list", PAPERS_SIDE_PUBLISHED_GPU, "GPU-LMDDA as published, one character per bit",
     measure_detect, "lmdda-chars", PAPER_EXPERIMENT_LIST_AND_RELEASE, .quick_limit = 512,
     .label = "published initial, GPU"},
    {"lmdda-bits-list", PAPERS_SIDE_PUBLISHED_GPU, "GPU-LMDDA as published, bit-packed",
     measure_detect, "lmdda-bits", PAPER_EXPERIMENT_LIST_AND_RELEASE},
    {"multi-cuda-list", PAPERS_SIDE_OURS_GPU, "the cuda engine", measure_detect, "cuda",
     PAPER_EXPERIMENT_LIST_AND_RELEASE},
    {"multi-sparse-list", PAPERS_SIDE_OURS_CPU, "the sparse engine", measure_detect, "sparse",
     PAPER_EXPERIMENT_LIST_AND_RELEASE},
    {"pba-cpu-worst", PAPERS_SIDE_PUBLISHED_CPU, "CPU-PBA as published, on one core",
     measure_banker, .quick_limit = 1024},
    {"pba-worst", PAPERS_SIDE_PUBLISHED_GPU,
     "GPU-PBA as published, one launch per round and the scan on the host", measure_banker},
    {"avoid-cuda-worst", PAPERS_SIDE_OURS_GPU, "the cuda engine", measure_worst, "cuda"},
    {"avoid-holt-worst", PAPERS_SIDE_OURS_CPU, "the holt engine", measure_worst, "holt"},
    {"product-cpu", PAPERS_SIDE_PUBLISHED_CPU, "the CPU version of the report, on one core",
     measure_matrices},
    {"product-gpu", PAPERS_SIDE_PUBLISHED_GPU, "the product as published, one thread per cell",
     measure_matrices},
    {"compose-cuda-products", PAPERS_SIDE_OURS_GPU,
     "the cuda engine, every transition of the product written", measure_product_cuda},
    {"compose-cells", PAPERS_SIDE_OURS_CPU,
     "our loop over the cells of the same matrices, names as bits", measure_cells,
     .label = "ours, cells, CPU"},
    {"compose-cpu-products", PAPERS_SIDE_OURS_CPU,
     "the cpu engine, one thread, from automata to deadlocks", measure_product, "cpu"},
    {"lfvector-wait", PAPERS_SIDE_PUBLISHED_GPU, "the paper's second method, one block",
     measure_array, "one", PUBLISHED_ARRAY_CELL_WAIT},
    {"lfvector-bound", PAPERS_SIDE_PUBLISHED_GPU,
     "one atomicAdd per element into allocated memory, one block", measure_array, "one",
     PUBLISHED_ARRAY_CELL_BOUND, .label = "its bound, GPU"},
    {"lfvector-grid", PAPERS_SIDE_PUBLISHED_GPU,
     "doubling buckets for any grid, one atomicAdd per element", measure_array, NULL,
     PUBLISHED_ARRAY_CELL_LFVECTOR, .label = "LFVector, GPU"},
    {"subarrays-grid", PAPERS_SIDE_PUBLISHED_GPU,
     "the paper's future work, one sub-array per block and an index", measure_array, NULL,
     PUBLISHED_ARRAY_CELL_SUBARRAYS, .label = "sub-arrays, GPU"},
    {"garray-pages", PAPERS_SIDE_OURS_GPU,
     "the growable array, growing from empty during the kernel", measure_array, NULL,
     PUBLISHED_ARRAY_CELL_PAGES},
    {"anneal-round-robin", PAPERS_SIDE_PUBLISHED_CPU,
     "the published annealing from round-robin, two chains", NULL, NULL,
     GORDIAN_MAKESPAN_START_ROUND_ROBIN, .label = "round-robin", .all = measure_chains},
    {"anneal-fixed-priority", PAPERS_SIDE_PUBLISHED_CPU,
     "the published annealing from fixed priorities, two chains", NULL, NULL,
     GORDIAN_MAKESPAN_START_FIXED_PRIORITY, .label = "fixed priority", .all = measure_chains},
    {"anneal-most-pending", PAPERS_SIDE_PUBLISHED_CPU,
     "the published annealing from most pending first, two chains", NULL, NULL,
     GORDIAN_MAKESPAN_START_MOST_PENDING, .label = "most pending", .all = measure_chains},
    {"anneal-random", PAPERS_SIDE_PUBLISHED_CPU,
     "the published annealing from random strings, two chains", NULL, NULL,
     GORDIAN_MAKESPAN_START_RANDOM, .label = "random", .all = measure_chains},
    {"anneal-cuda", PAPERS_SIDE_OURS_GPU, "the cuda engine, thousands of chains", NULL, "cuda",
     .all = measure_chains_cuda},
    {"anneal-ours", PAPERS_SIDE_OURS_CPU, "our annealing, the best of eight chains",
     .all = measure_chains},
    {0},
};

const struct papers_measure *papers_measure_named(const char *name)
{
    for (const struct papers_measure *measure = papers_measures; measure->name; measure++)
        if (strcmp(measure->name, name) == 0)
            return measure;
    return NULL;
}

bool papers_side_is_gpu(enum papers_side side)
{
    return side == PAPERS_SIDE_PUBLISHED_GPU || side == PAPERS_SIDE_OURS_GPU;
}

const char *papers_label(const struct papers_measure *measure)
{
    static const char *const labels[] = {"published, CPU", "published, GPU", "ours, GPU",
                                         "ours, CPU"};
    return measure->label ? measure->label : labels[measure->side];
}

const char *papers_side_text(enum papers_side side)
{
    static const char *const names[] = {"published-cpu", "published-gpu", "ours-gpu", "ours-cpu"};
    return names[side];
}

const char *papers_why_not(const struct papers_run *run, const struct papers_measure *measure)
{
    const char *why = NULL;
    if (!papers_side_is_gpu(measure->side))
        return NULL;
    if (!gpu_available(&why))
        return why;
    return run->info.emulated && !run->emulated ? "the GPU is only emulated" : NULL;
}

/* ------------------------------------------------------------------ a run */

void papers_run_open(struct papers_run *run, const struct bench_options *options,
                     struct results *results, gordian_error *error)
{
    const char *why;
    *run = (struct papers_run){.results = results};
    run->bench =
        (struct bench){.options = options, .error = error, .memory = memory_allocator(NULL)};
    /* Names the device for the results; without one there is nothing to name. */
    if (!gpu_available(&why) || papers_run_gpu(run) != GORDIAN_OK)
        run->info = (struct gpu_info){0};
}

void papers_run_close(struct papers_run *run)
{
    gpu_close(run->gpu);
    run->gpu = NULL;
    for (size_t i = 0; i < 2; i++) {
        published_fig7_free(&run->figures[i]);
        run->has_figure[i] = false;
    }
}

gordian_status papers_run_gpu(struct papers_run *run)
{
    gordian_error *error = run->bench.error;
    if (run->gpu)
        return GORDIAN_OK;
    TRY(gpu_open_default(&run->gpu, &run->bench.memory, error));
    gpu_get_info(run->gpu, &run->info);
    gordian_status status = gpu_add_kernels(run->gpu, &published_kernels, error);
    if (status != GORDIAN_OK)
        papers_run_close(run);
    return status;
}

/* ------------------------------------------------------------------ measuring */

#define LONG_NS 3e9 /* a run of this length is a sample by itself */

gordian_status papers_time(struct papers_run *run, struct bench_side *side,
                           struct results_value *value)
{
    const bool quick = run->bench.options->quick;
    struct bench_effort effort = {0, 3, 200, quick ? 0.2 : 1};
    double ns = 0;
    uint64_t start = clock_ns();
    TRY(side->run(side->context, &ns, run->bench.error));
    if (run->emulated || (double)(clock_ns() - start) > LONG_NS) {
        value->value = ns;
        value->samples = 1;
        return GORDIAN_OK;
    }
    TRY(bench_measure(&run->bench, side, 1, effort));
    value->value = side->median;
    value->p99 = side->p99;
    value->samples = side->samples;
    return GORDIAN_OK;
}

gordian_status papers_measure_at(struct papers_run *run, const struct papers_measure *measure,
                                 const struct papers_point *points, size_t count,
                                 struct results_value *values)
{
    if (measure->all)
        return measure->all(run, measure, points, count, values);
    for (size_t i = 0; i < count; i++) {
        bench_progress(&run->bench, "%s, %s", measure->name, points[i].text);
        TRY(measure->one(run, measure, &points[i], &values[i]));
    }
    return GORDIAN_OK;
}

/* Was it measured in this run? Only the values of the last run count. */
static bool is_measured_already(const struct papers_run *run, const struct papers_measure *measure,
                                const struct papers_point *point)
{
    const struct results_value *value =
        results_find(run->results, measure->name, point->x, point->y);
    return value && value->run + 1 == run->results->run_count;
}

static bool is_left_out(const struct papers_run *run, const struct papers_measure *measure,
                        const struct papers_point *point)
{
    return run->bench.options->quick && measure->quick_limit > 0 && point->x > measure->quick_limit;
}

static gordian_status measure_points(struct papers_run *run, const struct papers_measure *measure,
                                     const struct papers_item *item)
{
    struct papers_point points[PAPERS_VALUES_MOST];
    struct results_value values[PAPERS_VALUES_MOST] = {0};
    size_t count = 0;
    for (size_t i = 0; i < papers_point_count(item) && count < PAPERS_VALUES_MOST; i++) {
        points[count] = papers_point_at(item, i);
        count += !is_left_out(run, measure, &points[count]) &&
                 !is_measured_already(run, measure, &points[count]);
    }
    if (count == 0)
        return GORDIAN_OK;
    TRY(papers_measure_at(run, measure, points, count, values));
    for (size_t i = 0; i < count; i++) {
        struct results_value *value = &values[i];
        value->x = points[i].x;
        value->y = points[i].y;
        memcpy(value->measure, measure->name, strlen(measure->name) + 1);
        if (value->value > 0)
            TRY(results_add(run->results, value, run->bench.error));
    }
    return GORDIAN_OK;
}

/* Appends as much text as fits. */
static void append_text(char *text, size_t size, const char *more)
{
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s", more);
}

bool papers_unmeasured(const struct papers_run *run, const struct papers_measure *measure,
                       const struct papers_item *item, char *text, size_t size)
{
    const char *why = papers_why_not(run, measure);
    size_t missing = 0, large = 0;
    text[0] = '\0';
    for (size_t i = 0; i < papers_point_count(item); i++) {
        struct papers_point point = papers_point_at(item, i);
        if (is_measured_already(run, measure, &point))
            continue;
        append_text(text, size, missing++ ? ", " : "");
        append_text(text, size, point.text);
        large += is_left_out(run, measure, &point);
    }
    if (!why)
        why = large == missing ? "left out by --quick" : "it could not be measured";
    append_text(text, size, ": ");
    append_text(text, size, why);
    return missing > 0;
}

static bool has_point(const struct papers_item *item, const struct results_value *value)
{
    for (size_t i = 0; i < papers_point_count(item); i++) {
        struct papers_point point = papers_point_at(item, i);
        if (point.x == value->x && point.y == value->y)
            return true;
    }
    return false;
}

gordian_status papers_check_results(const struct papers *papers, const struct results *results,
                                    size_t first_run, gordian_error *error)
{
    for (size_t i = 0; i < results->value_count; i++) {
        const struct results_value *value = &results->values[i];
        bool known = value->run < first_run;
        for (size_t k = 0; k < papers->item_count && !known; k++)
            known = papers_is_listed(&papers->items[k].measures, value->measure) &&
                    has_point(&papers->items[k], value);
        if (known)
            continue;
        if (!papers_measure_named(value->measure))
            return fail_at(error, GORDIAN_STATUS_INPUT, value->line, 1, "unknown measure '%s'",
                           value->measure);
        return fail_at(error, GORDIAN_STATUS_INPUT, value->line, 1,
                       "no table or figure has '%s' at x %g, y %g", value->measure, value->x,
                       value->y);
    }
    return GORDIAN_OK;
}

gordian_status papers_measure_item(struct papers_run *run, const struct papers_item *item)
{
    for (size_t m = 0; m < item->measures.count; m++) {
        const struct papers_measure *measure = papers_measure_named(item->measures.items[m]);
        if (!measure)
            return fail(run->bench.error, GORDIAN_STATUS_INPUT, "%s: unknown measure '%s'",
                        item->key, item->measures.items[m]);
        if (!papers_why_not(run, measure))
            TRY(measure_points(run, measure, item));
    }
    return GORDIAN_OK;
}
