/* LFVector and sub-arrays, host side. */
#include "lab/published/array/array.h"

#include "foundation/base/error.h"
#include "foundation/gpu/device.h"
#include "lab/published/kernels/array_kinds.h"
#include "lab/published/published.h"

#include <inttypes.h>
#include <stddef.h>

#define FLATTEN_THREADS 256u
#define PIECES_MOST     4096u /* buckets that one heap can hand out: enough for a hundred vectors */

struct published_array {
    struct gpu *gpu;
    enum published_array_kind kind;
    uint32_t element, blocks;
    gpu_address control; /* struct lfvector_control, or an array of struct subarray */
    gpu_address starts;  /* starts of the sub-arrays */
    /* The heap; NULL and unused if another array owns it. */
    struct published_array *heap_of;
    struct gpu_range *range;
    gpu_address heap;
    gpu_address tables; /* LFVector: owners, then starts */
    unsigned guests;    /* arrays that allocate from this array's heap */
    uint64_t heap_bytes;
    uint64_t refused; /* elements refused, as found by calls that do not report it */
};

/* ---- sizes */

static uint64_t elements_of(uint32_t buckets, uint32_t shift)
{
    return ((UINT64_C(1) << buckets) - 1) << shift;
}

/* Each sub-array wastes at most half of its last bucket and one first bucket, which may hold a
 * single element. */
uint64_t published_array_needs(const struct published_array_options *options, uint64_t elements)
{
    uint32_t buckets = 0;
    uint32_t shift = options->kind == PUBLISHED_ARRAY_LFVECTOR ? LFVECTOR_SHIFT : SUBARRAYS_SHIFT;
    if (options->kind == PUBLISHED_ARRAY_SUBARRAYS)
        return (2 * elements + ((uint64_t)options->blocks << shift)) * options->element;
    while (elements_of(buckets, shift) < elements)
        buckets++;
    return elements_of(buckets, shift) * options->element;
}

static size_t control_bytes(const struct published_array *array)
{
    return array->kind == PUBLISHED_ARRAY_LFVECTOR ? sizeof(struct lfvector_control)
                                                   : array->blocks * sizeof(struct subarray);
}

/* ---- opening */

/* Initializes the heap: nothing is allocated. */
static gordian_status write_heap(struct published_array *array, gordian_error *error)
{
    const uint64_t base = gpu_range_address(array->range);
    if (array->kind == PUBLISHED_ARRAY_SUBARRAYS) {
        struct subarrays_heap heap = {.base = base, .bytes = array->heap_bytes};
        return gpu_write(array->gpu, array->heap, &heap, sizeof heap, error);
    }
    struct lfvector_heap heap = {.base = base,
                                 .bytes = array->heap_bytes,
                                 .owners = array->tables,
                                 .starts = array->tables + PIECES_MOST * sizeof(uint64_t),
                                 .most = PIECES_MOST};
    TRY(gpu_zero(array->gpu, array->tables, (2 * PIECES_MOST + 1) * sizeof(uint64_t), error));
    return gpu_write(array->gpu, array->heap, &heap, sizeof heap, error);
}

/* Initializes the control block: no elements and no buckets. */
static gordian_status write_control(struct published_array *array, gordian_error *error)
{
    struct lfvector_control control = {0};
    if (array->kind == PUBLISHED_ARRAY_SUBARRAYS)
        return gpu_zero(array->gpu, array->control, control_bytes(array), error);
    for (uint32_t i = 0; i < LFVECTOR_BUCKETS; i++)
        control.buckets[i].bytes = (UINT64_C(1) << (LFVECTOR_SHIFT + i)) * array->element;
    return gpu_write(array->gpu, array->control, &control, sizeof control, error);
}

static gordian_status open_heap(struct published_array *array,
                                const struct published_array_options *options, gordian_error *error)
{
    struct gpu *gpu = array->gpu;
    uint64_t most =
        options->heap_most > options->heap_bytes ? options->heap_most : options->heap_bytes;
    TRY(gpu_range_create(&array->range, gpu, most ? most : 1, error));
    TRY(gpu_range_grow(array->range, options->heap_bytes, error));
    array->heap_bytes = options->heap_bytes;
    TRY(gpu_alloc(gpu, &array->heap, sizeof(struct lfvector_heap), error));
    if (array->kind == PUBLISHED_ARRAY_LFVECTOR)
        TRY(gpu_alloc(gpu, &array->tables, (2 * PIECES_MOST + 1) * sizeof(uint64_t), error));
    return write_heap(array, error);
}

gordian_status published_array_create(struct published_array **out, struct gpu *gpu,
                                      const struct published_array_options *options,
                                      gordian_error *error)
{
    *out = NULL;
    bool blocks = options->kind == PUBLISHED_ARRAY_SUBARRAYS;
    if (options->element == 0 || blocks != (options->blocks != 0))
        return fail(error, GORDIAN_STATUS_INPUT,
                    "elements need at least a byte, and only sub-arrays have blocks");
    if (options->heap_of && (blocks || options->heap_of->kind != options->kind))
        return fail(error, GORDIAN_STATUS_INPUT, "only LFVectors share a heap");
    struct published_array *array = memory_zeroed(&gpu->memory, sizeof *array);
    if (!array)
        return fail_memory(error);
    array->gpu = gpu;
    array->kind = options->kind;
    array->element = options->element;
    array->blocks = options->blocks;
    array->heap_of = options->heap_of;
    if (array->heap_of)
        array->heap_of->guests++;
    gordian_status status = gpu_alloc(array->gpu, &array->control, control_bytes(array), error);
    if (array->kind == PUBLISHED_ARRAY_SUBARRAYS)
        THEN(status, gpu_alloc(array->gpu, &array->starts,
                               ((size_t)array->blocks + 1) * sizeof(uint64_t), error));
    THEN(status, write_control(array, error));
    if (!array->heap_of)
        THEN(status, open_heap(array, options, error));
    THEN(status, gpu_wait(array->gpu, error));
    if (status != GORDIAN_OK) {
        published_array_destroy(array);
        return status;
    }
    *out = array;
    return GORDIAN_OK;
}

void published_array_destroy(struct published_array *array)
{
    if (!array)
        return;
    struct gpu *gpu = array->gpu;
    if (array->heap_of)
        array->heap_of->guests--;
    gpu_range_destroy(array->range);
    gpu_free(gpu, array->heap);
    gpu_free(gpu, array->tables);
    gpu_free(gpu, array->control);
    gpu_free(gpu, array->starts);
    memory_free(&gpu->memory, array);
}

/* ---- kernel arguments */

static gpu_address heap_address(const struct published_array *array)
{
    return array->heap_of ? array->heap_of->heap : array->heap;
}

struct lfvector published_array_lfvector(const struct published_array *array)
{
    return (struct lfvector){.control = array->control,
                             .heap = heap_address(array),
                             .element = array->element,
                             .shift = LFVECTOR_SHIFT};
}

struct subarrays published_array_subarrays(const struct published_array *array)
{
    return (struct subarrays){.arrays = array->control,
                              .heap = heap_address(array),
                              .starts = array->starts,
                              .blocks = array->blocks,
                              .element = array->element,
                              .shift = SUBARRAYS_SHIFT};
}

struct gpu_launch published_array_index(const struct published_array *array,
                                        struct subarrays_index_arguments *arguments)
{
    arguments->of = published_array_subarrays(array);
    return published_launch("subarrays_index", 1, SUBARRAYS_INDEX_THREADS, arguments,
                            sizeof *arguments);
}

/* ---- results of kernels */

static gordian_status settle_lfvector(struct published_array *array, struct gpu_array_count *count,
                                      gordian_error *error)
{
    struct lfvector_control control;
    uint32_t there = 0;
    TRY(gpu_read(array->gpu, &control, array->control, sizeof control, error));
    while (there < LFVECTOR_BUCKETS && control.buckets[there].at)
        there++;
    uint64_t limit = elements_of(there, LFVECTOR_SHIFT);
    count->size = control.count < limit ? control.count : limit;
    count->refused = control.count - count->size;
    if (count->refused == 0)
        return GORDIAN_OK;
    return gpu_write(array->gpu, array->control + offsetof(struct lfvector_control, count),
                     &count->size, sizeof count->size, error);
}

static gordian_status settle_subarrays(struct published_array *array, struct gpu_array_count *count,
                                       gordian_error *error)
{
    size_t bytes = control_bytes(array);
    struct subarray *arrays = memory_alloc(&array->gpu->memory, bytes);
    if (!arrays)
        return fail_memory(error);
    gordian_status status = gpu_read(array->gpu, arrays, array->control, bytes, error);
    for (uint32_t i = 0; i < array->blocks && status == GORDIAN_OK; i++) {
        count->size += arrays[i].count;
        count->refused += arrays[i].refused;
        arrays[i].refused = 0;
    }
    if (status == GORDIAN_OK && count->refused)
        status = gpu_write(array->gpu, array->control, arrays, bytes, error);
    memory_free(&array->gpu->memory, arrays);
    return status;
}

static gordian_status settle_array(struct published_array *array, struct gpu_array_count *count,
                                   gordian_error *error)
{
    *count = (struct gpu_array_count){0};
    TRY(array->kind == PUBLISHED_ARRAY_LFVECTOR ? settle_lfvector(array, count, error)
                                                : settle_subarrays(array, count, error));
    array->refused += count->refused;
    return GORDIAN_OK;
}

gordian_status published_array_settle(struct published_array *array, struct gpu_array_count *count,
                                      gordian_error *error)
{
    TRY(settle_array(array, count, error));
    count->refused = array->refused;
    array->refused = 0;
    return GORDIAN_OK;
}

/* ---- the heap */

gordian_status published_array_reserve(struct published_array *array, uint64_t heap_bytes,
                                       gordian_error *error)
{
    if (array->heap_of)
        return published_array_reserve(array->heap_of, heap_bytes, error);
    if (heap_bytes <= array->heap_bytes)
        return GORDIAN_OK;
    TRY(gpu_range_grow(array->range, heap_bytes, error));
    size_t member = array->kind == PUBLISHED_ARRAY_LFVECTOR
                        ? offsetof(struct lfvector_heap, bytes)
                        : offsetof(struct subarrays_heap, bytes);
    gordian_status status =
        gpu_write(array->gpu, array->heap + member, &heap_bytes, sizeof heap_bytes, error);
    if (status == GORDIAN_OK)
        array->heap_bytes = heap_bytes;
    return status;
}

gordian_status published_array_clear(struct published_array *array, gordian_error *error)
{
    const uint64_t none = 0;
    if (array->heap_of || array->guests)
        return gpu_write(array->gpu, array->control + offsetof(struct lfvector_control, count),
                         &none, sizeof none, error);
    TRY(write_control(array, error));
    TRY(write_heap(array, error));
    return gpu_wait(array->gpu, error);
}

/* ---- elements */

static gordian_status launch_flatten(struct published_array *array, gpu_address to, uint64_t first,
                                     uint64_t count, gordian_error *error)
{
    struct lfvector_flatten_arguments buckets = {published_array_lfvector(array), to, first, count};
    struct subarrays_flatten_arguments blocks = {published_array_subarrays(array), to, first,
                                                 count};
    bool lfvector = array->kind == PUBLISHED_ARRAY_LFVECTOR;
    uint64_t wanted = (count + FLATTEN_THREADS - 1) / FLATTEN_THREADS;
    uint64_t most = (uint64_t)array->gpu->info.multiprocessors * 8;
    const struct gpu_launch launch = published_launch(
        lfvector ? "lfvector_flatten" : "subarrays_flatten",
        (unsigned)(wanted < most ? wanted : most), FLATTEN_THREADS,
        lfvector ? (const void *)&buckets : &blocks, lfvector ? sizeof buckets : sizeof blocks);
    return gpu_launch(array->gpu, &launch, error);
}

gordian_status published_array_flatten(struct published_array *array, gpu_address to,
                                       uint64_t first, uint64_t count, gordian_error *error)
{
    struct gpu_array_count there;
    gordian_status status = settle_array(array, &there, error);
    TRY(status);
    if (first > there.size || count > there.size - first)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "elements %" PRIu64 " to %" PRIu64 " of an array of %" PRIu64, first,
                    (first + count), there.size);
    struct subarrays_index_arguments arguments;
    struct gpu_launch index = published_array_index(array, &arguments);
    if (array->kind == PUBLISHED_ARRAY_SUBARRAYS)
        status = gpu_launch(array->gpu, &index, error);
    return status != GORDIAN_OK || count == 0 ? status
                                              : launch_flatten(array, to, first, count, error);
}

gordian_status published_array_read(struct published_array *array, void *to, uint64_t first,
                                    uint64_t count, gordian_error *error)
{
    gpu_address buffer = 0;
    size_t bytes = count * array->element;
    gordian_status status = gpu_alloc(array->gpu, &buffer, bytes, error);
    THEN(status, published_array_flatten(array, buffer, first, count, error));
    if (status == GORDIAN_OK && bytes)
        status = gpu_read(array->gpu, to, buffer, bytes, error);
    gpu_free(array->gpu, buffer);
    return status;
}
