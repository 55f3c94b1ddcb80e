/* Finds the ends of resources (what_if.h). */
#include "foundation/gpu/kernels/detect/what_if_row.h"
#include "foundation/gpu/language/kernel.h"

DEVICE uint32_t end_of_row(const struct what_if_arguments *w, uint32_t row)
{
    const uint4 *bits = GPU_POINTER(const uint4, w->matrix) + (uint64_t)row * (w->stride / 4);
    const uint4 *runs = GPU_POINTER(const uint4, w->runs);
    uint32_t count = 0, end = WHAT_IF_NONE;
    for (uint32_t i = 0; i < w->words / 4; i += WARP_SIZE) {
        uint32_t mine = i + LANE;
        if (mine < w->words / 4) {
            uint4 all = {~0u, ~0u, ~0u, ~0u};
            uint4 mask = runs ? runs[mine] : all, four = bits[mine];
            take_word(four.x & mask.x, mine * 4, &count, &end);
            take_word(four.y & mask.y, mine * 4 + 1, &count, &end);
            take_word(four.z & mask.z, mine * 4 + 2, &count, &end);
            take_word(four.w & mask.w, mine * 4 + 3, &count, &end);
        }
        if (warp_any(WARP_ALL, count > 1))
            return WHAT_IF_SEVERAL;
    }
    return end_of_lanes(count, end);
}

KERNEL(what_if_ends, struct what_if_arguments)
{
    struct what_if_arguments w = a;
    uint32_t warps = BLOCK_SIZE / WARP_SIZE;
    uint32_t first = BLOCK_INDEX * warps + THREAD_INDEX / WARP_SIZE;
    for (uint32_t row = first; row < w.rows; row += GRID_SIZE * warps) {
        uint32_t end = end_of_row(&w, row);
        if (LANE == 0)
            GPU_POINTER(uint32_t, w.ends)[row] = end;
    }
}
