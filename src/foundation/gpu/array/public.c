/* Growable arrays for programs with CUDA code of their own: <gordian/array.h>. */
#include "foundation/gpu/array/array_internal.h"

struct gordian_gpu {
    struct gpu *gpu;
    gordian_allocator memory;
};

struct gordian_array {
    struct gpu_array *array;
    gordian_allocator memory;
    uint64_t watch; /* 0: not watched */
    bool watched;   /* it has been watched before */
    bool begun;     /* kernels may be using it */
};

/* ---- devices */

gordian_status gordian_gpu_open(gordian_gpu **out, unsigned device,
                                const gordian_allocator *allocator, gordian_error *error)
{
    *out = NULL;
    gordian_allocator memory = memory_allocator(allocator);
    gordian_gpu *gpu = memory_zeroed(&memory, sizeof *gpu);
    if (!gpu)
        return fail_memory(error);
    gpu->memory = memory;
    gordian_status status = gpu_open_wanted(&gpu->gpu, device, allocator, error);
    if (status != GORDIAN_OK) {
        memory_free(&memory, gpu);
        return status;
    }
    *out = gpu;
    return GORDIAN_OK;
}

void gordian_gpu_close(gordian_gpu *gpu)
{
    if (!gpu)
        return;
    gordian_allocator memory = gpu->memory;
    gpu_close(gpu->gpu);
    memory_free(&memory, gpu);
}

/* ---- arrays */

void gordian_array_options_init(gordian_array_options *options)
{
    *options = (gordian_array_options){.kind = GORDIAN_ARRAY_KIND_PAGES, .ahead = 4};
}

static gordian_status check_kind(const gordian_array_options *options, gordian_error *error)
{
    if (options->kind != GORDIAN_ARRAY_KIND_PAGES && options->kind != GORDIAN_ARRAY_KIND_FLAT)
        return fail(error, GORDIAN_STATUS_INPUT, "unknown kind of array: %d", (int)options->kind);
    if (options->watch && options->kind != GORDIAN_ARRAY_KIND_FLAT)
        return fail(error, GORDIAN_STATUS_INPUT, "only flat arrays can be watched");
    return GORDIAN_OK;
}

gordian_status gordian_array_create(gordian_array **out, gordian_gpu *gpu,
                                    const gordian_array_options *options, gordian_error *error)
{
    *out = NULL;
    TRY(check_kind(options, error));
    gordian_array *array = memory_zeroed(&gpu->memory, sizeof *array);
    if (!array)
        return fail_memory(error);
    struct gpu_array_options inside = {
        .mode = options->kind == GORDIAN_ARRAY_KIND_FLAT ? GPU_ARRAY_FLAT : GPU_ARRAY_CHUNKED,
        .element = options->element,
        .most = options->most,
        .capacity = options->capacity,
        .page = options->page,
        .ahead = options->ahead,
    };
    array->memory = gpu->memory;
    array->watch = options->watch;
    gordian_status status = gpu_array_create(&array->array, gpu->gpu, &inside, error);
    if (status != GORDIAN_OK) {
        memory_free(&gpu->memory, array);
        return status;
    }
    *out = array;
    return GORDIAN_OK;
}

void gordian_array_destroy(gordian_array *array)
{
    if (!array)
        return;
    gordian_allocator memory = array->memory;
    gpu_array_destroy(array->array);
    memory_free(&memory, array);
}

/* ---- kernels */

static gordian_status check_idle(const gordian_array *array, gordian_error *error)
{
    if (!array->begun)
        return GORDIAN_OK;
    return fail(error, GORDIAN_STATUS_INPUT,
                "kernels may be using the array: call gordian_array_end first");
}

static gordian_status start_watch(gordian_array *array, gordian_error *error)
{
    if (array->watch == 0)
        return GORDIAN_OK;
    TRY(array->watched ? watch_resume(array->array, error)
                       : gpu_array_watch(array->array, array->watch, error));
    array->watched = true;
    return GORDIAN_OK;
}

gordian_status gordian_array_begin_layout(gordian_array *array, uint32_t layout,
                                          struct garray *view, gordian_error *error)
{
    if (layout != GORDIAN_ARRAY_LAYOUT)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "compiled for layout %u of arrays, the library has %d: use its headers",
                    (unsigned)layout, GORDIAN_ARRAY_LAYOUT);
    TRY(check_idle(array, error));
    TRY(gpu_wait(array->array->gpu, error)); /* none of our work is under way */
    TRY(start_watch(array, error));
    array->begun = true;
    *view = gpu_array_view(array->array);
    return GORDIAN_OK;
}

gordian_status gordian_array_end(gordian_array *array, gordian_array_count *count,
                                 gordian_error *error)
{
    struct gpu_array_count found = {0};
    if (!array->begun)
        return fail(error, GORDIAN_STATUS_INPUT, "call gordian_array_begin first");
    gordian_status status = array_follow_up(array->array, &found, error);
    if (status != GORDIAN_OK && status != GORDIAN_STATUS_MEMORY)
        return status;
    array->begun = false;
    *count = (gordian_array_count){.size = found.size, .refused = found.refused};
    return status;
}

/* ---- between kernels */

gordian_status gordian_array_size(gordian_array *array, uint64_t *size, gordian_error *error)
{
    struct array_state state;
    TRY(check_idle(array, error));
    TRY(array_settle(array->array, &state, error));
    *size = state.size;
    return GORDIAN_OK;
}

gordian_status gordian_array_reserve(gordian_array *array, uint64_t capacity, gordian_error *error)
{
    TRY(check_idle(array, error));
    return gpu_array_reserve(array->array, capacity, error);
}

gordian_status gordian_array_clear(gordian_array *array, gordian_error *error)
{
    TRY(check_idle(array, error));
    return gpu_array_clear(array->array, error);
}

gordian_status gordian_array_shrink(gordian_array *array, gordian_error *error)
{
    TRY(check_idle(array, error));
    return gpu_array_shrink(array->array, error);
}

gordian_status gordian_array_append(gordian_array *array, const void *from, uint64_t count,
                                    gordian_error *error)
{
    TRY(check_idle(array, error));
    return gpu_array_append(array->array, from, count, error);
}

gordian_status gordian_array_read(gordian_array *array, void *to, uint64_t first, uint64_t count,
                                  gordian_error *error)
{
    TRY(check_idle(array, error));
    return gpu_array_read(array->array, to, first, count, error);
}

gordian_status gordian_array_flatten(gordian_array *array, void *device_to, uint64_t first,
                                     uint64_t count, gordian_error *error)
{
    TRY(check_idle(array, error));
    TRY(gpu_array_flatten(array->array, (uintptr_t)device_to, first, count, error));
    return gpu_wait(array->array->gpu, error);
}

gordian_status gordian_array_next(gordian_array *array, gordian_array_piece *piece,
                                  gordian_error *error)
{
    uint64_t first = piece->first + piece->count, count = 0;
    gpu_address at = 0;
    TRY(check_idle(array, error));
    TRY(gpu_array_piece(array->array, first, &at, &count, error));
    if (count == 0)
        return GORDIAN_STATUS_END;
    *piece = (gordian_array_piece){.at = (void *)(uintptr_t)at, .first = first, .count = count};
    return GORDIAN_OK;
}
