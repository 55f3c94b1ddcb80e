/* The alternative to a growable array: count what is kept, sum the counts up (tile_sums of
 * foundation/gpu/kernels/array/select.h), fill memory of exactly that size. */
#pragma once

#include <stdint.h>

/* array_two_pass_count, array_two_pass_fill: any number of blocks of ARRAY_FILTER_THREADS, the same
 * for both; each takes contiguous tiles. */
struct array_two_pass_arguments {
    uint64_t from; /* uint32_t each, 16-byte aligned */
    uint64_t count;
    uint64_t sums; /* uint32_t for each block: what it keeps; for the fill, what the blocks before
                      it keep */
    uint64_t to;   /* for the fill: uint32_t each */
    uint32_t below;
};
