/* Growable arrays on a GPU: the paper's experiment, its two methods, and the cost of each part. */
#include "lab/bench/array/array.h"

#include "foundation/base/error.h"
#include "lab/published/published.h"

#include <stdio.h>
#include <string.h>

struct bench_effort array_effort(const struct array_bench *array, double seconds)
{
    if (array->info.emulated)
        return (struct bench_effort){0, 2, 2, 0};
    return (struct bench_effort){3, 5, 300, array->bench->options->quick ? seconds / 4 : seconds};
}

bool array_takes(const struct array_bench *array, bool tiny, bool quick)
{
    if (array->info.emulated || tiny)
        return array->info.emulated && tiny;
    return quick || !array->bench->options->quick;
}

void array_fill(const struct array_bench *array, struct bench_row *row,
                const struct bench_side *side, uint64_t bytes)
{
    bench_fill(row, side, 1e3);
    if (bytes == 0 || array->copied <= 0 || side->median <= 0)
        return;
    double rate = (double)bytes / (side->median / 1e9);
    bench_note(row, "%.3g MB moved, %.4g GB/s: %.0f %% of a copy", (double)bytes / 1e6, rate / 1e9,
               100 * rate / array->copied);
}

void array_cost(const struct array_bench *array, struct bench_row *row, const char *baseline,
                const struct bench_side *side, double bar)
{
    size_t length = strlen(row->note);
    bench_against_curve(row, baseline, side);
    row->ratio = row->baseline_value > 0 ? row->value / row->baseline_value : 0;
    snprintf(row->note + length, sizeof row->note - length, "%sratio: ours over %s",
             length ? "; " : "", baseline);
    if (bar <= 0 || array->info.emulated)
        return;
    bench_bar(row, BAR_AT_MOST, bar);
}

/* ------------------------------------------------------------------ the ceiling */

struct copying {
    const struct array_bench *array;
    gpu_address from, to;
    size_t bytes;
};

static gordian_status run_copy(void *context, double *ns, gordian_error *error)
{
    const struct copying *copying = context;
    struct gpu *gpu = copying->array->gpu;
    double us = 0;
    gordian_status status = gpu_timer_start(gpu, error);
    THEN(status, gpu_copy(gpu, copying->to, copying->from, copying->bytes, error));
    THEN(status, gpu_timer_stop(gpu, &us, error));
    *ns = us * 1e3;
    return status;
}

static gordian_status copy_row(struct array_bench *array)
{
    struct bench *bench = array->bench;
    struct copying copying = {.array = array,
                              .bytes = array->info.emulated ? 1 << 16 : (size_t)1 << 30};
    struct bench_side side = {&copying, run_copy};
    bench_progress(bench, "a copy on the device");
    gordian_status status = gpu_alloc(array->gpu, &copying.from, copying.bytes, bench->error);
    THEN(status, gpu_alloc(array->gpu, &copying.to, copying.bytes, bench->error));
    THEN(status, gpu_zero(array->gpu, copying.from, copying.bytes, bench->error));
    THEN(status, bench_measure(bench, &side, 1, array_effort(array, 0.5)));
    gpu_free(array->gpu, copying.from);
    gpu_free(array->gpu, copying.to);
    TRY(status);
    array->copied = 2 * (double)copying.bytes / (side.median / 1e9);
    struct bench_row row = bench_row("us", "array/copy");
    array_fill(array, &row, &side, 2 * copying.bytes);
    return bench_add(bench, &row);
}

/* ------------------------------------------------------------------ all of them */

gordian_status bench_array(struct bench *bench)
{
    struct array_bench array = {.bench = bench};
    const char *why = NULL;
    if (!bench_wants(bench, "cuda"))
        return GORDIAN_OK;
    if (!gpu_available(&why))
        return bench_skip(bench, "array", why);
    TRY(bench_open_gpu(bench, &array.gpu, &array.info));
    gordian_status status = gpu_add_kernels(array.gpu, &bench_kernels, bench->error);
    THEN(status, gpu_add_kernels(array.gpu, &published_kernels, bench->error));
    array.bars = strstr(array.info.name, "H200") != NULL;

    static gordian_status (*const parts[])(const struct array_bench *) = {
        array_filter_rows, array_shape_rows, array_read_rows};
    THEN(status, copy_row(&array));
    for (size_t i = 0; i < sizeof parts / sizeof *parts && status == GORDIAN_OK; i++)
        status = parts[i](&array);
    gpu_close(array.gpu);
    return status;
}
