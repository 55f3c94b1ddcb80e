/* The transpose of a matrix with one element per cell: a block moves a tile of 32 x 32 through
 * shared memory, 16 rows at a time (the figures of algorithm 12's first lines), so that reads and
 * writes cover whole rows of it. A file for each such form includes it. */
#include "lab/published/kernels/published_form.h"
#include "lab/published/kernels/published_transpose.h"

KERNEL_BOUNDED(FORM_KERNEL(transpose), struct published_transpose_arguments, PUBLISHED_TILE_THREADS,
               1)
{
    SHARED2(cell, tile, PUBLISHED_TILE, PUBLISHED_TILE + 1);
    const uint32_t down = BLOCK_INDEX / a.across, across = BLOCK_INDEX % a.across;
    const uint32_t x = THREAD_INDEX % PUBLISHED_TILE, first = THREAD_INDEX / PUBLISHED_TILE;
    const uint32_t step = PUBLISHED_TILE_THREADS / PUBLISHED_TILE;
    for (uint32_t y = first; y < PUBLISHED_TILE; y += step)
        tile[y][x] = row_of(a.in, down * PUBLISHED_TILE + y,
                            a.across * PUBLISHED_TILE)[across * PUBLISHED_TILE + x];
    block_barrier();
    for (uint32_t y = first; y < PUBLISHED_TILE; y += step)
        row_of(a.out, across * PUBLISHED_TILE + y,
               a.down * PUBLISHED_TILE)[down * PUBLISHED_TILE + x] = tile[x][y];
}
