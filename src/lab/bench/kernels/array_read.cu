/* Reads a growable array or plain memory: see array_read.h. */
#include "foundation/gpu/kernels/array/array.h"
#include "lab/bench/kernels/array_read.h"
#include "lab/published/kernels/array_lfvector.h"
#include "lab/published/kernels/array_subarrays.h"

#define LOADS 8u

#ifdef __CUDACC__
#define UNROLL _Pragma("unroll")
#else
#define UNROLL
#endif

enum source {
    PLAIN,
    FLAT,
    CHUNKED,
    LFVECTOR,
    SUBARRAYS,
};

/* What is read; the loops are compiled for each kind, so that they need not distinguish. */
struct read_from {
    const struct array_read_arguments *array;
    const struct array_read_kinds_arguments *kinds;
    uint64_t count;
};

/* Returns the address of element i. */
DEVICE const uint32_t *element_at(const struct read_from *a, uint64_t i, enum source source)
{
    if (source == LFVECTOR)
        return (const uint32_t *)lfvector_at(&a->kinds->buckets, i);
    if (source == SUBARRAYS)
        return (const uint32_t *)subarrays_at(&a->kinds->blocks, i);
    if (source == PLAIN)
        return GPU_POINTER(const uint32_t, a->array->plain) + i;
    return source == FLAT ? GARRAY_AT_FLAT(uint32_t, &a->array->from, i)
                          : GARRAY_AT_CHUNKED(uint32_t, &a->array->from, i);
}

DEVICE void add_up(uint64_t to, uint64_t sum)
{
    for (uint32_t delta = WARP_SIZE / 2; delta > 0; delta /= 2)
        sum += warp_shuffle_xor64(WARP_ALL, sum, delta);
    if (LANE == 0)
        atomic_add64(GPU_POINTER(uint64_t, to), sum);
}

/* Keeps several loads in flight: first those of the pages, if any, then those of the elements. */
DEVICE uint64_t read_all(const struct read_from *a, enum source source, bool random)
{
    uint64_t step = (uint64_t)GRID_SIZE * BLOCK_SIZE, sum = 0;
    uint64_t i = (uint64_t)BLOCK_INDEX * BLOCK_SIZE + THREAD_INDEX;
    for (; i + (LOADS - 1) * step < a->count; i += LOADS * step) {
        const uint32_t *from[LOADS];
        uint32_t x[LOADS];
        UNROLL
        for (uint32_t k = 0; k < LOADS; k++) {
            uint64_t at = i + k * step;
            from[k] = element_at(a, random ? array_read_index(at, a->count) : at, source);
        }
        UNROLL
        for (uint32_t k = 0; k < LOADS; k++)
            x[k] = *from[k];
        UNROLL
        for (uint32_t k = 0; k < LOADS; k++)
            sum += x[k];
    }
    for (; i < a->count; i += step)
        sum += *element_at(a, random ? array_read_index(i, a->count) : i, source);
    return sum;
}

DEVICE uint64_t read_source(const struct array_read_arguments *array, bool random)
{
    struct read_from a;
    a.array = array;
    a.kinds = NULL;
    a.count = array->count;
    if (array->plain)
        return read_all(&a, PLAIN, random);
    return garray_is_flat(&array->from) ? read_all(&a, FLAT, random)
                                        : read_all(&a, CHUNKED, random);
}

DEVICE uint64_t read_kind(const struct array_read_kinds_arguments *kinds, enum source source,
                          bool random)
{
    struct read_from a;
    a.array = NULL;
    a.kinds = kinds;
    a.count = kinds->count;
    return read_all(&a, source, random);
}

/* Needs blocks of whole warps. */
KERNEL(array_read, struct array_read_arguments)
{
    add_up(a.sum, read_source(&a, false));
}

KERNEL(array_read_random, struct array_read_arguments)
{
    add_up(a.sum, read_source(&a, true));
}

KERNEL(array_read_lfvector, struct array_read_kinds_arguments)
{
    add_up(a.sum, read_kind(&a, LFVECTOR, false));
}

KERNEL(array_read_lfvector_random, struct array_read_kinds_arguments)
{
    add_up(a.sum, read_kind(&a, LFVECTOR, true));
}

KERNEL(array_read_subarrays, struct array_read_kinds_arguments)
{
    add_up(a.sum, read_kind(&a, SUBARRAYS, false));
}

KERNEL(array_read_subarrays_random, struct array_read_kinds_arguments)
{
    add_up(a.sum, read_kind(&a, SUBARRAYS, true));
}
