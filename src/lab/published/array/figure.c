/* Measures the cells of the paper's figure. */
#include "lab/published/array/figure.h"

#include "foundation/base/error.h"
#include "lab/published/array/kinds.h"
#include "lab/published/array/paper.h"
#include "lab/published/kernels/array_filter.h"
#include "lab/published/kernels/array_paper.h"
#include "lab/published/published.h"

#include <stdlib.h>

#define SAMPLES_MOST 1000
#define PAGE_BYTES   (UINT64_C(2) << 20)

/* Inputs of a measurement; each method uses some of them. */
struct figure {
    struct published_array_cell *cell;
    struct array_task task;
    struct array_paper_method paper;
    gpu_address plain;  /* capacity for all elements that are kept */
    gpu_address stored; /* uint64_t */
    struct published_array *array;
    struct gpu_pool *pool;
    struct gpu_array *pages;
};

/* ---- the methods */

static gordian_status run_figure_paper(struct figure *figure, double *ns, gordian_error *error)
{
    uint64_t lost = 0;
    TRY(array_paper_run(&figure->paper, ns, &lost, error));
    if (lost > figure->cell->refused)
        figure->cell->refused = lost;
    return GORDIAN_OK;
}

static gordian_status run_bound(struct figure *figure, double *ns, gordian_error *error)
{
    const struct array_task *task = &figure->task;
    uint64_t size = 0;
    struct array_atomic_arguments arguments = {task->numbers, figure->plain, figure->stored,
                                               task->count, ARRAY_BELOW};
    struct gpu_launch launch = published_launch(
        "array_atomic", 1, figure->cell->one_block ? ARRAY_PAPER_THREADS : ARRAY_TASK_THREADS,
        &arguments, sizeof arguments);
    gordian_status status = gpu_zero(task->gpu, figure->stored, sizeof size, error);
    if (status == GORDIAN_OK && !figure->cell->one_block)
        status = array_task_blocks(task->gpu, launch.kernel, launch.threads,
                                   (task->count + launch.threads - 1) / launch.threads,
                                   &launch.blocks, error);
    THEN(status, array_task_time(task->gpu, &launch, 1, ns, error));
    THEN(status, gpu_read(task->gpu, &size, figure->stored, sizeof size, error));
    return status != GORDIAN_OK
               ? status
               : array_task_check(task, launch.kernel, NULL, figure->plain, size, error);
}

static gordian_status run_kind(struct figure *figure, double *ns, gordian_error *error)
{
    return array_kinds_filter(&figure->task, figure->array,
                              figure->cell->method == PUBLISHED_ARRAY_CELL_LFVECTOR
                                  ? ARRAY_KINDS_LFVECTOR
                                  : ARRAY_KINDS_SUBARRAYS,
                              figure->cell->one_block, figure->plain, ns, error);
}

static gordian_status run_pages(struct figure *figure, double *ns, gordian_error *error)
{
    const struct array_task *task = &figure->task;
    struct gpu_array_count count = {0};
    struct array_filter_arguments arguments = {.from = task->numbers,
                                               .count = task->count,
                                               .below = ARRAY_BELOW,
                                               .out = gpu_array_view(figure->pages)};
    struct gpu_launch launch =
        published_launch("array_filter", 1, ARRAY_FILTER_THREADS, &arguments, sizeof arguments);
    gordian_status status = gpu_array_clear(figure->pages, error);
    THEN(status, gpu_array_shrink(figure->pages, error));
    if (status == GORDIAN_OK && !figure->cell->one_block)
        status = array_task_blocks(task->gpu, launch.kernel, launch.threads,
                                   (task->count + ARRAY_FILTER_TILE - 1) / ARRAY_FILTER_TILE,
                                   &launch.blocks, error);
    THEN(status, array_task_time(task->gpu, &launch, 1, ns, error));
    THEN(status, gpu_array_settle(figure->pages, &count, error));
    return status != GORDIAN_OK
               ? status
               : array_task_check(task, "pages", figure->pages, 0, count.size, error);
}

/* ---- opening and closing */

/* Opens a memory pool, so that each run starts without a page. */
static gordian_status open_pages(struct figure *figure, gordian_error *error)
{
    struct gpu *gpu = figure->task.gpu;
    uint64_t chunks = figure->task.expected.count * sizeof(uint32_t) / PAGE_BYTES + 2;
    struct gpu_pool_options pool = {.chunk_bytes = PAGE_BYTES, .most = chunks, .chunks = chunks};
    TRY(gpu_pool_create(&figure->pool, gpu, &pool, error));
    struct gpu_array_options options = {
        .mode = GPU_ARRAY_CHUNKED, .element = sizeof(uint32_t), .pool = figure->pool};
    return gpu_array_create(&figure->pages, gpu, &options, error);
}

static gordian_status open_figure_method(struct figure *figure, gordian_error *error)
{
    switch (figure->cell->method) {
    case PUBLISHED_ARRAY_CELL_ALL:
    case PUBLISHED_ARRAY_CELL_WAIT:
        return array_paper_open(&figure->paper, &figure->task,
                                figure->cell->method == PUBLISHED_ARRAY_CELL_WAIT, error);
    case PUBLISHED_ARRAY_CELL_LFVECTOR:
        return array_kinds_open(&figure->array, &figure->task, ARRAY_KINDS_LFVECTOR, error);
    case PUBLISHED_ARRAY_CELL_SUBARRAYS:
        return array_kinds_open(&figure->array, &figure->task, ARRAY_KINDS_SUBARRAYS, error);
    case PUBLISHED_ARRAY_CELL_PAGES:
        return open_pages(figure, error);
    default:
        return GORDIAN_OK;
    }
}

static gordian_status open_figure(struct figure *figure, struct gpu *gpu, gordian_error *error)
{
    struct published_array_cell *cell = figure->cell;
    figure->paper.task = &figure->task;
    gordian_status status =
        array_task_open(&figure->task, gpu, cell->count, sizeof(uint32_t), cell->seed, error);
    cell->kept = figure->task.expected.count;
    THEN(status, gpu_alloc(gpu, &figure->plain, cell->kept * sizeof(uint32_t) + 16, error));
    THEN(status, gpu_alloc(gpu, &figure->stored, sizeof(uint64_t), error));
    return status != GORDIAN_OK ? status : open_figure_method(figure, error);
}

/* ---- measuring */

static int compare_samples(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static gordian_status run_method(struct figure *figure, double *ns, gordian_error *error)
{
    static gordian_status (*const runs[])(struct figure *, double *, gordian_error *) = {
        [PUBLISHED_ARRAY_CELL_ALL] = run_figure_paper,
        [PUBLISHED_ARRAY_CELL_WAIT] = run_figure_paper,
        [PUBLISHED_ARRAY_CELL_BOUND] = run_bound,
        [PUBLISHED_ARRAY_CELL_LFVECTOR] = run_kind,
        [PUBLISHED_ARRAY_CELL_SUBARRAYS] = run_kind,
        [PUBLISHED_ARRAY_CELL_PAGES] = run_pages,
    };
    return runs[figure->cell->method](figure, ns, error);
}

gordian_status published_array_measure(struct gpu *gpu, struct published_array_cell *cell,
                                       gordian_error *error)
{
    struct figure figure = {.cell = cell};
    double samples[SAMPLES_MOST], warm;
    if (cell->samples == 0 || cell->samples > SAMPLES_MOST ||
        cell->method >= PUBLISHED_ARRAY_CELL_METHODS)
        return fail(error, GORDIAN_STATUS_INPUT, "a cell has 1 to %d samples of a known method",
                    SAMPLES_MOST);
    cell->refused = 0;
    gordian_status status = open_figure(&figure, gpu, error);
    THEN(status, run_method(&figure, &warm, error));
    for (unsigned i = 0; i < cell->samples && status == GORDIAN_OK; i++)
        status = run_method(&figure, &samples[i], error);
    gpu_array_destroy(figure.pages);
    gpu_pool_destroy(figure.pool);
    published_array_destroy(figure.array);
    array_paper_close(&figure.paper);
    gpu_free(figure.task.gpu, figure.plain);
    gpu_free(figure.task.gpu, figure.stored);
    array_task_close(&figure.task);
    TRY(status);
    qsort(samples, cell->samples, sizeof *samples, compare_samples);
    cell->ns = samples[cell->samples / 2];
    return GORDIAN_OK;
}
