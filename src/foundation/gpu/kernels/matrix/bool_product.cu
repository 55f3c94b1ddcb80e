/* The boolean matrix product, one tile for each block at a time (bool_product.h). */
#include "foundation/gpu/kernels/matrix/bool_tile.h"

/* Tiles are taken in squares of BAND x BAND, so that blocks that run at the same time share most of
 * what they read, in the second-level cache. */
#define BAND 16u

DEVICE void place_tile(uint32_t index, uint32_t down, uint32_t across, uint32_t *row,
                       uint32_t *column)
{
    uint32_t band = index / (BAND * across);
    uint32_t height = down - band * BAND < BAND ? down - band * BAND : BAND;
    uint32_t within = index - band * BAND * across;
    *row = (band * BAND + within % height) * BOOL_TILE;
    *column = within / height * BOOL_TILE;
}

KERNEL_BOUNDED(bool_product, struct bool_product_arguments, BOOL_TILE_THREADS, 2)
{
    struct bool_product_arguments product = a;
    uint32_t down = BOOL_TILES(product.rows), across = BOOL_TILES(product.columns);
    bool changed = false;
    for (uint32_t tile = BLOCK_INDEX; tile < down * across; tile += GRID_SIZE) {
        uint32_t row, column;
        place_tile(tile, down, across, &row, &column);
        changed |= bool_tile(&product, row, column);
    }
    if (product.changed && block_any(changed) && THREAD_INDEX == 0)
        atomic_or32(GPU_POINTER(uint32_t, product.changed), 1);
}
