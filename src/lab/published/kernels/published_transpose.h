/* Transposes as the thesis has them: published_transpose.cu, published_transpose_chars.cu,
 * published_transpose_ints.cu. */
#pragma once

#include <stdint.h>

/* Tiles of 32 x 32 elements; row-major, without padding between rows. */
struct published_transpose_arguments {
    uint64_t in, out;      /* apart */
    uint32_t down, across; /* tiles of `in` */
};

/* Bits: two launches, a block for every row of tiles, a thread for every tile of it (1024 at most,
 * which then take several each). Elements of their own: a block of these many threads for every
 * tile. */
#define PUBLISHED_TILE         32u
#define PUBLISHED_TILE_THREADS 512u
