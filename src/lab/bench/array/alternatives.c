/*
 * Alternatives to a growable array: two passes, count and fill; or memory for everything, and one
 * pass. Timed on the device with preallocated memory, and from the host with allocation.
 */
#include "lab/bench/array/array.h"

#include "foundation/base/error.h"
#include "foundation/gpu/kernels/array/select.h"
#include "lab/bench/kernels/array_two_pass.h"
#include "lab/published/kernels/array_filter.h"
#include "lab/published/published.h"

#include <inttypes.h>
#include <stdio.h>

enum instead {
    INSTEAD_TWO_PASS,      /* device time, with preallocated memory */
    INSTEAD_TWO_PASS_HOST, /* host time: count, allocate exactly, fill */
    INSTEAD_OVER_HOST,     /* host time: allocate for all, fill, count */
};

static const struct {
    const char *name, *baseline, *note;
} ways[] = {
    [INSTEAD_TWO_PASS] = {"two-pass", "chunked", "count, sum up, fill: reads the numbers twice"},
    [INSTEAD_TWO_PASS_HOST] = {"two-pass-host", "chunked-host", "host time: count, allocate, fill"},
    [INSTEAD_OVER_HOST] = {"over-host", "chunked-host",
                           "host time: allocate for all numbers, fill"},
};

struct doing {
    struct array_world *world;
    enum instead way;
    gpu_address sums; /* one per block, and the total */
    unsigned blocks;
};

/* ------------------------------------------------------------------ two passes */

/* Counts, sums the counts up, fills. */
struct two_pass {
    struct array_two_pass_arguments arguments;
    struct tile_sums_arguments sums;
    struct gpu_launch launches[3];
};

static void fill_two_pass(struct two_pass *two, const struct doing *doing, gpu_address to)
{
    const struct array_task *task = &doing->world->task;
    two->arguments =
        (struct array_two_pass_arguments){task->numbers, task->count, doing->sums, to, ARRAY_BELOW};
    two->sums = (struct tile_sums_arguments){doing->sums, doing->blocks};
    struct gpu_launch pass =
        published_launch("array_two_pass_count", doing->blocks, ARRAY_FILTER_THREADS,
                         &two->arguments, sizeof two->arguments);
    two->launches[0] = two->launches[2] = pass;
    two->launches[1] =
        published_launch("tile_sums", 1, SELECT_THREADS, &two->sums, sizeof two->sums);
    two->launches[2].kernel = "array_two_pass_fill";
}

static gordian_status read_total(const struct doing *doing, uint32_t *total, gordian_error *error)
{
    return gpu_read(doing->world->task.gpu, total, doing->sums + doing->blocks * sizeof *total,
                    sizeof *total, error);
}

static gordian_status two_pass_device(struct doing *doing, double *ns, gordian_error *error)
{
    struct two_pass two;
    uint32_t total = 0;
    fill_two_pass(&two, doing, doing->world->plain);
    TRY(array_task_time(doing->world->task.gpu, two.launches, 3, ns, error));
    TRY(read_total(doing, &total, error));
    return array_task_check(&doing->world->task, ways[doing->way].name, NULL, doing->world->plain,
                            total, error);
}

static gordian_status two_pass_host(struct doing *doing, double *ns, gordian_error *error)
{
    struct gpu *gpu = doing->world->task.gpu;
    struct two_pass two;
    uint32_t total = 0;
    gpu_address to = 0;
    fill_two_pass(&two, doing, 0);
    uint64_t start = clock_ns();
    gordian_status status = gpu_launch(gpu, &two.launches[0], error);
    THEN(status, gpu_launch(gpu, &two.launches[1], error));
    THEN(status, read_total(doing, &total, error));
    THEN(status, gpu_alloc(gpu, &to, (size_t)total * sizeof(uint32_t) + 16, error));
    two.arguments.to = to;
    THEN(status, gpu_launch(gpu, &two.launches[2], error));
    THEN(status, gpu_wait(gpu, error));
    *ns = (double)(clock_ns() - start);
    THEN(status,
         array_task_check(&doing->world->task, ways[doing->way].name, NULL, to, total, error));
    gpu_free(gpu, to);
    return status;
}

/* ------------------------------------------------------------------ allocate for everything */

static gordian_status over_host(struct doing *doing, double *ns, gordian_error *error)
{
    const struct array_world *world = doing->world;
    struct gpu *gpu = world->task.gpu;
    uint64_t total = 0;
    gpu_address to = 0;
    struct array_filter_arguments arguments = {.from = world->task.numbers,
                                               .count = world->task.count,
                                               .below = ARRAY_BELOW,
                                               .stored = world->stored};
    struct gpu_launch launch = published_launch("array_filter_plain", doing->blocks,
                                                ARRAY_FILTER_THREADS, &arguments, sizeof arguments);
    uint64_t start = clock_ns();
    gordian_status status = gpu_alloc(gpu, &to, world->task.count * sizeof(uint32_t) + 16, error);
    arguments.plain = to;
    THEN(status, gpu_zero(gpu, world->stored, sizeof total, error));
    THEN(status, gpu_launch(gpu, &launch, error));
    THEN(status, gpu_read(gpu, &total, world->stored, sizeof total, error));
    *ns = (double)(clock_ns() - start);
    THEN(status, array_task_check(&world->task, ways[doing->way].name, NULL, to, total, error));
    gpu_free(gpu, to);
    return status;
}

/* ------------------------------------------------------------------ rows */

static gordian_status run_alternative(void *context, double *ns, gordian_error *error)
{
    struct doing *doing = context;
    if (doing->way == INSTEAD_OVER_HOST)
        return over_host(doing, ns, error);
    return doing->way == INSTEAD_TWO_PASS ? two_pass_device(doing, ns, error)
                                          : two_pass_host(doing, ns, error);
}

static gordian_status alternative_row(struct doing *doing)
{
    struct array_world *world = doing->world;
    const struct array_bench *array = world->array;
    struct array_side chunked = {
        .world = world, .way = ARRAY_METHOD_CHUNKED, .host = doing->way != INSTEAD_TWO_PASS};
    struct bench_side sides[] = {{doing, run_alternative}, {&chunked, array_filter_run}};
    TRY(bench_measure(array->bench, sides, 2, array_effort(array, 0.5)));
    struct bench_row row =
        bench_row("us", "array/filter-%" PRIu64 "/%s", world->task.count, ways[doing->way].name);
    array_fill(array, &row, &sides[0], 0);
    bench_against(&row, ways[doing->way].baseline, &sides[1]);
    bench_curve(&row,
                doing->way == INSTEAD_TWO_PASS ? "Keep the numbers below 90 (us)"
                                               : "The same from the host, with allocation (us)",
                (double)world->task.count, "%s", ways[doing->way].name);
    if (doing->way != INSTEAD_TWO_PASS)
        snprintf(row.baseline_series, sizeof row.baseline_series, "%s", ways[doing->way].baseline);
    bool over = doing->way == INSTEAD_OVER_HOST;
    double kept = (double)world->task.expected.count * 4e-6, all = (double)world->task.count * 4e-6;
    bench_note(&row, "%s; %.4g MB for %.4g MB kept", ways[doing->way].note, over ? all : kept,
               kept);
    return bench_add(array->bench, &row);
}

gordian_status array_alternative_rows(struct array_world *world)
{
    struct doing doing = {.world = world};
    gordian_error *error = world->array->bench->error;
    gordian_status status = array_task_blocks(
        world->task.gpu, "array_two_pass_fill", ARRAY_FILTER_THREADS,
        (world->task.count + ARRAY_FILTER_TILE - 1) / ARRAY_FILTER_TILE, &doing.blocks, error);
    THEN(status, gpu_alloc(world->task.gpu, &doing.sums,
                           ((size_t)doing.blocks + 1) * sizeof(uint32_t), error));
    for (unsigned way = 0; way < sizeof ways / sizeof *ways && status == GORDIAN_OK; way++) {
        doing.way = way;
        status = alternative_row(&doing);
    }
    gpu_free(world->task.gpu, doing.sums);
    return status;
}
