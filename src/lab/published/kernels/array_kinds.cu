/*
 * Keeps the numbers below a bound in an LFVector, as published and with the reservations of our
 * own array, and in sub-arrays, one per block. Copies either into contiguous memory.
 */
#include "lab/published/kernels/array_kinds.h"
#include "lab/published/kernels/array_lfvector.h"
#include "lab/published/kernels/array_subarrays.h"
#include "lab/published/kernels/array_tile.h"

/* ---- one by one */

KERNEL(lfvector_push_all, struct lfvector_filter_arguments)
{
    const uint32_t *from = GPU_POINTER(const uint32_t, a.from);
    const uint64_t step = (uint64_t)GRID_SIZE * BLOCK_SIZE;
    for (uint64_t i = (uint64_t)BLOCK_INDEX * BLOCK_SIZE + THREAD_INDEX; i < a.count; i += step) {
        uint32_t x = from[i];
        if (x >= a.below)
            continue;
        uint32_t *slot = (uint32_t *)lfvector_push(&a.out);
        if (slot)
            *slot = x;
    }
}

/* ---- a tile at a time */

/* Returns the place of the block's element i, and how many places follow it contiguously. */
DEVICE struct garray_span subarrays_place(const struct subarrays *out, uint64_t i)
{
    return subarrays_span(out, subarrays_mine(out), i);
}

/* Loop over tiles for both kinds; the two differ in the reserving thread and in the layout. Values
 * shared between threads are read between two barriers, or by the warp that wrote them. */
#define PUSH_TILES(reserve, place)                                                                 \
    SHARED2(uint32_t, kept, ARRAY_TILE_WARPS, ARRAY_TILE_OF_WARP);                                 \
    SHARED(uint32_t, counts, ARRAY_TILE_WARPS);                                                    \
    SHARED(struct garray_range, range, 1);                                                         \
    const uint32_t *from = GPU_POINTER(const uint32_t, a.from);                                    \
    const uint32_t warp = THREAD_INDEX / WARP_SIZE;                                                \
    for (uint64_t first = (uint64_t)BLOCK_INDEX * ARRAY_TILE; first < a.count;                     \
         first += (uint64_t)GRID_SIZE * ARRAY_TILE) {                                              \
        uint32_t count = array_tile_load(from, a.count, a.below, first, kept[warp]), total;        \
        if (LANE == 0)                                                                             \
            counts[warp] = count;                                                                  \
        block_barrier();                                                                           \
        uint32_t before = array_tile_before(counts, warp, &total), end = before + count;           \
        if (THREAD_INDEX == 0)                                                                     \
            range[0] = reserve(&a.out, total);                                                     \
        block_barrier();                                                                           \
        end = end < range[0].count ? end : (uint32_t)range[0].count;                               \
        for (uint32_t at = before, run; at < end; at += run) {                                     \
            struct garray_span span = place(&a.out, range[0].first + at);                          \
            run = span.left < end - at ? (uint32_t)span.left : end - at;                           \
            array_tile_write((uint32_t *)span.at, kept[warp] + (at - before), run);                \
        }                                                                                          \
        warp_barrier(WARP_ALL);                                                                    \
    }

KERNEL_BOUNDED(lfvector_push_tiles, struct lfvector_filter_arguments, ARRAY_FILTER_THREADS, 4)
{
    PUSH_TILES(lfvector_reserve, lfvector_span);
}

KERNEL_BOUNDED(subarrays_push_tiles, struct subarrays_filter_arguments, ARRAY_FILTER_THREADS, 4)
{
    PUSH_TILES(subarrays_reserve, subarrays_place);
}

/* ---- the index of the sub-arrays */

/* Returns the sum of x over the threads before this one; *total gets the sum over all. */
DEVICE uint64_t prefix_of_block(uint64_t x, uint64_t *warps, uint64_t *total)
{
    uint64_t sum = x, before = 0, all = 0;
    for (uint32_t delta = 1; delta < WARP_SIZE; delta *= 2) {
        uint64_t below = warp_shuffle_up64(WARP_ALL, sum, delta);
        if (LANE >= delta)
            sum += below;
    }
    if (LANE == WARP_SIZE - 1)
        warps[THREAD_INDEX / WARP_SIZE] = sum;
    block_barrier();
    for (uint32_t w = 0; w < SUBARRAYS_INDEX_THREADS / WARP_SIZE; w++) {
        before += w < THREAD_INDEX / WARP_SIZE ? warps[w] : 0;
        all += warps[w];
    }
    block_barrier();
    *total = all;
    return before + sum - x;
}

KERNEL(subarrays_index, struct subarrays_index_arguments)
{
    SHARED(uint64_t, warps, SUBARRAYS_INDEX_THREADS / WARP_SIZE);
    const struct subarray *arrays = GPU_POINTER(const struct subarray, a.of.arrays);
    uint64_t *starts = GPU_POINTER(uint64_t, a.of.starts);
    uint64_t sum = 0, total;
    for (uint32_t first = 0; first < a.of.blocks; first += SUBARRAYS_INDEX_THREADS) {
        uint32_t i = first + THREAD_INDEX;
        uint64_t before = prefix_of_block(i < a.of.blocks ? arrays[i].count : 0, warps, &total);
        if (i < a.of.blocks)
            starts[i] = sum + before;
        sum += total;
    }
    if (THREAD_INDEX == 0)
        starts[a.of.blocks] = sum;
}

/* ---- copies to contiguous memory */

DEVICE void copy_element(char *to, const void *from, uint32_t bytes)
{
    if (bytes == sizeof(uint32_t)) {
        *(uint32_t *)to = *(const uint32_t *)from;
        return;
    }
    for (uint32_t i = 0; i < bytes; i++)
        to[i] = ((const char *)from)[i];
}

KERNEL(lfvector_flatten, struct lfvector_flatten_arguments)
{
    const uint64_t step = (uint64_t)GRID_SIZE * BLOCK_SIZE;
    for (uint64_t i = (uint64_t)BLOCK_INDEX * BLOCK_SIZE + THREAD_INDEX; i < a.count; i += step)
        copy_element(GPU_POINTER(char, a.to) + i * a.from.element,
                     lfvector_at(&a.from, a.first + i), a.from.element);
}

KERNEL(subarrays_flatten, struct subarrays_flatten_arguments)
{
    const uint64_t step = (uint64_t)GRID_SIZE * BLOCK_SIZE;
    for (uint64_t i = (uint64_t)BLOCK_INDEX * BLOCK_SIZE + THREAD_INDEX; i < a.count; i += step)
        copy_element(GPU_POINTER(char, a.to) + i * a.from.element,
                     subarrays_at(&a.from, a.first + i), a.from.element);
}
