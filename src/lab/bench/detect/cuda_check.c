/* `check` of snapshots on a GPU: times the upload, the computation and the download, and compares
 * with one core. */
#include "lab/bench/detect/cuda.h"

#include "engines/detect/check/cuda.h"
#include "engines/detect/check/snapshot.h"
#include "foundation/base/error.h"
#include "foundation/base/random.h"

#include <stdio.h>
#include <string.h>

enum stage {
    UPLOAD,
    KERNELS,
    DOWNLOAD,
    HOST,
    STAGES
}; /* unused as a type: the order of the names */

static const char *const stage_names[STAGES] = {"-upload", "", "-download", "-host"};

#define SAMPLES_MOST 20

struct judged {
    struct gpu *gpu;
    gordian_snapshot *snapshot;
    size_t dead, parts; /* results of sparse */
    double cpu_ns;
    double samples[STAGES][SAMPLES_MOST];
    size_t count;
};

static gordian_status judge_on_cpu(struct judged *judged, gordian_error *error)
{
    gordian_report report;
    uint64_t start = work_ns();
    gordian_status status = gordian_snapshot_check_for(
        judged->snapshot, &(gordian_check_options){"sparse", 1}, &report, error);
    judged->cpu_ns = (double)(work_ns() - start);
    if (status == GORDIAN_OK) {
        judged->dead = report.deadlocked_count;
        judged->parts = report.part_count;
    }
    return status;
}

static gordian_status judge_on_device(struct judged *judged, gordian_error *error)
{
    struct check_result result = {0};
    struct check_cuda_times times = {0};
    const gordian_model model = check_model(judged->snapshot);
    TRY(check_cuda_on(judged->gpu, judged->snapshot, model, &result, &times, error));
    const size_t dead = result.report.deadlocked_count, parts = result.report.part_count;
    check_result_free(&result, &judged->snapshot->memory);
    if (dead != judged->dead || parts != judged->parts)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "check: cuda finds %zu dead in %zu deadlocks, sparse %zu in %zu", dead, parts,
                    judged->dead, judged->parts);
    const double us[STAGES] = {times.upload, times.kernels, times.download, times.host};
    for (unsigned stage = 0; stage < STAGES; stage++)
        judged->samples[stage][judged->count] = us[stage];
    judged->count++;
    return GORDIAN_OK;
}

/* A kind of snapshot: a shape of the generator. `units`: every resource has a second unit, held by
 * a random process. */
struct check_kind {
    const char *name, *shape;
    uint32_t most; /* the largest size that one core can check in acceptable time */
    double bar;    /* ms, at 10^8 */
    bool units;
};

static gordian_status add_stage_rows(const struct cuda_bench *cuda, struct judged *judged,
                                     const struct check_kind *kind)
{
    const uint32_t size = judged->snapshot->process_count;
    unsigned digit = size, zeros = 0; /* "3e7": sizes are a digit and zeros */
    for (; digit >= 10; digit /= 10)
        zeros++;
    for (unsigned stage = 0; stage < STAGES; stage++) {
        double *samples = judged->samples[stage];
        struct bench_row row = bench_row("ms", "detect/cuda/check/%s-%ue%u%s", kind->name, digit,
                                         zeros, stage_names[stage]);
        row.value = bench_median(samples, judged->count) / 1e3;
        row.p99 = bench_p99(samples, judged->count) / 1e3;
        if (stage == KERNELS) {
            struct bench_side side = {.median = judged->cpu_ns};
            bench_against_curve(&row, "sparse", &side);
            bench_curve(&row, "check of a snapshot (ms)", size, "%s, kernels", kind->name);
            bench_note(&row, "%u processes + %u resources: %zu dead, %zu deadlocks", size,
                       judged->snapshot->resource_count, judged->dead, judged->parts);
        }
        TRY(cuda_add(cuda, &row, stage == KERNELS && size == 100000000 ? kind->bar : 0));
    }
    return GORDIAN_OK;
}

static gordian_status add_second_units(gordian_snapshot *snapshot, gordian_error *error)
{
    const uint32_t count = snapshot->resource_count;
    struct random random;
    random_seed(&random, 1);
    snapshot->units = memory_alloc(&snapshot->memory, sizeof *snapshot->units * count);
    snapshot->holds.edges = memory_alloc(&snapshot->memory, sizeof *snapshot->holds.edges * count);
    if (!snapshot->units || !snapshot->holds.edges)
        return fail_memory(error);
    for (uint32_t q = 0; q < count; q++) {
        const bool held = snapshot->holder[q] != NONE;
        const uint32_t other = (uint32_t)random_below(&random, snapshot->process_count);
        snapshot->units[q] = (struct snapshot_units){2, held ? 2 : 1, held ? 1 : 0};
        snapshot->holds.edges[q] = (struct snapshot_edge){1, other, q};
    }
    snapshot->holds.count = snapshot->holds.room = count;
    snapshot->several = true;
    return GORDIAN_OK;
}

static gordian_status make_snapshot(gordian_snapshot **snapshot, const struct check_kind *kind,
                                    uint32_t size, gordian_error *error)
{
    struct gen_options options = gen_options_of(kind->shape, 1, size);
    options.snapshot = true;
    if (strcmp(kind->shape, "chains") == 0) {
        options.length = 100;
        options.cycles = size / 1000;
    }
    gordian_status status = detect_snapshot(snapshot, &options, error);
    return status == GORDIAN_OK && kind->units ? add_second_units(*snapshot, error) : status;
}

static gordian_status check_rows(const struct cuda_bench *cuda, struct gpu *gpu,
                                 const struct check_kind *kind, uint32_t size)
{
    gordian_error *error = cuda->bench->error;
    bench_progress(cuda->bench, "check, %s of %u + %u, cuda", kind->name, size, size);
    struct judged judged = {.gpu = gpu};
    gordian_status status = make_snapshot(&judged.snapshot, kind, size, error);
    THEN(status, judge_on_cpu(&judged, error));
    /* Drop the first sample, which warms up. */
    const unsigned samples = cuda->info.emulated ? 1 : size > 20000000 ? 5 : SAMPLES_MOST;
    THEN(status, judge_on_device(&judged, error));
    judged.count = 0;
    for (unsigned i = 0; i < samples && status == GORDIAN_OK; i++)
        status = judge_on_device(&judged, error);
    THEN(status, add_stage_rows(cuda, &judged, kind));
    gordian_snapshot_close(judged.snapshot);
    return status;
}

gordian_status cuda_check_rows(const struct cuda_bench *cuda)
{
    static const struct {
        uint32_t size;
        enum cuda_scale scale;
    } sizes[] = {{1000, CUDA_EMULATED},
                 {1000000, CUDA_QUICK},
                 {10000000, CUDA_FULL},
                 {30000000, CUDA_FULL},
                 {100000000, CUDA_FULL}};
    static const struct check_kind kinds[] = {
        {"chains", "chains", 100000000, 60, false},
        {"ring", "ring", 100000000, 60, false},
        {"two-units", "chains", 100000000, 0, true},
        {"two-units-dead", "ring", 1000000, 0, true},
    };
    struct gpu *gpu;
    gordian_status status = gpu_open_default(&gpu, &cuda->bench->memory, cuda->bench->error);
    TRY(status);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            if (status == GORDIAN_OK && cuda_takes(cuda, sizes[i].scale) &&
                sizes[i].size <= kinds[k].most)
                status = check_rows(cuda, gpu, &kinds[k], sizes[i].size);
    gpu_close(gpu);
    return status;
}
