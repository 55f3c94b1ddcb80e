/* The transpose of a bit matrix as the thesis has it: see published_transpose.cu. */
#ifndef GORDIAN_PUBLISHED_KERNELS_PUBLISHED_TRANSPOSE_H
#define GORDIAN_PUBLISHED_KERNELS_PUBLISHED_TRANSPOSE_H

#include <stdint.h>

/* Tiles of 32 x 32 bits, a word a row of a tile; row-major, without padding between rows. A thread
 * a tile, in any grid with at least so many threads. */
struct published_transpose_arguments {
    uint64_t in, out;      /* uint32_t each; apart */
    uint32_t down, across; /* tiles of `in` */
};

#endif
