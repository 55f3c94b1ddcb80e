/* Makespans on the device, for the paper's case study: evaluations per second, bounds by sweeping,
 * and whole answers, which are checked. */
#include "lab/bench/makespan/cuda.h"

#include "engines/detect/cuda/cuda.h"
#include "engines/makespan/cuda/chains.h"
#include "engines/makespan/cuda/cuda.h"
#include "engines/makespan/cuda/sweep.h"
#include "foundation/base/error.h"
#include "lab/bench/makespan/makespan.h"

struct device {
    struct bench *bench;
    struct gpu *gpu;
    bool emulated, bars;
};

/* ------------------------------------------------------------------ evaluations */

struct chains_side {
    struct gpu_chains *chains;
    uint64_t steps;
};

static gordian_status run_gpu_chains(void *context, double *ns, gordian_error *error)
{
    struct chains_side *side = context;
    uint64_t begin = clock_ns();
    gordian_status status = gpu_chains_advance(side->chains, side->steps, error);
    *ns = (double)(clock_ns() - begin);
    return status;
}

static gordian_status evaluation_row(const struct device *device, uint32_t warps,
                                     uint32_t schedulers, bool published)
{
    struct bench *bench = device->bench;
    struct makespan_model *model;
    gordian_makespan_options options;
    struct chains_side side = {.steps = device->emulated ? 4 : 200};
    struct bench_side measured = {&side, run_gpu_chains};
    struct bench_effort effort = {3, 10, 100, bench->options->quick ? 0.5 : 2};
    char name[16];
    if (device->emulated)
        effort = (struct bench_effort){0, 2, 2, 0};
    TRY(makespan_case(&model, warps, schedulers, bench->error));
    makespan_case_name(name, warps, schedulers);
    bench_progress(bench, "makespan: evaluations, %s", name);
    gordian_makespan_options_init(&options);
    options.chains = device->emulated ? 8 : MAKESPAN_CUDA_CHAINS;
    options.evaluations = MAKESPAN_CUDA_EVALUATIONS;
    options.published = published;
    gordian_status status =
        gpu_chains_open(&side.chains, device->gpu, model, &options, 0, NULL, bench->error);
    THEN(status, bench_measure(bench, &measured, 1, effort));
    if (status == GORDIAN_OK) {
        struct bench_row row =
            bench_row("ns", "makespan/evaluation-%s%s/cuda", name, published ? "-published" : "");
        double each = (double)side.steps * options.chains;
        bench_fill(&row, &measured, each);
        bench_bar(&row, device->bars && warps == 16 ? BAR_VALUE_AT_MOST : BAR_NONE, 50);
        bench_note(&row, "%.3g M evaluations/s, %u chains", 1e3 / row.value, options.chains);
        status = bench_add(bench, &row);
    }
    gpu_chains_close(side.chains);
    model_close(model);
    return status;
}

/* ------------------------------------------------------------------ bounds */

struct sweep_side {
    struct gpu *gpu;
    struct sweep_tables *tables;
    struct sweep_options options;
    struct sweep_outcome outcome;
};

static gordian_status run_sweep(void *context, double *ns, gordian_error *error)
{
    struct sweep_side *side = context;
    uint64_t begin = clock_ns();
    gordian_status status =
        sweep_run(side->gpu, side->tables, &side->options, &side->outcome, error);
    *ns = (double)(clock_ns() - begin);
    return status;
}

static gordian_status bound_row(const struct device *device, uint32_t warps, uint32_t schedulers,
                                enum sweep_detail detail)
{
    static const char *const details[] = {"work", "largest", "full"};
    struct bench *bench = device->bench;
    struct makespan_model *model;
    struct sweep_side side = {.gpu = device->gpu};
    struct bench_side measured = {&side, run_sweep};
    struct bench_effort effort = {0, 1, 5, bench->options->quick ? 0 : 3};
    char name[16];
    TRY(makespan_case(&model, warps, schedulers, bench->error));
    makespan_case_name(name, warps, schedulers);
    bench_progress(bench, "makespan: bound, %s, %s", name, details[detail]);
    side.options.wide = warps > 20;
    gordian_status status =
        sweep_tables_open(&side.tables, model, detail, &model->memory, bench->error);
    THEN(status, bench_measure(bench, &measured, 1, effort));
    if (status == GORDIAN_OK) {
        struct bench_row row =
            bench_measured(&measured, "ms", "makespan/bound-%s-%s/cuda", name, details[detail]);
        double states = (double)side.outcome.states;
        bench_note(&row, "%u cycles; %.3g states, %.2f ns each, %.3g bytes", side.outcome.value,
                   states, measured.median / states, (double)side.outcome.memory);
        status = bench_add(bench, &row);
    }
    sweep_tables_close(side.tables);
    model_close(model);
    return status;
}

/* ------------------------------------------------------------------ answers */

/* Runs the whole engine, without opening the device. `wanted`, if not 0, must be proved. */
static gordian_status answer_row(const struct device *device, uint32_t warps, uint32_t schedulers,
                                 uint32_t wanted, double bar)
{
    struct bench *bench = device->bench;
    struct makespan_model *model;
    gordian_makespan_options options;
    struct makespan_result result;
    char name[16];
    TRY(makespan_case(&model, warps, schedulers, bench->error));
    makespan_case_name(name, warps, schedulers);
    bench_progress(bench, "makespan: answer, %s", name);
    gordian_makespan_options_init(&options);
    options.max_ns = UINT64_C(60000000000);
    uint64_t begin = clock_ns();
    gordian_status status = makespan_cuda_on(device->gpu, model, &options, &result, bench->error);
    double ns = (double)(clock_ns() - begin);
    if (status == GORDIAN_OK && wanted && (result.lower != wanted || result.upper != wanted))
        status = fail(bench->error, GORDIAN_STATUS_INPUT, "%s warps: %u to %u, not %u", name,
                      result.lower, result.upper, wanted);
    if (status == GORDIAN_OK) {
        struct bench_row row = bench_row("ms", "makespan/answer-%s/cuda", name);
        row.value = ns / 1e6;
        bench_bar(&row, device->bars && bar > 0 ? BAR_VALUE_AT_MOST : BAR_NONE, bar);
        bench_note(&row, "%u to %u%s; %.3g evaluations, %.3g states", result.lower, result.upper,
                   result.exact ? ", proved" : "", (double)result.evaluations,
                   (double)result.states);
        status = bench_add(bench, &row);
    }
    if (status == GORDIAN_OK)
        makespan_result_free(&result);
    model_close(model);
    return status;
}

/* ------------------------------------------------------------------ all of them */

static gordian_status real_rows(const struct device *device)
{
    static const struct {
        uint32_t warps, schedulers, wanted;
        double bar; /* ms */
    } answers[] = {{16, 0, 160, 20000}, {16, 4, 184, 60000}, {24, 0, 0, 0},
                   {24, 4, 0, 0},       {32, 0, 0, 0},       {32, 4, 0, 0}};
    size_t count = device->bench->options->quick ? 2 : sizeof answers / sizeof *answers;
    TRY(evaluation_row(device, 16, 0, false));
    TRY(evaluation_row(device, 16, 4, false));
    TRY(evaluation_row(device, 16, 4, true));
    TRY(evaluation_row(device, 32, 4, false));
    TRY(bound_row(device, 16, 4, SWEEP_WORK));
    TRY(bound_row(device, 16, 0, SWEEP_LARGEST));
    for (size_t i = 0; i < count; i++)
        TRY(answer_row(device, answers[i].warps, answers[i].schedulers, answers[i].wanted,
                       answers[i].bar));
    return GORDIAN_OK;
}

gordian_status makespan_cuda_rows(struct bench *bench)
{
    struct device device = {.bench = bench};
    struct gpu_info info;
    TRY(bench_open_gpu(bench, &device.gpu, &info));
    device.emulated = info.emulated;
    device.bars = info.major == 9 && !info.emulated; /* the targets were set for this device */

    gordian_status status;
    if (device.emulated) {
        status = evaluation_row(&device, 4, 0, false);
        THEN(status, bound_row(&device, 4, 0, SWEEP_LARGEST));
        THEN(status, answer_row(&device, 3, 0, 37, 0));
    } else {
        status = real_rows(&device);
    }
    gpu_close(device.gpu);
    return status;
}
