/* Copies elements into and out of growable arrays. */
#include "foundation/gpu/array/array_internal.h"
#include "foundation/gpu/device.h"
#include "foundation/gpu/kernels/array/array_move.h"

#include <inttypes.h>

/* A copy is a driver call. From this many runs on, if they are shorter than this on average, one
 * kernel moves them all; data to or from the host passes through a buffer. */
#define RUNS_MANY    16
#define RUN_LARGE    (UINT64_C(1) << 20)
#define BUFFER_BYTES (UINT64_C(16) << 20)
/* Pages that one read of the table should cover. */
#define PAGES_SEEN 512

/* The location of the elements of some pages. */
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

/* Returns the address of element i. *count, at least 1, becomes the number of contiguous elements.
 * Adjacent pages count as one run. */
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
    return fail(error, GORDIAN_STATUS_INPUT,
                "elements %" PRIu64 " to %" PRIu64 " of an array of %" PRIu64, first,
                (first + count), state->size);
}

enum direction { TO_HOST, TO_DEVICE, FROM_HOST };

/* ---- run by run */

static gordian_status copy_runs(const struct extent *extent, uint64_t first, uint64_t count,
                                enum direction direction, uintptr_t other, gordian_error *error)
{
    struct gpu_array *array = extent->array;
    struct gpu *gpu = array->gpu;
    gordian_status status = GORDIAN_OK;
    while (count && status == GORDIAN_OK) {
        uint64_t run = count;
        gpu_address here = find_run(extent, first, &run);
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
    return status;
}

/* ---- by a kernel */

/* While a service runs there may be no capacity for another kernel. */
static bool has_many_runs(const struct extent *extent, uint64_t first, uint64_t count)
{
    struct gpu_array *array = extent->array;
    uint64_t runs = 0, bytes = count * array->element;
    if (array->mode == GPU_ARRAY_FLAT || !gpu_service_ended(array->gpu))
        return false;
    for (uint64_t done = 0, run; done < count; done += run) {
        run = count - done;
        find_run(extent, first + done, &run);
        runs++;
    }
    return runs >= RUNS_MANY && bytes / runs < RUN_LARGE;
}

static gordian_status launch_move(struct gpu_array *array, uint64_t first, uint64_t count,
                                  gpu_address other, bool in, gordian_error *error)
{
    struct array_move_arguments arguments = {.array = gpu_array_view(array),
                                             .other = other,
                                             .first = first,
                                             .count = count,
                                             .unit = 1,
                                             .in = in};
    while (arguments.unit < 16 && (array->element | other) % (arguments.unit * 2) == 0)
        arguments.unit *= 2;
    uint64_t units = count * (array->element / arguments.unit);
    uint64_t blocks = (units + ARRAY_MOVE_THREADS - 1) / ARRAY_MOVE_THREADS;
    uint64_t most = (uint64_t)array->gpu->info.multiprocessors * 16;
    struct gpu_launch launch = {.kernel = "array_move",
                                .blocks = (unsigned)(blocks < most ? blocks : most),
                                .threads = ARRAY_MOVE_THREADS,
                                .arguments = &arguments,
                                .arguments_size = sizeof arguments};
    return gpu_launch(array->gpu, &launch, error);
}

/* Moves as many at a time as fit the buffer. */
static gordian_status move_by_buffer(struct gpu_array *array, uint64_t first, uint64_t count,
                                     bool in, uintptr_t other, gpu_address buffer, uint64_t most,
                                     gordian_error *error)
{
    struct gpu *gpu = array->gpu;
    gordian_status status = GORDIAN_OK;
    while (count && status == GORDIAN_OK) {
        uint64_t part = count < most ? count : most;
        size_t bytes = part * array->element;
        if (in)
            status = gpu_write(gpu, buffer, (const void *)other, bytes, error);
        THEN(status, launch_move(array, first, part, buffer, in, error));
        if (status == GORDIAN_OK && !in)
            status = gpu_read(gpu, (void *)other, buffer, bytes, error);
        other += bytes;
        first += part;
        count -= part;
    }
    return status != GORDIAN_OK ? status : gpu_wait(gpu, error);
}

/* *moved stays false if there is no memory for a buffer. */
static gordian_status move_by_kernel(struct gpu_array *array, uint64_t first, uint64_t count,
                                     enum direction direction, uintptr_t other, bool *moved,
                                     gordian_error *error)
{
    if (direction == TO_DEVICE) {
        *moved = true;
        return launch_move(array, first, count, other, false, error);
    }
    uint64_t most = BUFFER_BYTES / array->element;
    most = most < count ? most : count;
    gpu_address buffer = 0;
    gordian_status status =
        most ? gpu_alloc(array->gpu, &buffer, most * array->element, error) : GORDIAN_STATUS_MEMORY;
    if (status != GORDIAN_OK)
        return status == GORDIAN_STATUS_MEMORY ? GORDIAN_OK : status;
    *moved = true;
    status =
        move_by_buffer(array, first, count, direction == FROM_HOST, other, buffer, most, error);
    gpu_free(array->gpu, buffer);
    return status;
}

/* Moves elements between the array and `other`, which is contiguous host or device memory. */
static gordian_status move_elements(struct gpu_array *array, uint64_t first, uint64_t count,
                                    enum direction direction, uintptr_t other, gordian_error *error)
{
    struct extent extent;
    bool moved = false;
    gordian_status status = open_extent(&extent, array, first, count, error);
    if (status == GORDIAN_OK && count && has_many_runs(&extent, first, count))
        status = move_by_kernel(array, first, count, direction, other, &moved, error);
    if (status == GORDIAN_OK && !moved)
        status = copy_runs(&extent, first, count, direction, other, error);
    close_extent(&extent);
    return status;
}

gordian_status gpu_array_read(struct gpu_array *array, void *to, uint64_t first, uint64_t count,
                              gordian_error *error)
{
    struct array_state state;
    TRY(array_settle(array, &state, error));
    TRY(check_inside(&state, first, count, error));
    return move_elements(array, first, count, TO_HOST, (uintptr_t)to, error);
}

gordian_status gpu_array_flatten(struct gpu_array *array, gpu_address to, uint64_t first,
                                 uint64_t count, gordian_error *error)
{
    struct array_state state;
    TRY(array_settle(array, &state, error));
    TRY(check_inside(&state, first, count, error));
    return move_elements(array, first, count, TO_DEVICE, (uintptr_t)to, error);
}

gordian_status gpu_array_piece(struct gpu_array *array, uint64_t first, gpu_address *at,
                               uint64_t *count, gordian_error *error)
{
    struct array_state state;
    struct extent extent;
    TRY(array_settle(array, &state, error));
    uint64_t run = first < state.size ? state.size - first : 0;
    if (array->mode == GPU_ARRAY_CHUNKED && run > array_elements(array, PAGES_SEEN))
        run = array_elements(array, PAGES_SEEN);
    gordian_status status = open_extent(&extent, array, first, run, error);
    if (status == GORDIAN_OK) {
        *at = run ? find_run(&extent, first, &run) : 0;
        *count = run;
    }
    close_extent(&extent);
    return status;
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
    THEN(status, array_write_control(array, state->size, array_elements(array, wanted), error));
    if (status == GORDIAN_OK)
        state->limit = array_elements(array, wanted);
    return status;
}

gordian_status gpu_array_append(struct gpu_array *array, const void *from, uint64_t count,
                                gordian_error *error)
{
    struct array_state state;
    gordian_status status = array_settle(array, &state, error);
    if (status != GORDIAN_OK || count == 0)
        return status;
    if (count > array->most - state.size)
        return fail(error, GORDIAN_STATUS_MEMORY,
                    "an array of at most %" PRIu64 " elements cannot have %" PRIu64, array->most,
                    (state.size + count));
    status = gpu_array_reserve(array, state.size + count, error);
    THEN(status, array_settle(array, &state, error));
    if (status == GORDIAN_OK && array->mode == GPU_ARRAY_CHUNKED)
        status = add_pages(array, &state, state.size + count, error);
    THEN(status, move_elements(array, state.size, count, FROM_HOST, (uintptr_t)from, error));
    return status != GORDIAN_OK
               ? status
               : array_write_control(array, state.size + count, state.limit, error);
}
