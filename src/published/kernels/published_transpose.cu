/*
 * BitMatrix_Transpose of the thesis (sections 3.3.6 and 4.3.6): every thread turns a tile of 32 x
 * 32 bits over by itself, halving the squares that change places, and writes it where its mirror
 * image is.
 */
#include "gpu/kernel.h"
#include "published/kernels/published_transpose.h"

/* Squares of `size` bits beside the diagonal change places. */
DEVICE void swap_squares(uint32_t *tile, uint32_t size, uint32_t low)
{
    for (uint32_t row = 0; row < 32; row = (row + size + 1) & ~size) {
        uint32_t differ = (tile[row] >> size ^ tile[row + size]) & low;
        tile[row] ^= differ << size;
        tile[row + size] ^= differ;
    }
}

KERNEL(published_transpose, struct published_transpose_arguments)
{
    uint32_t tile[32];
    uint64_t mine = (uint64_t)BLOCK_INDEX * BLOCK_SIZE + THREAD_INDEX;
    if (mine >= (uint64_t)a.down * a.across)
        return;
    uint64_t row = mine / a.across, column = mine % a.across;
    const uint32_t *in = GPU_POINTER(const uint32_t, a.in) + row * 32 * a.across + column;
    for (uint32_t i = 0; i < 32; i++)
        tile[i] = in[(uint64_t)i * a.across];
    swap_squares(tile, 16, 0x0000ffffu);
    swap_squares(tile, 8, 0x00ff00ffu);
    swap_squares(tile, 4, 0x0f0f0f0fu);
    swap_squares(tile, 2, 0x33333333u);
    swap_squares(tile, 1, 0x55555555u);
    uint32_t *out = GPU_POINTER(uint32_t, a.out) + column * 32 * a.down + row;
    for (uint32_t i = 0; i < 32; i++)
        out[(uint64_t)i * a.down] = tile[i];
}
