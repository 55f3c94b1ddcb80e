/* The thesis's experiment: a request that takes as many rounds as there are processes, at the sizes
 * of its tables 5.2 to 5.4 and beyond. Rows include the thesis's times (seconds). */
#include "lab/bench/avoid/avoid.h"

#include "engines/avoid/cuda/cuda.h"
#include "foundation/base/error.h"
#include "foundation/base/machine.h"

const struct avoid_worst_size avoid_thesis[AVOID_THESIS_SIZES] = {
    {512, 256, 0.03, 0.02},   {1024, 256, 0.13, 0.05},  {2048, 256, 0.51, 0.16},
    {4096, 256, 2.05, 0.55},  {8192, 256, 8.34, 1.99},  {512, 512, 0.05, 0.02},
    {1024, 512, 0.20, 0.09},  {2048, 512, 0.78, 0.30},  {4096, 512, 3.26, 1.13},
    {8192, 512, 13.60, 4.30}, {512, 1024, 0.10, 0.05},  {1024, 1024, 0.39, 0.18},
    {2048, 1024, 1.59, 0.68}, {4096, 1024, 6.62, 2.63}, {8192, 1024, 26.62, 10.30},
};

/* Larger than the thesis's; the published algorithm would take a quarter of an hour. */
static const struct avoid_worst_size beyond[] = {
    {16384, 1024, 0, 0}, {32768, 1024, 0, 0}, {65536, 1024, 0, 0}};
static const char *const beyond_ids[] = {"avoid/worst-16384x1024", "avoid/worst-32768x1024",
                                         "avoid/worst-65536x1024"};

#define BAR_GPU_MS 15
#define BAR_CPU    1000

static bool is_bar(const struct avoid_worst_size *size)
{
    return size->processes == 8192 && size->resources == 1024;
}

static const char *plot_of(uint32_t resources)
{
    switch (resources) {
    case 256:
        return "Worst request, 256 resources (ms)";
    case 512:
        return "Worst request, 512 resources (ms)";
    case 1024:
        return "Worst request, 1024 resources (ms)";
    default:
        return "Worst request (ms)";
    }
}

static struct bench_row worst_row(const struct avoid_worst_size *size, const char *kind,
                                  const char *engine, const struct bench_side *side)
{
    struct bench_row row = bench_measured(side, "ms", "avoid/worst%s-%ux%u/%s", kind,
                                          size->processes, size->resources, engine);
    bench_paper(&row, size->cpu_s * 1e3, size->k20c_s * 1e3);
    if (!kind[0])
        bench_curve(&row, plot_of(size->resources), size->processes, "%s", engine);
    return row;
}

/* Reduces the repetitions of long measurements. */
static struct bench_effort effort_for_worst(const struct avoid_bench *avoid,
                                            const struct avoid_engine *engine,
                                            const struct avoid_worst_size *size)
{
    const bool quick = avoid->bench->options->quick;
    if (engine == &avoid_dense) {
        bool long_one = (uint64_t)size->processes * size->processes * size->resources > 1u << 30;
        return (struct bench_effort){0, long_one ? 1 : 3, long_one ? 1 : 5, quick ? 0.2 : 1};
    }
    if (avoid->emulated && engine == &avoid_cuda)
        return (struct bench_effort){0, 2, 2, 0};
    return (struct bench_effort){1, 3, 200, quick ? 0.3 : 1};
}

static gordian_status time_worst_engine(const struct avoid_bench *avoid, struct avoid_state *state,
                                        const struct avoid_worst_size *size,
                                        const struct avoid_engine *engine, struct bench_side *side)
{
    bench_progress(avoid->bench, "worst request, %u x %u, %s", size->processes, size->resources,
                   engine->about.name);
    return avoid_time(avoid, state, engine, effort_for_worst(avoid, engine, size), side);
}

/* Adds the row of holt against dense, if dense was measured. */
static gordian_status add_holt(const struct avoid_bench *avoid, struct avoid_state *state,
                               const struct avoid_worst_size *size, const char *kind,
                               double dense_ns)
{
    struct bench_side side;
    TRY(time_worst_engine(avoid, state, size, &avoid_holt, &side));
    struct bench_row row = worst_row(size, kind, "holt", &side);
    if (dense_ns > 0) {
        row.baseline = "dense";
        row.baseline_value = dense_ns / 1e6;
        if (is_bar(size) && !kind[0])
            bench_bar(&row, BAR_AT_LEAST, BAR_CPU);
    }
    return bench_add(avoid->bench, &row);
}

static gordian_status add_cuda(const struct avoid_bench *avoid, struct avoid_state *state,
                               const struct avoid_worst_size *size, const char *kind)
{
    struct bench_side side;
    TRY(time_worst_engine(avoid, state, size, &avoid_cuda, &side));
    struct bench_row row = worst_row(size, kind, "cuda", &side);
    if (is_bar(size) && avoid->bars)
        bench_bar(&row, BAR_VALUE_AT_MOST, BAR_GPU_MS);
    return bench_add(avoid->bench, &row);
}

/* Adds the rows of all engines for a state; `dense`: also that engine, as a baseline. */
static gordian_status rows_of_state(const struct avoid_bench *avoid,
                                    const struct avoid_worst_size *size, enum avoid_shape shape,
                                    const char *kind, bool dense)
{
    struct avoid_state state;
    struct bench_side side = {0};
    bench_progress(avoid->bench, "worst request, %u x %u: building", size->processes,
                   size->resources);
    gordian_status status = avoid_state_build(&state, shape, size->processes, size->resources,
                                              avoid->bench->options->seed, avoid->bench->error);
    TRY(status);
    if (dense && avoid->cpu)
        status = time_worst_engine(avoid, &state, size, &avoid_dense, &side);
    if (status == GORDIAN_OK && dense && avoid_wants(avoid, "dense")) {
        struct bench_row row = worst_row(size, kind, "dense", &side);
        status = bench_add(avoid->bench, &row);
    }
    if (status == GORDIAN_OK && avoid_wants(avoid, "holt"))
        status = add_holt(avoid, &state, size, kind, side.median);
    if (status == GORDIAN_OK && avoid_wants(avoid, "cuda"))
        status = add_cuda(avoid, &state, size, kind);
    avoid_state_free(&state);
    return status;
}

/* Adds the rows of the other shapes. Dense checks every cell in every round, so it takes as long as
 * for the first shape, except for the wide one. */
static gordian_status rows_of_shapes(const struct avoid_bench *avoid, struct avoid_worst_size size)
{
    size.cpu_s = size.k20c_s = 0;
    TRY(rows_of_state(avoid, &size, AVOID_LAST, "-last", false));
    TRY(rows_of_state(avoid, &size, AVOID_MIXED, "-mixed", false));
    return rows_of_state(avoid, &size, AVOID_WIDE, "-wide", true);
}

/* A claim takes about 64 bytes on the host and 16 on the device. */
static bool has_memory(const struct avoid_bench *avoid, const struct avoid_worst_size *size)
{
    struct machine machine;
    uint64_t cells = (uint64_t)size->processes * size->resources;
    machine_describe(&machine);
    return machine.memory > 3 * 64 * cells &&
           (!avoid->cuda || avoid->info.memory_free > 2 * 16 * cells);
}

gordian_status avoid_worst_rows(const struct avoid_bench *avoid)
{
    static const struct avoid_worst_size small = {40, 70, 0, 0};
    const bool quick = avoid->bench->options->quick;
    if (avoid->emulated) {
        TRY(rows_of_state(avoid, &small, AVOID_ALL, "", true));
        return rows_of_shapes(avoid, small);
    }
    for (size_t i = 0; i < AVOID_THESIS_SIZES; i++) {
        bool large = avoid_thesis[i].processes > 1024;
        if (!quick || !large || is_bar(&avoid_thesis[i]))
            TRY(rows_of_state(avoid, &avoid_thesis[i], AVOID_ALL, "", !quick || !large));
        if (is_bar(&avoid_thesis[i]))
            TRY(rows_of_shapes(avoid, avoid_thesis[i]));
    }
    for (size_t i = 0; i < sizeof beyond / sizeof *beyond && !quick; i++)
        if (has_memory(avoid, &beyond[i]))
            TRY(rows_of_state(avoid, &beyond[i], AVOID_ALL, "", false));
        else
            TRY(bench_skip(avoid->bench, beyond_ids[i], "too little memory"));
    return GORDIAN_OK;
}
