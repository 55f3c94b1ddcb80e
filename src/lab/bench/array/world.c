/* Opens the input of the filters and the arrays they fill. */
#include "lab/bench/array/array.h"

#include "foundation/base/error.h"
#include "lab/published/kernels/array_filter.h"

uint64_t array_world_bytes(const struct array_world *world)
{
    return (world->task.count + world->task.expected.count) * world->task.element;
}

/* ------------------------------------------------------------------ opening */

gordian_status array_world_open(struct array_world *world, const struct array_bench *array,
                                uint64_t count, uint32_t element)
{
    gordian_error *error = array->bench->error;
    *world = (struct array_world){.array = array};
    world->marks_bytes = (count / ARRAY_FILTER_TILE + 1) * sizeof(uint32_t);
    TRY(array_task_open(&world->task, array->gpu, count, element, array->bench->options->seed,
                        error));
    TRY(gpu_alloc(array->gpu, &world->plain, world->task.expected.count * element + 16, error));
    TRY(gpu_alloc(array->gpu, &world->stored, sizeof(uint64_t), error));
    return gpu_alloc(array->gpu, &world->marks, world->marks_bytes, error);
}

void array_world_close(struct array_world *world)
{
    struct gpu *gpu = world->array->gpu;
    gpu_array_destroy(world->chunked);
    gpu_array_destroy(world->flat);
    gpu_pool_destroy(world->pool);
    gpu_free(gpu, world->plain);
    gpu_free(gpu, world->stored);
    gpu_free(gpu, world->marks);
    array_task_close(&world->task);
    *world = (struct array_world){.array = world->array};
}

/* ------------------------------------------------------------------ arrays */

uint64_t array_chunk_bytes(const struct array_bench *array, uint32_t element)
{
    return array->info.emulated ? UINT64_C(1024) * element : UINT64_C(16) << 20;
}

gordian_status array_world_chunked(struct array_world *world, uint64_t chunk_bytes, uint32_t ahead)
{
    struct gpu *gpu = world->array->gpu;
    gordian_error *error = world->array->bench->error;
    uint64_t bytes = world->task.expected.count * world->task.element;
    struct gpu_pool_options options = {.chunk_bytes = chunk_bytes,
                                       .chunks = bytes / chunk_bytes + 1 + ahead};
    gpu_array_destroy(world->chunked);
    gpu_pool_destroy(world->pool);
    world->chunked = NULL;
    options.most = options.chunks;
    TRY(gpu_pool_create(&world->pool, gpu, &options, error));
    return gpu_array_create(&world->chunked, gpu,
                            &(struct gpu_array_options){.mode = GPU_ARRAY_CHUNKED,
                                                        .element = world->task.element,
                                                        .ahead = ahead,
                                                        .pool = world->pool},
                            error);
}

gordian_status array_world_flat(struct array_world *world, bool grows)
{
    struct gpu_array_options options = {.mode = GPU_ARRAY_FLAT,
                                        .element = world->task.element,
                                        .most = world->task.expected.count,
                                        .capacity = grows ? 0 : world->task.expected.count};
    if (world->array->info.emulated)
        options.page = 1024;
    gpu_array_destroy(world->flat);
    world->flat = NULL;
    return gpu_array_create(&world->flat, world->array->gpu, &options, world->array->bench->error);
}
