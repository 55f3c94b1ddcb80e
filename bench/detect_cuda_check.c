/* `check` of snapshots on a GPU: up, judged, down, each timed; beside the same on one core. */
#include "detect_cuda.h"

#include "base/error.h"
#include "detect/check_cuda.h"
#include "detect/cuda.h"
#include "detect/snapshot.h"

#include <stdio.h>
#include <string.h>

enum stage { UPLOAD, KERNELS, DOWNLOAD, HOST, STAGES };

static const char *const stage_names[STAGES] = {"-upload", "", "-download", "-host"};

#define SAMPLES_MOST 20

struct judged {
    struct gpu *gpu;
    gordian_snapshot *snapshot;
    size_t dead, parts; /* what sparse finds */
    double cpu_ns;
    double samples[STAGES][SAMPLES_MOST];
    size_t count;
};

static gordian_status judge_here(struct judged *judged, gordian_error *error)
{
    gordian_report report;
    uint64_t start = work_ns();
    gordian_status status = gordian_snapshot_check_with(judged->snapshot, "sparse", &report, error);
    judged->cpu_ns = (double)(work_ns() - start);
    if (status == GORDIAN_OK) {
        judged->dead = report.deadlocked_count;
        judged->parts = report.part_count;
    }
    return status;
}

static gordian_status judge_there(struct judged *judged, gordian_error *error)
{
    struct check_result result = {0};
    struct check_cuda_times times = {0};
    const gordian_model model = check_model(judged->snapshot);
    gordian_status status =
        check_cuda_on(judged->gpu, judged->snapshot, model, &result, &times, error);
    if (status != GORDIAN_OK)
        return status;
    const size_t dead = result.report.deadlocked_count, parts = result.report.part_count;
    check_result_free(&result, &judged->snapshot->memory);
    if (dead != judged->dead || parts != judged->parts)
        return fail(error, GORDIAN_INPUT,
                    "check: cuda finds %zu dead in %zu deadlocks, sparse %zu in %zu", dead, parts,
                    judged->dead, judged->parts);
    const double us[STAGES] = {times.upload, times.kernels, times.download, times.host};
    for (unsigned stage = 0; stage < STAGES; stage++)
        judged->samples[stage][judged->count] = us[stage];
    judged->count++;
    return GORDIAN_OK;
}

/* Sizes are powers of ten. */
static unsigned zeros(uint32_t size)
{
    unsigned count = 0;
    for (; size >= 10; size /= 10)
        count++;
    return count;
}

static gordian_status add_rows(const struct cuda_bench *cuda, struct judged *judged,
                               const char *kind, double bar)
{
    const uint32_t size = judged->snapshot->process_count;
    gordian_status status = GORDIAN_OK;
    for (unsigned stage = 0; stage < STAGES && status == GORDIAN_OK; stage++) {
        double *samples = judged->samples[stage];
        struct bench_row row =
            bench_row("ms", "detect/cuda/check/%s-1e%u%s", kind, zeros(size), stage_names[stage]);
        row.value = bench_median(samples, judged->count) / 1e3;
        row.p99 = bench_p99(samples, judged->count) / 1e3;
        if (stage == KERNELS) {
            struct bench_side side = {.median = judged->cpu_ns};
            cuda_compare(&row, "sparse", &side, 1e6);
            row.plot = strcmp(kind, "ring") == 0 ? "check of a ring (ms)" : "check of chains (ms)";
            row.x = size;
            snprintf(row.series, sizeof row.series, "cuda, kernels");
            snprintf(row.note, sizeof row.note, "%u processes + %u resources: %zu dead, %zu cycles",
                     size, judged->snapshot->resource_count, judged->dead, judged->parts);
        }
        status = cuda_add(cuda, &row, stage == KERNELS ? bar : 0);
    }
    return status;
}

static gordian_status check_rows(const struct cuda_bench *cuda, struct gpu *gpu, const char *kind,
                                 uint32_t size, double bar)
{
    struct gen_options options;
    gordian_error *error = cuda->bench->error;
    gen_options_init(&options);
    options.kind = kind;
    options.processes = size;
    options.snapshot = true;
    if (strcmp(kind, "chains") == 0) {
        options.length = 100;
        options.cycles = size / 1000;
    }
    bench_progress(cuda->bench, "check, %s of %u + %u, cuda", kind, size, size);
    struct judged judged = {.gpu = gpu};
    gordian_status status = detect_snapshot(&judged.snapshot, &options, error);
    if (status == GORDIAN_OK)
        status = judge_here(&judged, error);
    /* The first one warms up: it is dropped. */
    const unsigned samples = cuda->info.emulated ? 1 : size > 50000000 ? 5 : SAMPLES_MOST;
    if (status == GORDIAN_OK)
        status = judge_there(&judged, error);
    judged.count = 0;
    for (unsigned i = 0; i < samples && status == GORDIAN_OK; i++)
        status = judge_there(&judged, error);
    if (status == GORDIAN_OK)
        status = add_rows(cuda, &judged, kind, bar);
    gordian_snapshot_close(judged.snapshot);
    return status;
}

gordian_status cuda_check_rows(const struct cuda_bench *cuda)
{
    static const struct {
        uint32_t size;
        enum cuda_scale scale;
        double bar; /* ms */
    } sizes[] = {{1000, CUDA_EMULATED, 0},
                 {1000000, CUDA_QUICK, 0},
                 {10000000, CUDA_FULL, 0},
                 {100000000, CUDA_FULL, 60}};
    static const char *const kinds[] = {"chains", "ring"};
    struct gpu *gpu;
    gordian_status status = cuda_open_device(&gpu, &cuda->bench->memory, cuda->bench->error);
    if (status != GORDIAN_OK)
        return status;
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            if (status == GORDIAN_OK && cuda_takes(cuda, sizes[i].scale))
                status = check_rows(cuda, gpu, kinds[k], sizes[i].size, sizes[i].bar);
    gpu_close(gpu);
    return status;
}
