/* Node hopping inside one cooperative kernel: rounds of boolean products with a grid barrier
 * between them. A matrix and its transpose are squared side by side, because each is the factor the
 * other's tiles need. */
#ifndef GORDIAN_GPU_KERNELS_HOP_ROUNDS_H
#define GORDIAN_GPU_KERNELS_HOP_ROUNDS_H

#include "gpu/kernels/bool_tile.h"
#include "gpu/kernels/lmdda.h"

/* One round, in place: a tile may see what another has found in the same round, which only
 * helps. */
DEVICE bool hop_once(const struct bit_closure_arguments *closure)
{
    uint32_t side = BOOL_TILES(closure->size), tiles = side * side;
    struct bool_product_arguments product;
    product.changed = 0;
    product.rows = product.columns = closure->size;
    product.inner_words = (closure->size + 127) / 128 * 4;
    product.tensor = closure->tensor;
    bool changed = false;
    for (uint32_t i = BLOCK_INDEX; i < 2 * tiles; i += GRID_SIZE) {
        bool turned = i >= tiles;
        uint32_t tile = turned ? i - tiles : i;
        product.left = product.out = turned ? closure->transposed : closure->paths;
        product.right = turned ? closure->paths : closure->transposed;
        product.left_stride = product.out_stride =
            turned ? closure->transposed_stride : closure->stride;
        product.right_stride = turned ? closure->stride : closure->transposed_stride;
        changed |= bool_tile(&product, tile / side * BOOL_TILE, tile % side * BOOL_TILE);
    }
    return changed;
}

/* Every round doubles the length of the paths known. The words of `changed` are zero before.
 * Whether a round found anything is asked while the next one is under way: waiting for
 * the answer would cost more than the one round too many. */
DEVICE void hop_rounds(const struct bit_closure_arguments *closure)
{
    uint32_t *changed = GPU_POINTER(uint32_t, closure->changed);
    struct grid_barrier *barrier = GPU_POINTER(struct grid_barrier, closure->barrier);
    for (uint32_t round = 0, length = 1; length < closure->size; round++, length *= 2) {
        uint32_t going = round ? *(volatile uint32_t *)&changed[round - 1] : 1;
        bool mine = hop_once(closure);
        if (block_any(mine) && THREAD_INDEX == 0)
            atomic_or32(&changed[round], 1);
        if (!going)
            break; /* in all blocks alike */
        grid_barrier(barrier);
    }
}

#endif
