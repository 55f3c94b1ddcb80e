/*
 * Stable selection (stream compaction) and prefix sums, each in three launches: every block counts
 * its tile, one block computes the prefix sum of the tiles, every block writes its tile. There are
 * no atomics, so the result and its order are the same on every run.
 */
#include "foundation/gpu/kernels/array/select.h"
#include "foundation/gpu/language/kernel.h"

#define WARPS (SELECT_THREADS / WARP_SIZE)

/* Returns the sum of `x` over the threads before this one; *total is the sum over all
 * SELECT_THREADS threads. */
DEVICE uint32_t block_prefix(uint32_t x, uint32_t *warps, uint32_t *total)
{
    uint32_t sum = x;
    for (uint32_t delta = 1; delta < WARP_SIZE; delta *= 2) {
        uint32_t below = warp_shuffle_up(WARP_ALL, sum, delta);
        if (LANE >= delta)
            sum += below;
    }
    if (LANE == WARP_SIZE - 1)
        warps[THREAD_INDEX / WARP_SIZE] = sum;
    block_barrier();
    uint32_t before = 0, all = 0;
    for (uint32_t w = 0; w < WARPS; w++) {
        if (w == THREAD_INDEX / WARP_SIZE)
            before = all;
        all += warps[w];
    }
    block_barrier();
    *total = all;
    return before + sum - x;
}

DEVICE uint32_t flag_word(const uint4 *four, uint32_t word)
{
    return word == 0 ? four->x : word == 1 ? four->y : word == 2 ? four->z : four->w;
}

/* Returns a bit for each of this thread's elements that is selected. */
DEVICE uint32_t selected_of(const struct select_arguments *a, uint32_t first)
{
    if (first >= a->count)
        return 0;
    uint4 four = GPU_POINTER(const uint4, a->flags)[first / SELECT_EACH];
    uint32_t bits = 0;
    for (uint32_t i = 0; i < SELECT_EACH; i++)
        if (first + i < a->count && flag_word(&four, i / 4) >> i % 4 * 8 & a->mask)
            bits |= 1u << i;
    return bits;
}

KERNEL(select_count, struct select_arguments)
{
    SHARED(uint32_t, warps, WARPS);
    uint32_t first = BLOCK_INDEX * SELECT_TILE + THREAD_INDEX * SELECT_EACH, total;
    block_prefix(popcount32(selected_of(&a, first)), warps, &total);
    if (THREAD_INDEX == 0)
        GPU_POINTER(uint32_t, a.tiles)[BLOCK_INDEX] = total;
}

KERNEL(select_write, struct select_arguments)
{
    SHARED(uint32_t, warps, WARPS);
    const uint32_t *from = GPU_POINTER(const uint32_t, a.from);
    uint32_t *to = GPU_POINTER(uint32_t, a.to);
    uint32_t first = BLOCK_INDEX * SELECT_TILE + THREAD_INDEX * SELECT_EACH, total;
    uint32_t bits = selected_of(&a, first);
    uint32_t at = GPU_POINTER(const uint32_t, a.tiles)[BLOCK_INDEX];
    at += block_prefix(popcount32(bits), warps, &total);
    for (; bits; bits &= bits - 1) {
        uint32_t i = first + find_first32(bits);
        to[at++] = from ? from[i] : i;
    }
}

KERNEL(tile_sums, struct tile_sums_arguments)
{
    SHARED(uint32_t, warps, WARPS);
    uint32_t *tiles = GPU_POINTER(uint32_t, a.tiles);
    uint32_t sum = 0, total;
    for (uint32_t base = 0; base < a.count; base += SELECT_THREADS) {
        uint32_t i = base + THREAD_INDEX;
        uint32_t x = i < a.count ? tiles[i] : 0;
        uint32_t before = block_prefix(x, warps, &total);
        if (i < a.count)
            tiles[i] = sum + before;
        sum += total;
    }
    if (THREAD_INDEX == 0)
        tiles[a.count] = sum;
}

KERNEL(prefix_count, struct prefix_arguments)
{
    SHARED(uint32_t, warps, WARPS);
    const uint32_t *values = GPU_POINTER(const uint32_t, a.values);
    uint32_t first = BLOCK_INDEX * SELECT_TILE + THREAD_INDEX, sum = 0, total;
    for (uint32_t i = 0; i < SELECT_EACH; i++)
        if (first + i * SELECT_THREADS < a.count)
            sum += values[first + i * SELECT_THREADS];
    block_prefix(sum, warps, &total);
    if (THREAD_INDEX == 0)
        GPU_POINTER(uint32_t, a.tiles)[BLOCK_INDEX] = total;
}

KERNEL(prefix_write, struct prefix_arguments)
{
    SHARED(uint32_t, warps, WARPS);
    uint32_t *values = GPU_POINTER(uint32_t, a.values);
    uint32_t first = BLOCK_INDEX * SELECT_TILE + THREAD_INDEX, total;
    uint32_t at = GPU_POINTER(const uint32_t, a.tiles)[BLOCK_INDEX];
    for (uint32_t i = 0; i < SELECT_EACH; i++) {
        bool inside = first + i * SELECT_THREADS < a.count;
        uint32_t x = inside ? values[first + i * SELECT_THREADS] : 0;
        uint32_t before = block_prefix(x, warps, &total);
        if (inside)
            values[first + i * SELECT_THREADS] = at + before;
        at += total;
    }
}
