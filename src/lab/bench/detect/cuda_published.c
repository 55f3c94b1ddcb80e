/* The cuda engine compared with the papers' methods as published, on the same device and events. */
#include "lab/bench/detect/cuda.h"
#include "lab/bench/detect/published.h"

#include "foundation/base/error.h"

#define WANTED_RATIO 10 /* at the papers' largest sizes */

struct contest {
    struct paper_player player;
    enum paper_experiment experiment;
    uint32_t size;
    struct measure_time time; /* of the last run */
};

static gordian_status run_contest(void *context, double *ns, gordian_error *error)
{
    struct contest *contest = context;
    gordian_status status =
        paper_play(&contest->player, contest->experiment, contest->size, &contest->time, error);
    *ns = contest->time.wall;
    return status;
}

static const struct {
    const char *id, *unit;
} experiments[] = {
    [PAPER_EXPERIMENT_LIST] = {"events", "ms"},
    [PAPER_EXPERIMENT_BLOCK] = {"block", "us"},
    [PAPER_EXPERIMENT_RELEASE] = {"release", "us"},
    [PAPER_EXPERIMENT_LIST_AND_RELEASE] = {"events-and-release", "ms"},
};

static gordian_status measure_contest(const struct cuda_bench *cuda, const struct contest *wanted,
                                      bool once, bool largest)
{
    struct contest published = *wanted, ours = *wanted;
    struct bench_side sides[] = {{&ours, run_contest}, {&published, run_contest}};
    const bool quick = cuda->bench->options->quick;
    const struct bench_effort effort = {0, once || quick ? 1 : 3, once ? 1 : 10,
                                        once    ? 0
                                        : quick ? 0.5
                                                : 3};
    ours.player.engine = "cuda";
    bench_progress(cuda->bench, "%s as published, %s, M = %u", paper_player_name(&published.player),
                   experiments[published.experiment].id, published.size);
    TRY(bench_measure(cuda->bench, sides, 2, effort));
    const char *name = paper_player_name(&published.player);
    const struct detect_paper paper = detect_paper_at(published.size);
    const struct detect_paper_times theirs[] = {
        [PAPER_EXPERIMENT_LIST] = paper.list_s,
        [PAPER_EXPERIMENT_BLOCK] = paper.block_ms,
        [PAPER_EXPERIMENT_RELEASE] = paper.release_ms,
        [PAPER_EXPERIMENT_LIST_AND_RELEASE] = paper.multi_s,
    };
    struct bench_row row = bench_measured(
        &sides[0], experiments[published.experiment].unit, "detect/published/%s-%u/%s",
        experiments[published.experiment].id, published.size, name);
    bench_against_curve(&row, name, &sides[1]);
    /* The papers' figures are for the bit-packed form. */
    if (published.player.method == PUBLISHED_METHOD_OSDDA_BITS ||
        published.player.method == PUBLISHED_METHOD_LMDDA_BITS)
        bench_paper(&row, theirs[published.experiment].cpu * 1e3,
                    theirs[published.experiment].gpu * 1e3);
    bench_note(&row,
               "cuda against the published method on this device: %.3g %s of it on the device",
               published.time.device / row.per_unit, experiments[published.experiment].unit);
    if (largest && cuda->bars)
        bench_bar(&row, BAR_AT_LEAST, WANTED_RATIO);
    return cuda_add(cuda, &row, 0);
}

struct published_size {
    uint32_t size;
    enum cuda_scale packed, initial; /* the runs that measure either form */
};

static const struct published_size single_sizes[] = {
    {40, CUDA_EMULATED, CUDA_EMULATED}, {512, CUDA_FULL, CUDA_FULL},
    {1024, CUDA_QUICK, CUDA_QUICK},     {2048, CUDA_FULL, CUDA_FULL},
    {4096, CUDA_FULL, CUDA_FULL},       {8192, CUDA_QUICK, CUDA_FULL},
};
static const struct published_size multi_sizes[] = {
    {20, CUDA_EMULATED, CUDA_EMULATED}, {64, CUDA_FULL, CUDA_FULL},  {128, CUDA_FULL, CUDA_FULL},
    {256, CUDA_QUICK, CUDA_QUICK},      {512, CUDA_FULL, CUDA_FULL}, {1024, CUDA_QUICK, CUDA_FULL},
};

static gordian_status published_method_rows(const struct cuda_bench *cuda, struct gpu *gpu,
                                            enum published_method method,
                                            const struct published_size *size, bool largest)
{
    const bool multi = published_is_multi_unit(method);
    const enum paper_experiment first = multi ? PAPER_EXPERIMENT_RELEASE : PAPER_EXPERIMENT_LIST;
    const enum paper_experiment last =
        multi ? PAPER_EXPERIMENT_LIST_AND_RELEASE : PAPER_EXPERIMENT_RELEASE;
    for (int i = (int)first; i <= (int)last; i++) {
        const struct contest wanted = {.player = {.gpu = gpu, .method = method, .multi = multi},
                                       .experiment = (enum paper_experiment)i,
                                       .size = size->size};
        TRY(measure_contest(cuda, &wanted, cuda->info.emulated || (multi && largest), largest));
    }
    return GORDIAN_OK;
}

static gordian_status all_methods(const struct cuda_bench *cuda, struct gpu *gpu)
{
    const size_t singles = sizeof single_sizes / sizeof *single_sizes;
    const size_t multis = sizeof multi_sizes / sizeof *multi_sizes;
    for (int i = 0; i < PUBLISHED_METHODS; i++) {
        const enum published_method method = (enum published_method)i;
        const bool multi = published_is_multi_unit(method);
        const bool packed =
            method == PUBLISHED_METHOD_OSDDA_BITS || method == PUBLISHED_METHOD_LMDDA_BITS;
        const size_t count = multi ? multis : singles;
        for (size_t k = 0; k < count; k++) {
            const struct published_size *size = multi ? &multi_sizes[k] : &single_sizes[k];
            if (cuda_takes(cuda, packed ? size->packed : size->initial))
                TRY(published_method_rows(cuda, gpu, method, size, k + 1 == count));
        }
    }
    return GORDIAN_OK;
}

gordian_status cuda_published_rows(const struct cuda_bench *cuda)
{
    struct gpu *gpu;
    TRY(gpu_open_default(&gpu, &cuda->bench->memory, cuda->bench->error));
    gordian_status status = gpu_add_kernels(gpu, &published_kernels, cuda->bench->error);
    THEN(status, all_methods(cuda, gpu));
    gpu_close(gpu);
    return status;
}
