/* The end of a row (what_if.h): shared by whole rows and rows in blocks. */
#pragma once

#include "foundation/gpu/kernels/detect/what_if.h"
#include "foundation/gpu/language/kernel.h"

/* Adds a word of the row: counts bits (2 means more than one) and keeps the last one. */
DEVICE void take_word(uint32_t bits, uint32_t word, uint32_t *count, uint32_t *end)
{
    if (bits == 0)
        return;
    *count += bits & (bits - 1) ? 2 : 1;
    *end = word * 32 + find_first32(bits);
}

/* Combines what the lanes of a warp have counted. */
DEVICE uint32_t end_of_lanes(uint32_t count, uint32_t end)
{
    uint32_t lanes = warp_ballot(WARP_ALL, count != 0);
    if (lanes & (lanes - 1) || warp_any(WARP_ALL, count > 1))
        return WHAT_IF_SEVERAL;
    return warp_reduce_min(WARP_ALL, end);
}
