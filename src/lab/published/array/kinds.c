/* Runs the paper's task with LFVector and sub-arrays. */
#include "lab/published/array/kinds.h"

#include "foundation/base/error.h"
#include "lab/published/kernels/array_filter.h"
#include "lab/published/kernels/array_kinds.h"
#include "lab/published/kernels/array_paper.h"

#include <inttypes.h>

static const struct {
    const char *name, *kernel;
    unsigned threads;
    uint64_t tile;
} ways[] = {
    [ARRAY_KINDS_LFVECTOR] = {"lfvector", "lfvector_push_all", ARRAY_TASK_THREADS,
                              ARRAY_TASK_THREADS},
    [ARRAY_KINDS_LFVECTOR_TILES] = {"lfvector-tiles", "lfvector_push_tiles", ARRAY_FILTER_THREADS,
                                    ARRAY_FILTER_TILE},
    [ARRAY_KINDS_SUBARRAYS] = {"subarrays", "subarrays_push_tiles", ARRAY_FILTER_THREADS,
                               ARRAY_FILTER_TILE},
};

static gordian_status find_blocks(const struct array_task *task, enum array_kinds_method way,
                                  unsigned *blocks, gordian_error *error)
{
    return array_task_blocks(task->gpu, ways[way].kernel, ways[way].threads,
                             (task->count + ways[way].tile - 1) / ways[way].tile, blocks, error);
}

gordian_status array_kinds_open(struct published_array **out, const struct array_task *task,
                                enum array_kinds_method way, gordian_error *error)
{
    bool subarrays = way == ARRAY_KINDS_SUBARRAYS;
    struct published_array_options options = {.kind = subarrays ? PUBLISHED_ARRAY_SUBARRAYS
                                                                : PUBLISHED_ARRAY_LFVECTOR,
                                              .element = task->element};
    *out = NULL;
    if (subarrays)
        TRY(find_blocks(task, way, &options.blocks, error));
    options.heap_bytes = published_array_needs(&options, task->expected.count);
    return published_array_create(out, task->gpu, &options, error);
}

static gordian_status time_filter(const struct array_task *task, struct published_array *array,
                                  enum array_kinds_method way, unsigned blocks, double *ns,
                                  gordian_error *error)
{
    struct lfvector_filter_arguments buckets = {task->numbers, task->count,
                                                published_array_lfvector(array), ARRAY_BELOW};
    struct subarrays_filter_arguments arrays = {task->numbers, task->count,
                                                published_array_subarrays(array), ARRAY_BELOW};
    struct subarrays_index_arguments index;
    bool subarrays = way == ARRAY_KINDS_SUBARRAYS;
    struct gpu_launch launches[] = {{.kernel = ways[way].kernel,
                                     .blocks = blocks,
                                     .threads = blocks == 1 && way == ARRAY_KINDS_LFVECTOR
                                                    ? ARRAY_PAPER_THREADS
                                                    : ways[way].threads,
                                     .arguments = subarrays ? (const void *)&arrays : &buckets,
                                     .arguments_size = subarrays ? sizeof arrays : sizeof buckets},
                                    published_array_index(array, &index)};
    return array_task_time(task->gpu, launches, subarrays ? 2 : 1, ns, error);
}

gordian_status array_kinds_filter(const struct array_task *task, struct published_array *array,
                                  enum array_kinds_method way, unsigned blocks, gpu_address plain,
                                  double *ns, gordian_error *error)
{
    struct gpu_array_count count = {0};
    gordian_status status = published_array_clear(array, error);
    if (status == GORDIAN_OK && blocks == 0)
        status = find_blocks(task, way, &blocks, error);
    THEN(status, time_filter(task, array, way, blocks, ns, error));
    THEN(status, published_array_settle(array, &count, error));
    TRY(status);
    if (count.refused || count.size != task->expected.count)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "array: %s keeps %" PRIu64 " elements and refuses %" PRIu64 ", of %" PRIu64,
                    ways[way].name, count.size, count.refused, task->expected.count);
    status = published_array_flatten(array, plain, 0, count.size, error);
    return status != GORDIAN_OK
               ? status
               : array_task_check(task, ways[way].name, NULL, plain, count.size, error);
}
