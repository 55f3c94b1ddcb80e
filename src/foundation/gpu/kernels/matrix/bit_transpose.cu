/* Transposes a bit matrix: tiles pass through shared memory, so that both sides move 32 bytes of a
 * row at a time; within it, a warp transposes 32 x 32 bits in its registers. */
#include "foundation/gpu/kernels/matrix/bit_transpose.h"
#include "foundation/gpu/kernels/matrix/warp_transpose.h"
#include "foundation/gpu/language/kernel.h"

#define TILE_WORDS (BIT_TRANSPOSE_TILE / 32)
#define PADDED     (TILE_WORDS + 1) /* so that a column of words is in different banks */

DEVICE void load_rows(const struct bit_transpose_arguments *t, uint32_t row, uint32_t column,
                      uint32_t *tile)
{
    uint32_t mine = row + THREAD_INDEX, words = (t->columns + 31) / 32;
    const uint32_t *from = GPU_POINTER(const uint32_t, t->in) + (uint64_t)mine * t->in_stride;
    for (uint32_t i = 0; i < TILE_WORDS; i += 4) {
        uint32_t word = column / 32 + i;
        uint4 bits = {0, 0, 0, 0};
        if (mine < t->rows && word < words)
            bits = *(const uint4 *)(const void *)(from + word);
        uint32_t *to = tile + THREAD_INDEX * PADDED + i;
        to[0] = bits.x;
        to[1] = bits.y;
        to[2] = bits.z;
        to[3] = bits.w;
    }
}

/* The warp's 32 columns become 32 rows. */
DEVICE void store_columns(const struct bit_transpose_arguments *t, uint32_t row, uint32_t column,
                          const uint32_t *tile)
{
    uint32_t warp = THREAD_INDEX / WARP_SIZE, mine = column + warp * 32 + LANE;
    uint32_t words = (t->rows + 31) / 32;
    uint32_t *to = GPU_POINTER(uint32_t, t->out) + (uint64_t)mine * t->out_stride;
    for (uint32_t i = 0; i < TILE_WORDS; i += 4) {
        uint4 bits;
        bits.x = warp_transpose(tile[((i + 0) * 32 + LANE) * PADDED + warp]);
        bits.y = warp_transpose(tile[((i + 1) * 32 + LANE) * PADDED + warp]);
        bits.z = warp_transpose(tile[((i + 2) * 32 + LANE) * PADDED + warp]);
        bits.w = warp_transpose(tile[((i + 3) * 32 + LANE) * PADDED + warp]);
        uint32_t word = row / 32 + i;
        if (mine < t->columns && word < words)
            *(uint4 *)(void *)(to + word) = bits;
    }
}

KERNEL_BOUNDED(bit_transpose, struct bit_transpose_arguments, BIT_TRANSPOSE_THREADS, 4)
{
    SHARED(uint32_t, tile, BIT_TRANSPOSE_TILE * PADDED);
    struct bit_transpose_arguments t = a;
    uint32_t down = (t.rows + BIT_TRANSPOSE_TILE - 1) / BIT_TRANSPOSE_TILE;
    uint32_t across = (t.columns + BIT_TRANSPOSE_TILE - 1) / BIT_TRANSPOSE_TILE;
    for (uint32_t i = BLOCK_INDEX; i < down * across; i += GRID_SIZE) {
        uint32_t row = i % down * BIT_TRANSPOSE_TILE, column = i / down * BIT_TRANSPOSE_TILE;
        load_rows(&t, row, column, tile);
        block_barrier();
        store_columns(&t, row, column, tile);
        block_barrier();
    }
}
