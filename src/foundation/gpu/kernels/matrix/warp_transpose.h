/* Transposes 32 x 32 bits in a warp's registers. */
#pragma once

#include "foundation/gpu/language/kernel.h"

/* Lane i has row i; afterwards it has column i. */
DEVICE uint32_t warp_transpose(uint32_t row)
{
    uint32_t low = 0x0000ffff; /* the columns that stay with the lower lanes */
    for (uint32_t distance = 16; distance; distance /= 2, low ^= low << distance) {
        uint32_t other = warp_shuffle_xor(WARP_ALL, row, distance);
        row = LANE & distance ? (row & ~low) | (other & ~low) >> distance
                              : (row & low) | (other & low) << distance;
    }
    return row;
}
