/* Stable selection and prefix sums: counting tiles, summing over tiles, writing. */
#pragma once

#include <stdint.h>

#define SELECT_THREADS 256u
#define SELECT_EACH    16u /* elements of a thread, one 16-byte load of flags */
#define SELECT_TILE    (SELECT_THREADS * SELECT_EACH)

/* For select_count and select_write: selects the i below `count` with flags[i] & mask. */
struct select_arguments {
    uint64_t flags; /* uint8_t, by element; readable up to a whole tile */
    uint64_t from;  /* uint32_t, by element: the number written for it; 0: its index */
    uint64_t to;    /* uint32_t: the selected elements, in order */
    uint64_t tiles; /* uint32_t: one for each tile and one more, which becomes the total */
    uint32_t count;
    uint32_t mask;
};

/* For prefix_count and prefix_write: values[i] becomes the sum of the values before it. */
struct prefix_arguments {
    uint64_t values; /* uint32_t; the total must be below 2^32 */
    uint64_t tiles;  /* as above */
    uint32_t count;
};

/* For tile_sums, one block, between the two: tiles[i] becomes the sum of the tiles before it. */
struct tile_sums_arguments {
    uint64_t tiles;
    uint32_t count;
};
