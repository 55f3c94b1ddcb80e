/*
 * The transpose of a bit matrix in the thesis's two launches (sections 3.3.6 and 4.3.6):
 * BitMatrix_Transpose transposes each tile of 32 x 32 bits in place; tileTranspose moves each tile
 * to its mirrored position.
 */
#include "foundation/gpu/language/kernel.h"
#include "lab/published/kernels/published_transpose.h"

/* Swaps the squares of `size` bits on both sides of the diagonal. */
DEVICE void swap_squares(uint32_t *tile, uint32_t size, uint32_t low)
{
    for (uint32_t row = 0; row < 32; row = (row + size + 1) & ~size) {
        uint32_t differ = (tile[row] >> size ^ tile[row + size]) & low;
        tile[row] ^= differ << size;
        tile[row + size] ^= differ;
    }
}

/* BitMatrix_Transpose: a thread transposes one tile, by swapping squares of half the size each
 * time. */
KERNEL_BOUNDED(published_transpose_bits, struct published_transpose_arguments, 1024, 1)
{
    uint32_t tile[32];
    for (uint32_t column = THREAD_INDEX; column < a.across; column += BLOCK_SIZE) {
        const uint64_t at = (uint64_t)BLOCK_INDEX * 32 * a.across + column;
        const uint32_t *in = GPU_POINTER(const uint32_t, a.in) + at;
        uint32_t *out = GPU_POINTER(uint32_t, a.out) + at;
        for (uint32_t i = 0; i < 32; i++)
            tile[i] = in[(uint64_t)i * a.across];
        swap_squares(tile, 16, 0x0000ffffu);
        swap_squares(tile, 8, 0x00ff00ffu);
        swap_squares(tile, 4, 0x0f0f0f0fu);
        swap_squares(tile, 2, 0x33333333u);
        swap_squares(tile, 1, 0x55555555u);
        for (uint32_t i = 0; i < 32; i++)
            out[(uint64_t)i * a.across] = tile[i];
    }
}

/* tileTranspose: a thread moves one tile, unchanged. */
KERNEL_BOUNDED(published_transpose_tiles, struct published_transpose_arguments, 1024, 1)
{
    for (uint32_t column = THREAD_INDEX; column < a.across; column += BLOCK_SIZE) {
        const uint32_t *in =
            GPU_POINTER(const uint32_t, a.in) + (uint64_t)BLOCK_INDEX * 32 * a.across + column;
        uint32_t *out = GPU_POINTER(uint32_t, a.out) + (uint64_t)column * 32 * a.down + BLOCK_INDEX;
        for (uint32_t i = 0; i < 32; i++)
            out[(uint64_t)i * a.down] = in[(uint64_t)i * a.across];
    }
}
