/* Reading a growable array beside plain memory: see array_read.h. */
#include "array_read.h"
#include "gpu/kernels/array.h"

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
};

/* Where element i is. */
DEVICE const uint32_t *element_at(const struct array_read_arguments *a, uint64_t i,
                                  enum source source)
{
    if (source == PLAIN)
        return GPU_POINTER(const uint32_t, a->plain) + i;
    return source == FLAT ? GARRAY_AT_FLAT(uint32_t, &a->from, i)
                          : GARRAY_AT_CHUNKED(uint32_t, &a->from, i);
}

DEVICE void add_up(const struct array_read_arguments *a, uint64_t sum)
{
    for (uint32_t delta = WARP_SIZE / 2; delta > 0; delta /= 2)
        sum += warp_shuffle_xor64(WARP_ALL, sum, delta);
    if (LANE == 0)
        atomic_add64(GPU_POINTER(uint64_t, a->sum), sum);
}

/* Several loads are under way before the first is needed: first those of the pages, if any, then
 * those of the elements. */
DEVICE uint64_t read_all(const struct array_read_arguments *a, enum source source, bool random)
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

/* The ways are told apart outside of the loops. */
DEVICE uint64_t read_source(const struct array_read_arguments *a, bool random)
{
    if (a->plain)
        return read_all(a, PLAIN, random);
    return garray_is_flat(&a->from) ? read_all(a, FLAT, random) : read_all(a, CHUNKED, random);
}

/* Blocks of whole warps. */
KERNEL(array_read, struct array_read_arguments)
{
    add_up(&a, read_source(&a, false));
}

KERNEL(array_read_random, struct array_read_arguments)
{
    add_up(&a, read_source(&a, true));
}
