/* Keeps the numbers below a bound in two passes over them: see array_two_pass.h. */
#include "lab/bench/kernels/array_two_pass.h"
#include "lab/published/kernels/array_tile.h"

/* The block's tiles: sets *first to their first number, and returns the end. */
DEVICE uint64_t block_part(const struct array_two_pass_arguments *a, uint64_t *end)
{
    uint64_t tiles = (a->count + (ARRAY_TILE - 1)) / ARRAY_TILE;
    uint64_t each = (tiles + GRID_SIZE - 1) / GRID_SIZE * ARRAY_TILE;
    uint64_t first = each * BLOCK_INDEX;
    first = first < a->count ? first : a->count;
    *end = a->count - first < each ? a->count : first + each;
    return first;
}

DEVICE uint32_t below_of(uint4 four, uint32_t below)
{
    return (four.x < below) + (four.y < below) + (four.z < below) + (four.w < below);
}

KERNEL_BOUNDED(array_two_pass_count, struct array_two_pass_arguments, ARRAY_FILTER_THREADS, 5)
{
    SHARED(uint32_t, warps, ARRAY_TILE_WARPS);
    const uint32_t *from = GPU_POINTER(const uint32_t, a.from);
    uint64_t end, first = block_part(&a, &end);
    uint32_t kept = 0, total;
    for (uint64_t tile = first; tile < end; tile += ARRAY_TILE) {
        uint4 four[ARRAY_TILE_LOADS];
        UNROLL
        for (uint32_t i = 0; i < ARRAY_TILE_LOADS; i++)
            four[i] = array_tile_four(from, tile + THREAD_INDEX * 4 + i * ARRAY_TILE_THREADS * 4,
                                      a.count);
        UNROLL
        for (uint32_t i = 0; i < ARRAY_TILE_LOADS; i++)
            kept += below_of(four[i], a.below);
    }
    kept = warp_reduce_add(WARP_ALL, kept);
    if (LANE == 0)
        warps[THREAD_INDEX / WARP_SIZE] = kept;
    block_barrier();
    array_tile_before(warps, 0, &total);
    if (THREAD_INDEX == 0)
        GPU_POINTER(uint32_t, a.sums)[BLOCK_INDEX] = total;
}

/* Values shared between threads are read between two barriers, or by the warp that wrote them. */
KERNEL_BOUNDED(array_two_pass_fill, struct array_two_pass_arguments, ARRAY_FILTER_THREADS, 5)
{
    SHARED2(uint32_t, kept, ARRAY_TILE_WARPS, ARRAY_TILE_OF_WARP);
    SHARED(uint32_t, counts, ARRAY_TILE_WARPS);
    const uint32_t *from = GPU_POINTER(const uint32_t, a.from);
    const uint32_t warp = THREAD_INDEX / WARP_SIZE;
    uint64_t end, first = block_part(&a, &end);
    uint32_t *to = GPU_POINTER(uint32_t, a.to) + GPU_POINTER(const uint32_t, a.sums)[BLOCK_INDEX];
    for (uint64_t tile = first; tile < end; tile += ARRAY_TILE) {
        uint32_t count = array_tile_load(from, a.count, a.below, tile, kept[warp]), total;
        if (LANE == 0)
            counts[warp] = count;
        block_barrier();
        uint32_t before = array_tile_before(counts, warp, &total);
        block_barrier();
        array_tile_write(to + before, kept[warp], count);
        to += total;
        warp_barrier(WARP_ALL);
    }
}
