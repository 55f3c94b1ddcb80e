/*
 * A block's tile of a filter. Each thread loads its elements 16 bytes at a time, all before the
 * first use. Each warp compacts what it keeps in shared memory, by votes, and writes it to whole
 * cache lines after it has reserved a place. What is kept has the same order on every launch.
 */
#pragma once

#include "foundation/gpu/language/kernel.h"
#include "lab/published/kernels/array_filter.h"

#define ARRAY_TILE_THREADS ARRAY_FILTER_THREADS
#define ARRAY_TILE         ARRAY_FILTER_TILE
#define ARRAY_TILE_WARPS   (ARRAY_TILE_THREADS / WARP_SIZE)
#define ARRAY_TILE_LOADS   (ARRAY_FILTER_EACH / 4)
#define ARRAY_TILE_OF_WARP (WARP_SIZE * ARRAY_FILTER_EACH)
#define ARRAY_TILE_LINE    32u /* elements in 128 bytes */

#ifdef __CUDACC__
#define UNROLL _Pragma("unroll")
#else
#define UNROLL
#endif

/* Loads four elements; those past the end are never below a bound. */
DEVICE uint4 array_tile_four(const uint32_t *from, uint64_t first, uint64_t count)
{
    if (first + 4 <= count)
        return *(const uint4 *)(from + first);
    uint4 four;
    four.x = first < count ? from[first] : UINT32_MAX;
    four.y = first + 1 < count ? from[first + 1] : UINT32_MAX;
    four.z = first + 2 < count ? from[first + 2] : UINT32_MAX;
    four.w = UINT32_MAX;
    return four;
}

/* Appends x to what the warp keeps, if it is kept; returns the new count. */
DEVICE uint32_t array_tile_stage(uint32_t *kept, uint32_t count, uint32_t x, uint32_t below)
{
    uint32_t votes = warp_ballot(WARP_ALL, x < below);
    if (x < below)
        kept[count + popcount32(votes & ((1u << LANE) - 1))] = x;
    return count + popcount32(votes);
}

/* Loads the warp's share of a tile that starts at `first`, and stores what it keeps in kept;
 * returns how many. All loads of the tile are issued before the first is needed. */
DEVICE uint32_t array_tile_load(const uint32_t *from, uint64_t all, uint32_t below, uint64_t first,
                                uint32_t *kept)
{
    uint4 four[ARRAY_TILE_LOADS];
    uint64_t mine = first + THREAD_INDEX * 4;
    if (first + ARRAY_TILE <= all) {
        UNROLL
        for (uint32_t i = 0; i < ARRAY_TILE_LOADS; i++)
            four[i] = *(const uint4 *)(from + mine + i * ARRAY_TILE_THREADS * 4);
    } else {
        UNROLL
        for (uint32_t i = 0; i < ARRAY_TILE_LOADS; i++)
            four[i] = array_tile_four(from, mine + i * ARRAY_TILE_THREADS * 4, all);
    }
    uint32_t count = 0;
    UNROLL
    for (uint32_t i = 0; i < ARRAY_TILE_LOADS; i++) {
        count = array_tile_stage(kept, count, four[i].x, below);
        count = array_tile_stage(kept, count, four[i].y, below);
        count = array_tile_stage(kept, count, four[i].z, below);
        count = array_tile_stage(kept, count, four[i].w, below);
    }
    return count;
}

/* Writes kept[0] .. to `to`, with lanes aligned to cache lines. Called by a warp. */
DEVICE void array_tile_write(uint32_t *to, const uint32_t *kept, uint32_t count)
{
    uint32_t early = (uint32_t)((uintptr_t)to / sizeof *to) % ARRAY_TILE_LINE;
    for (uint32_t i = LANE; i < count + early; i += WARP_SIZE)
        if (i >= early)
            to[i - early] = kept[i - early];
}

/* Sums the counts of the warps before this one; *total gets the sum of all. */
DEVICE uint32_t array_tile_before(const uint32_t *counts, uint32_t warp, uint32_t *total)
{
    uint32_t before = 0, all = 0;
    for (uint32_t w = 0; w < ARRAY_TILE_WARPS; w++) {
        before += w < warp ? counts[w] : 0;
        all += counts[w];
    }
    *total = all;
    return before;
}
