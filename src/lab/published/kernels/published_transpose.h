/* Transposes as in the thesis: published_transpose.cu, published_transpose_chars.cu,
 * published_transpose_ints.cu. */
#pragma once

#include <stdint.h>

/* Tiles of 32 x 32 elements; row-major, without padding between rows. */
struct published_transpose_arguments {
    uint64_t in, out;      /* must not overlap */
    uint32_t down, across; /* tiles of `in` */
};

/* Bits: two launches, a block for each row of tiles, a thread for each tile in it (at most 1024;
 * then each takes several). Unpacked elements: a block of these many threads for each tile. */
#define PUBLISHED_TILE         32u
#define PUBLISHED_TILE_THREADS 512u
