/* The boolean matrix product of two bit matrices: out |= left . right. */
#pragma once

#include <stdint.h>

/* A block computes one tile of the product, with as many rows as columns. */
#define BOOL_TILE         128u
#define BOOL_TILE_THREADS 256u

/* Rows are 32-bit words, least significant bit first, start at multiples of 16 bytes, and their
 * strides are multiples of 4 words. Bits of `left` beyond the inner size, up to `inner_words`, are
 * zero. `out` may overlap the factors: bits are only ever set, so they may then count in this
 * product already. */
struct bool_product_arguments {
    uint64_t left;    /* rows x inner */
    uint64_t right;   /* columns x inner: the right factor, transposed */
    uint64_t out;     /* rows x columns */
    uint64_t changed; /* one word, made non-zero if any bit of `out` is new; or 0 */
    uint32_t left_stride, right_stride, out_stride; /* in words */
    uint32_t rows, columns;
    uint32_t inner_words; /* a multiple of 4 */
    uint32_t tensor;      /* use the matrix units, if this chip's code has them */
    uint32_t reserved;
};

/* Tiles along one side. */
#define BOOL_TILES(size) (((size) + BOOL_TILE - 1) / BOOL_TILE)
