/* Elements into and out of growable arrays. */
#include "gpu/array_parts.h"
#include "gpu/device.h"

#include <inttypes.h>

/* Where the elements of some pages lie. */
struct extent {
    struct gpu_array *array;
    uint64_t first_page;
    uint64_t *pages; /* chunked: their addresses */
};

static gordian_status open_extent(struct extent *extent, struct gpu_array *array, uint64_t first,
                                  uint64_t count, gordian_error *error)
{
    *extent = (struct extent){.array = array, .first_page = first >> array->shift};
    if (array->mode == GPU_ARRAY_FLAT || count == 0)
        return GORDIAN_OK;
    size_t bytes = (array_pages(array, first + count) - extent->first_page) * sizeof(uint64_t);
    extent->pages = memory_alloc(&array->gpu->memory, bytes);
    if (!extent->pages)
        return fail_memory(error);
    return gpu_read(array->gpu, extent->pages, array->pages + extent->first_page * sizeof(uint64_t),
                    bytes, error);
}

static void close_extent(struct extent *extent)
{
    memory_free(&extent->array->gpu->memory, extent->pages);
}

/* Where element i is; *count, at least 1 before, becomes how many of them follow in a row. Pages
 * that lie one behind the other are one. */
static gpu_address find_run(const struct extent *extent, uint64_t i, uint64_t *count)
{
    const struct gpu_array *array = extent->array;
    if (array->mode == GPU_ARRAY_FLAT)
        return gpu_range_address(array->range) + i * array->element;
    uint64_t size = array_elements(array, 1), inside = i & (size - 1), run = size - inside;
    const uint64_t *page = extent->pages + ((i >> array->shift) - extent->first_page);
    gpu_address address = *page + inside * array->element;
    for (; run < *count && page[1] == page[0] + size * array->element; page++)
        run += size;
    *count = run < *count ? run : *count;
    return address;
}

static gordian_status check_inside(const struct array_state *state, uint64_t first, uint64_t count,
                                   gordian_error *error)
{
    if (first <= state->size && count <= state->size - first)
        return GORDIAN_OK;
    return fail(error, GORDIAN_INPUT, "elements %" PRIu64 " to %" PRIu64 " of an array of %" PRIu64,
                first, (first + count), state->size);
}

enum direction { TO_HOST, TO_DEVICE, FROM_HOST };

/* Moves elements between the array and `other`, in one piece on either side of the bus. */
static gordian_status move_elements(struct gpu_array *array, uint64_t first, uint64_t count,
                                    enum direction direction, uintptr_t other, gordian_error *error)
{
    struct gpu *gpu = array->gpu;
    struct extent extent;
    gordian_status status = open_extent(&extent, array, first, count, error);
    while (count && !status) {
        uint64_t run = count;
        gpu_address here = find_run(&extent, first, &run);
        size_t bytes = run * array->element;
        if (direction == TO_HOST)
            status = gpu_read(gpu, (void *)other, here, bytes, error);
        else if (direction == TO_DEVICE)
            status = gpu_copy(gpu, other, here, bytes, error);
        else
            status = gpu_write(gpu, here, (const void *)other, bytes, error);
        other += bytes;
        first += run;
        count -= run;
    }
    close_extent(&extent);
    return status;
}

gordian_status gpu_array_read(struct gpu_array *array, void *to, uint64_t first, uint64_t count,
                              gordian_error *error)
{
    struct array_state state;
    gordian_status status = array_settle(array, &state, error);
    if (!status)
        status = check_inside(&state, first, count, error);
    return status ? status : move_elements(array, first, count, TO_HOST, (uintptr_t)to, error);
}

gordian_status gpu_array_flatten(struct gpu_array *array, gpu_address to, uint64_t first,
                                 uint64_t count, gordian_error *error)
{
    struct array_state state;
    gordian_status status = array_settle(array, &state, error);
    if (!status)
        status = check_inside(&state, first, count, error);
    return status ? status : move_elements(array, first, count, TO_DEVICE, (uintptr_t)to, error);
}

/* Installs the pages that `size` elements need. */
static gordian_status add_pages(struct gpu_array *array, struct array_state *state, uint64_t size,
                                gordian_error *error)
{
    uint64_t there = array_pages(array, state->limit), wanted = array_pages(array, size);
    if (wanted <= there)
        return GORDIAN_OK;
    gordian_status status =
        pool_take(array->pool, array->pages + there * sizeof(uint64_t), wanted - there, error);
    if (!status)
        status = array_write_control(array, state->size, array_elements(array, wanted), error);
    if (!status)
        state->limit = array_elements(array, wanted);
    return status;
}

gordian_status gpu_array_append(struct gpu_array *array, const void *from, uint64_t count,
                                gordian_error *error)
{
    struct array_state state;
    gordian_status status = array_settle(array, &state, error);
    if (status || count == 0)
        return status;
    if (count > array->most - state.size)
        return fail(error, GORDIAN_MEMORY,
                    "an array of at most %" PRIu64 " elements cannot have %" PRIu64, array->most,
                    (state.size + count));
    status = gpu_array_reserve(array, state.size + count, error);
    if (!status)
        status = array_settle(array, &state, error);
    if (!status && array->mode == GPU_ARRAY_CHUNKED)
        status = add_pages(array, &state, state.size + count, error);
    if (!status)
        status = move_elements(array, state.size, count, FROM_HOST, (uintptr_t)from, error);
    return status ? status : array_write_control(array, state.size + count, state.limit, error);
}
