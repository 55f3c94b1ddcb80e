/* The thesis's worst cases with its GPU-PBA on this device, compared with our engine on the same
 * device and states. */
#include "lab/bench/avoid/avoid.h"

#include "engines/avoid/cuda/cuda.h"
#include "foundation/base/error.h"
#include "lab/published/avoid/measure_pba.h"

#define BAR_RATIO 10 /* at the thesis's largest size */

struct published_side {
    struct measure_pba *measure;
    struct measure_time time; /* of the last run */
};

static gordian_status run_published_pba(void *context, double *ns, gordian_error *error)
{
    struct published_side *side = context;
    gordian_status status = measure_pba_run(side->measure, &side->time, error);
    *ns = side->time.wall;
    return status;
}

/* Measures ours and the published method in turn. */
static gordian_status measure_both_pba(const struct avoid_bench *avoid, struct avoid_side *ours,
                                       struct published_side *theirs,
                                       const struct avoid_worst_size *size)
{
    struct bench *bench = avoid->bench;
    struct bench_side sides[] = {{ours, avoid_ask}, {theirs, run_published_pba}};
    struct bench_effort effort = {1, 3, 50, bench->options->quick ? 0.3 : 1};
    if (avoid->emulated)
        effort = (struct bench_effort){0, 2, 2, 0};
    bench_progress(bench, "as published: worst request, %u x %u", size->processes, size->resources);
    TRY(bench_measure(bench, sides, 2, effort));
    struct bench_row row = bench_measured(&sides[0], "ms", "avoid/published/worst-%ux%u/cuda",
                                          size->processes, size->resources);
    bench_against(&row, "GPU-PBA", &sides[1]);
    bench_paper(&row, size->cpu_s * 1e3, size->k20c_s * 1e3);
    if (avoid->bars && size->processes == 8192 && size->resources == 1024)
        bench_bar(&row, BAR_AT_LEAST, BAR_RATIO);
    bench_note(&row, "as published: a launch per round, %.3g ms between device events",
               theirs->time.device / 1e6);
    return bench_add(avoid->bench, &row);
}

static gordian_status add_size(const struct avoid_bench *avoid, struct gpu *gpu,
                               const struct avoid_worst_size *size)
{
    struct bench *bench = avoid->bench;
    struct avoid_state state;
    struct avoid_side ours = {0};
    struct published_side theirs = {0};
    TRY(avoid_state_build(&state, AVOID_ALL, size->processes, size->resources, bench->options->seed,
                          bench->error));
    gordian_status status = avoid_side_open(&ours, &state, &avoid_cuda, bench->error);
    THEN(status, measure_pba_open(&theirs.measure, gpu, size->processes, size->resources,
                                  &bench->memory, bench->error));
    THEN(status, measure_both_pba(avoid, &ours, &theirs, size));
    measure_pba_close(theirs.measure);
    avoid_side_close(&ours);
    avoid_state_free(&state);
    return status;
}

static gordian_status add_sizes(const struct avoid_bench *avoid, struct gpu *gpu)
{
    static const struct avoid_worst_size small = {40, 70, 0, 0};
    const bool quick = avoid->bench->options->quick;
    if (avoid->emulated)
        return add_size(avoid, gpu, &small);
    for (size_t i = 0; i < AVOID_THESIS_SIZES; i++)
        if (!quick || avoid_thesis[i].processes <= 1024 || i == AVOID_THESIS_SIZES - 1)
            TRY(add_size(avoid, gpu, &avoid_thesis[i]));
    return GORDIAN_OK;
}

gordian_status avoid_published_rows(const struct avoid_bench *avoid)
{
    struct bench *bench = avoid->bench;
    struct gpu *gpu;
    if (!avoid->cuda)
        return GORDIAN_OK;
    TRY(gpu_open_default(&gpu, &bench->memory, bench->error));
    gordian_status status = gpu_add_kernels(gpu, &published_kernels, bench->error);
    THEN(status, add_sizes(avoid, gpu));
    gpu_close(gpu);
    return status;
}
