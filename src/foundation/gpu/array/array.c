/* Growable arrays, controlled from the host: opening, closing, growing, and the state after
 * kernels. array/copy.c moves elements. */
#include "foundation/gpu/array/array_internal.h"
#include "foundation/gpu/device.h"

#include <inttypes.h>
#include <stddef.h>

/* Bytes of a page if the caller does not choose. */
#define PAGE_LEAST (UINT64_C(64) << 10)
#define PAGE_PLAIN (UINT64_C(2) << 20)
#define PAGE_MOST  (UINT64_C(16) << 20)

uint64_t array_elements(const struct gpu_array *array, uint64_t pages)
{
    return pages << array->shift;
}

uint64_t array_pages(const struct gpu_array *array, uint64_t elements)
{
    return (elements + ((UINT64_C(1) << array->shift) - 1)) >> array->shift;
}

/* ---- opening */

/* Chooses sixteen pages for the initial capacity, within bounds. */
static uint64_t choose_page(const struct gpu_array_options *options)
{
    uint64_t bytes = PAGE_PLAIN, page = 1;
    if (options->pool) {
        bytes = options->pool->chunk_bytes;
    } else if (options->mode == GPU_ARRAY_CHUNKED && options->capacity) {
        bytes = options->capacity * options->element / 16;
        bytes = bytes < PAGE_LEAST ? PAGE_LEAST : bytes;
        bytes = bytes > PAGE_MOST ? PAGE_MOST : bytes;
    }
    while (page * 2 * options->element <= bytes)
        page *= 2;
    return page;
}

static gordian_status check_options(const struct gpu_array_options *options, uint64_t page,
                                    uint64_t most, gordian_error *error)
{
    if ((page & (page - 1)) != 0 || page > INT64_MAX / options->element)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "a page of %" PRIu64 " elements is not a power of two", page);
    if (most > (INT64_MAX - page) / options->element || options->capacity > most)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "an array of %" PRIu64 " elements, at most %" PRIu64, options->capacity, most);
    if (!options->pool)
        return GORDIAN_OK;
    if (options->mode != GPU_ARRAY_CHUNKED || options->capacity)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "only a chunked array without a capacity may have a pool");
    if (page * options->element > options->pool->chunk_bytes)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "a page of %" PRIu64 " elements is larger than a chunk", page);
    return GORDIAN_OK;
}

static gordian_status open_chunked(struct gpu_array *array, struct gpu_pool *pool,
                                   uint64_t capacity, gordian_error *error)
{
    uint64_t pages = array_pages(array, array->most);
    gordian_status status = GORDIAN_OK;
    if (!pool) {
        uint64_t bytes = array_elements(array, 1) * array->element;
        struct gpu_pool_options own = {.chunk_bytes = (bytes + POOL_ALIGNMENT - 1) &
                                                      ~(POOL_ALIGNMENT - UINT64_C(1)),
                                       .most = pages,
                                       .chunks = array_pages(array, capacity)};
        array->own_pool = true;
        status = gpu_pool_create(&pool, array->gpu, &own, error);
    }
    if (status != GORDIAN_OK)
        return status;
    array->pool = pool;
    pages = pages < pool->most ? pages : pool->most;
    array->most = array_elements(array, pages);
    status = gpu_alloc(array->gpu, &array->pages, pages * sizeof(uint64_t), error);
    return status != GORDIAN_OK
               ? status
               : gpu_zero(array->gpu, array->pages, pages * sizeof(uint64_t), error);
}

static gordian_status open_array(struct gpu_array *array, const struct gpu_array_options *options,
                                 gordian_error *error)
{
    struct garray_control control = {0};
    TRY(gpu_alloc(array->gpu, &array->control, sizeof control, error));
    TRY(gpu_write(array->gpu, array->control, &control, sizeof control, error));
    if (array->mode != GPU_ARRAY_FLAT)
        return open_chunked(array, options->pool, options->capacity, error);
    TRY(gpu_range_create(&array->range, array->gpu, array->most * array->element, error));
    return gpu_array_reserve(array, options->capacity, error);
}

gordian_status gpu_array_create(struct gpu_array **out, struct gpu *gpu,
                                const struct gpu_array_options *options, gordian_error *error)
{
    *out = NULL;
    if (options->element == 0)
        return fail(error, GORDIAN_STATUS_INPUT, "an array needs elements of at least one byte");
    uint64_t page = options->page ? options->page : choose_page(options);
    uint64_t most = options->most;
    if (most == 0) {
        most = gpu->info.memory / options->element;
        most = most > options->capacity ? most : options->capacity;
        most += most == 0;
    }
    TRY(check_options(options, page, most, error));
    struct gpu_array *array = memory_zeroed(&gpu->memory, sizeof *array);
    if (!array)
        return fail_memory(error);
    array->gpu = gpu;
    array->mode = options->mode;
    array->element = options->element;
    array->ahead = options->ahead;
    array->most = most;
    while (UINT64_C(1) << array->shift < page)
        array->shift++;
    gordian_status status = open_array(array, options, error);
    if (status == GORDIAN_OK)
        status = gpu_wait(gpu, error); /* a service would not wait */
    if (status != GORDIAN_OK) {
        gpu_array_destroy(array);
        return status;
    }
    *out = array;
    return GORDIAN_OK;
}

struct garray gpu_array_view(const struct gpu_array *array)
{
    bool flat = array->mode == GPU_ARRAY_FLAT;
    return (struct garray){
        .control = array->control,
        .base = flat ? gpu_range_address(array->range) : 0,
        .pages = array->pages,
        .pool = flat ? 0 : array->pool->control,
        .desk = watch_desk(array),
        .most = array->most,
        .shift = array->shift,
        .element = array->element,
        .ahead = array->ahead,
    };
}

/* ---- the state after kernels */

gordian_status array_write_control(struct gpu_array *array, uint64_t size, uint64_t limit,
                                   gordian_error *error)
{
    struct garray_control control = {.count = size, .limit = limit};
    return gpu_write(array->gpu, array->control, &control, sizeof control, error);
}

gordian_status array_settle(struct gpu_array *array, struct array_state *state,
                            gordian_error *error)
{
    struct garray_control control;
    gordian_status status = gpu_read(array->gpu, &control, array->control, sizeof control, error);
    if (status != GORDIAN_OK)
        return status;
    uint64_t reached = control.limit & ~GARRAY_CLOSED;
    state->size = control.count < reached ? control.count : reached;
    state->limit = array->mode == GPU_ARRAY_FLAT ? array->capacity : reached;
    uint64_t refused = control.refused + (control.count - state->size);
    if (refused || control.limit != state->limit)
        status = array_write_control(array, state->size, state->limit, error);
    if (status == GORDIAN_OK)
        array->refused += refused;
    return status;
}

gordian_status gpu_array_settle(struct gpu_array *array, struct gpu_array_count *count,
                                gordian_error *error)
{
    struct array_state state;
    TRY(array_settle(array, &state, error));
    *count = (struct gpu_array_count){.size = state.size, .refused = array->refused};
    array->refused = 0;
    return GORDIAN_OK;
}

gordian_status gpu_array_clear(struct gpu_array *array, gordian_error *error)
{
    struct array_state state;
    TRY(array_settle(array, &state, error));
    return array_write_control(array, 0, state.limit, error);
}

/* ---- growing */

static gordian_status reserve_flat(struct gpu_array *array, uint64_t capacity, gordian_error *error)
{
    if (capacity <= array->capacity)
        return GORDIAN_OK;
    gordian_status status = gpu_range_grow(array->range, capacity * array->element, error);
    uint64_t before = array->capacity;
    if (status != GORDIAN_OK)
        return status;
    struct array_state state;
    array->capacity = capacity;
    status = array_settle(array, &state, error); /* writes the new limit */
    if (status != GORDIAN_OK)
        array->capacity = before;
    return status;
}

static gordian_status reserve_chunked(struct gpu_array *array, uint64_t capacity,
                                      gordian_error *error)
{
    struct array_state state;
    uint64_t chunks, taken;
    TRY(array_settle(array, &state, error));
    TRY(gpu_pool_count(array->pool, &chunks, &taken, error));
    uint64_t wanted = array_pages(array, capacity), there = array_pages(array, state.limit);
    if (wanted <= there + (chunks - taken))
        return GORDIAN_OK;
    return gpu_pool_reserve(array->pool, taken + (wanted - there), error);
}

gordian_status gpu_array_reserve(struct gpu_array *array, uint64_t capacity, gordian_error *error)
{
    if (capacity > array->most)
        return fail(error, GORDIAN_STATUS_MEMORY,
                    "an array of at most %" PRIu64 " elements cannot have %" PRIu64, array->most,
                    capacity);
    return array->mode == GPU_ARRAY_FLAT ? reserve_flat(array, capacity, error)
                                         : reserve_chunked(array, capacity, error);
}

gordian_status gpu_array_capacity(struct gpu_array *array, uint64_t *elements, gordian_error *error)
{
    struct array_state state;
    uint64_t chunks = 0, taken = 0;
    gordian_status status = array_settle(array, &state, error);
    if (status == GORDIAN_OK && array->pool)
        status = gpu_pool_count(array->pool, &chunks, &taken, error);
    if (status != GORDIAN_OK)
        return status;
    *elements = state.limit + array_elements(array, chunks - taken);
    *elements = *elements < array->most ? *elements : array->most;
    return GORDIAN_OK;
}

/* ---- releasing memory */

/* Removes the pages from `keep` on from the array, then releases their chunks. A chunk is never
 * free while it belongs to a page. */
static gordian_status move_out(struct gpu_array *array, const struct array_state *state,
                               uint64_t keep, const uint64_t *chunks, uint64_t count,
                               gordian_error *error)
{
    gpu_address entries = array->pages + keep * sizeof(uint64_t);
    size_t bytes = count * sizeof(uint64_t);
    gordian_status status =
        array_write_control(array, state->size, array_elements(array, keep), error);
    THEN(status, gpu_zero(array->gpu, entries, bytes, error));
    THEN(status, pool_give(array->pool, chunks, count, error));
    if (status != GORDIAN_OK) { /* restore, if the device still works */
        gpu_write(array->gpu, entries, chunks, bytes, NULL);
        array_write_control(array, state->size, state->limit, NULL);
    }
    return status;
}

static gordian_status release_pages(struct gpu_array *array, const struct array_state *state,
                                    uint64_t keep, gordian_error *error)
{
    const gordian_allocator *memory = &array->gpu->memory;
    uint64_t count = array_pages(array, state->limit) - keep;
    gpu_address entries = array->pages + keep * sizeof(uint64_t);
    size_t bytes = count * sizeof(uint64_t);
    if (count == 0)
        return GORDIAN_OK;
    uint64_t *chunks = memory_alloc(memory, bytes);
    if (!chunks)
        return fail_memory(error);
    gordian_status status = gpu_read(array->gpu, chunks, entries, bytes, error);
    THEN(status, move_out(array, state, keep, chunks, count, error));
    memory_free(memory, chunks);
    return status;
}

gordian_status gpu_array_shrink(struct gpu_array *array, gordian_error *error)
{
    struct array_state state;
    TRY(array_settle(array, &state, error));
    if (array->mode == GPU_ARRAY_FLAT) {
        TRY(array_write_control(array, state.size, state.size, error));
        array->capacity = state.size;
        gpu_range_shrink(array->range, state.size * array->element);
        return GORDIAN_OK;
    }
    TRY(release_pages(array, &state, array_pages(array, state.size), error));
    if (array->own_pool)
        TRY(pool_trim(array->pool, error));
    return GORDIAN_OK;
}

/* Chunks of a shared pool return to it if their addresses can be read, else when the pool is
 * destroyed. */
void gpu_array_destroy(struct gpu_array *array)
{
    if (!array)
        return;
    struct gpu *gpu = array->gpu;
    struct array_state state;
    watch_free(array);
    if (array->pages && !array->own_pool && array_settle(array, &state, NULL) == GORDIAN_OK)
        release_pages(array, &state, 0, NULL);
    if (array->own_pool)
        gpu_pool_destroy(array->pool);
    gpu_range_destroy(array->range);
    gpu_free(gpu, array->pages);
    gpu_free(gpu, array->control);
    memory_free(&gpu->memory, array);
}
