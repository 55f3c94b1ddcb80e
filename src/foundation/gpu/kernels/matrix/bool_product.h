/* The boolean product of two bit matrices: out |= left . right. */
#pragma once

#include <stdint.h>

/* A block makes one tile of the product, as many rows as columns. */
#define BOOL_TILE         128u
#define BOOL_TILE_THREADS 256u

/* Rows are 32-bit words, least significant bit first, start on 16 bytes, and their strides are
 * multiples of 4 words. Bits of `left` beyond the inner size, up to `inner_words`, are zero. `out`
 * may overlap the factors: a bit is only ever set, so it may then count already in this product. */
struct bool_product_arguments {
    uint64_t left;    /* rows x inner */
    uint64_t right;   /* columns x inner: the right factor, transposed */
    uint64_t out;     /* rows x columns */
    uint64_t changed; /* one word, made non-zero if any bit of `out` is new; or 0 */
    uint32_t left_stride, right_stride, out_stride; /* in words */
    uint32_t rows, columns;
    uint32_t inner_words; /* a multiple of 4 */
    uint32_t tensor;      /* use the matrix units, if this chip's code has that path */
    uint32_t reserved;
};

/* Tiles along one side. */
#define BOOL_TILES(size) (((size) + BOOL_TILE - 1) / BOOL_TILE)
