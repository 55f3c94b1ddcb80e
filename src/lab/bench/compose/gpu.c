/* Composition on the device: states found, joint transitions counted and written out, the full
 * product of independent buffers. */
#include "lab/bench/compose/compose.h"

#include "engines/compose/cuda/cuda.h"
#include "foundation/base/error.h"

#include <stdio.h>

#define PLOT_CUDA "Reachable states on the device (ns a state)"

/* A measured step: the device has the circuit, and earlier steps run once. */
struct gpu_side {
    struct compose_device *device;
    enum { EXPLORE, COUNT, COUNT_ALL, WRITE } what;
    uint64_t states, transitions; /* expected results; 0: any */
    uint64_t did;                 /* states or transitions of the last run */
};

static gordian_status run_side(void *context, double *ns, gordian_error *error)
{
    struct gpu_side *side = context;
    struct compose_counts counts;
    gordian_status status = GORDIAN_OK;
    uint64_t started = clock_ns();
    switch (side->what) {
    case EXPLORE:
        status = compose_device_explore(side->device, &side->did, error);
        break;
    case COUNT:
    case COUNT_ALL:
        status = compose_device_count(side->device, true, &counts, error);
        side->did = compose_joint_total(&counts);
        break;
    case WRITE:
        status = compose_device_write(side->device, &side->did, error);
        break;
    }
    *ns = (double)(clock_ns() - started);
    const bool states = side->what == EXPLORE;
    const uint64_t expected = states ? side->states : side->transitions;
    if (status == GORDIAN_OK && expected && expected != side->did)
        return fail(error, GORDIAN_STATUS_INPUT, "%llu %s, not %llu", (unsigned long long)side->did,
                    states ? "states" : "transitions", (unsigned long long)expected);
    return status;
}

/* Shared by all rows. */
struct gpu_bench {
    const struct compose_bench *compose;
    struct gpu *gpu;
    bool emulated, bars;
};

static gordian_status measure_on_gpu(const struct gpu_bench *gpu, struct gpu_side *side,
                                     const char *id, uint32_t size, double bar)
{
    struct bench *bench = gpu->compose->bench;
    struct bench_side measured = {side, run_side};
    struct bench_effort effort = {2, 5, 1000, bench->options->quick ? 0.5 : 2};
    if (gpu->emulated)
        effort = (struct bench_effort){0, 2, 2, 0};
    bench_progress(bench, "compose: %s-%u, cuda", id, size);
    TRY(bench_measure(bench, &measured, 1, effort));
    struct bench_row row = bench_row("ns", "compose/%s-%u/cuda", id, size);
    double each = side->did ? (double)side->did : 1;
    bench_fill(&row, &measured, each);
    if (bar > 0 && gpu->bars)
        bench_bar(&row, BAR_VALUE_AT_MOST, bar);
    if (side->what == EXPLORE) {
        bench_curve(&row, PLOT_CUDA, size, "cuda, %.20s", id);
    }
    bench_note(&row, "%s; %.3g G/s, %.3g in %.3g ms",
               side->what == EXPLORE ? "a state"
               : side->what == WRITE ? "per transition, written out"
                                     : "per transition, counted",
               each / measured.median, each, measured.median / 1e6);
    return bench_add(bench, &row);
}

/* Measures one step on a circuit. */
static gordian_status circuit_row(const struct gpu_bench *gpu, const gordian_circuit *circuit,
                                  uint32_t size, struct gpu_side side, const char *id, double bar)
{
    gordian_compose_options options;
    gordian_error *error = gpu->compose->bench->error;
    uint64_t states;
    gordian_compose_options_init(&options);
    gordian_status status =
        compose_device_open(&side.device, gpu->gpu, NULL, circuit, &options, error);
    if (status == GORDIAN_OK && side.what == COUNT_ALL)
        status = compose_device_take_all(side.device, 0, error);
    else if (status == GORDIAN_OK && side.what != EXPLORE)
        status = compose_device_explore(side.device, &states, error);
    THEN(status, measure_on_gpu(gpu, &side, id, size, bar));
    compose_device_close(side.device);
    return status;
}

/* Measures a step on a circuit of `gordian gen`. */
static gordian_status row(const struct gpu_bench *gpu, const char *kind, uint32_t size,
                          struct gpu_side side, const char *id, double bar)
{
    gordian_circuit *circuit;
    gordian_status status =
        bench_circuit(&circuit, kind, size, 1, NULL, gpu->compose->bench->error);
    THEN(status, circuit_row(gpu, circuit, size, side, id, bar));
    gordian_circuit_close(circuit);
    return status;
}

static uint64_t pell(uint32_t n)
{
    uint64_t one = 0, other = 1;
    for (; n > 0; n--) {
        uint64_t next = 2 * other + one;
        one = other;
        other = next;
    }
    return one;
}

static gordian_status gpu_chain_rows(const struct gpu_bench *gpu)
{
    static const uint32_t real[] = {24, 26, 28, 30, 0}, small[] = {10, 0}, quick[] = {24, 28, 0};
    const uint32_t *sizes = gpu->emulated                         ? small
                            : gpu->compose->bench->options->quick ? quick
                                                                  : real;
    for (; *sizes; sizes++)
        TRY(row(gpu, "circuit-chain", *sizes,
                (struct gpu_side){.what = EXPLORE, .states = UINT64_C(1) << *sizes}, "reach/chain",
                *sizes >= 28 ? 1.0 / 3 : 0));
    return GORDIAN_OK;
}

static gordian_status product_rows(const struct gpu_bench *gpu)
{
    bool emulated = gpu->emulated;
    uint32_t chain = emulated ? 8 : 20, apart = emulated ? 5 : 16, more = emulated ? 6 : 20;
    uint32_t out = emulated ? 5 : 14, large = emulated ? 9 : 28;
    TRY(row(gpu, "circuit-chain", chain,
            (struct gpu_side){.what = WRITE,
                              .transitions = 2 * pell(chain + 1) - (UINT64_C(1) << chain)},
            "write/chain", 1.0 / 5));
    TRY(row(gpu, "circuit-chain", large,
            (struct gpu_side){.what = COUNT,
                              .transitions = 2 * pell(large + 1) - (UINT64_C(1) << large)},
            "count/chain", 0));
    TRY(row(gpu, "circuit-apart", apart,
            (struct gpu_side){.what = COUNT_ALL,
                              .transitions = (UINT64_C(1) << 2 * apart) - (UINT64_C(1) << apart)},
            "full/apart", 1.0 / 30));
    TRY(row(gpu, "circuit-apart", more,
            (struct gpu_side){.what = COUNT_ALL,
                              .transitions = (UINT64_C(1) << 2 * more) - (UINT64_C(1) << more)},
            "full/apart", 1.0 / 30));
    return row(gpu, "circuit-apart", out,
               (struct gpu_side){.what = WRITE,
                                 .transitions = (UINT64_C(1) << 2 * out) - (UINT64_C(1) << out)},
               "write/apart", 0);
}

/* Adds circuits with conflicts, with sparse state numbers and with deadlocks. */
static gordian_status general_rows(const struct gpu_bench *gpu)
{
    static const struct {
        const char *kind, *id;
        uint32_t size, small; /* small: on the emulator */
        double bar;
    } reached[] = {{"circuit-dining", "reach/dining", 12, 4, 0},
                   {"circuit-dining", "reach/dining", 14, 5, 1},
                   {"circuit-dining", "reach/dining", 16, 6, 1},
                   {"circuit-ring", "reach/ring", 30, 10, 0},
                   {"circuit-ring", "reach/ring", 60, 12, 1}};
    for (size_t i = 0; i < sizeof reached / sizeof *reached; i++)
        TRY(row(gpu, reached[i].kind, gpu->emulated ? reached[i].small : reached[i].size,
                (struct gpu_side){.what = EXPLORE}, reached[i].id, reached[i].bar));
    return row(gpu, "circuit-dining", gpu->emulated ? 3 : 8, (struct gpu_side){.what = WRITE},
               "write/dining", 0);
}

/* Adds the models that models.c compares with SPIN, at larger sizes. */
static gordian_status model_rows(const struct gpu_bench *gpu)
{
    enum compose_model_size which = gpu->emulated ? COMPOSE_MODEL_SMALL : COMPOSE_MODEL_DEVICE;
    gordian_status status = GORDIAN_OK;
    struct compose_model model;
    char id[64];
    for (size_t i = 0; status == GORDIAN_OK &&
                       compose_model_open(&model, i, which, &status, gpu->compose->bench->error);
         i++) {
        snprintf(id, sizeof id, "models/%s", model.name);
        THEN(status,
             circuit_row(gpu, model.circuit, model.size,
                         (struct gpu_side){.what = EXPLORE, .states = model.states}, id, 0));
        gordian_circuit_close(model.circuit);
    }
    return status;
}

gordian_status compose_gpu_rows(const struct compose_bench *compose)
{
    struct bench *bench = compose->bench;
    struct gpu_bench gpu = {.compose = compose};
    struct gpu_info info;
    if (!compose->cuda)
        return GORDIAN_OK;
    TRY(bench_open_gpu(bench, &gpu.gpu, &info));
    gpu.emulated = info.emulated;
    gpu.bars = info.major == 9 && !info.emulated; /* the targets were set for this device */

    gordian_status status = gpu_chain_rows(&gpu);
    THEN(status, product_rows(&gpu));
    THEN(status, general_rows(&gpu));
    THEN(status, model_rows(&gpu));
    gpu_close(gpu.gpu);
    return status;
}
