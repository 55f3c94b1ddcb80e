/* Rows of LMDDA's matrices. */
#pragma once

#include "foundation/gpu/language/kernel.h"

DEVICE uint32_t *row_of(uint64_t matrix, uint32_t stride, uint32_t row)
{
    return GPU_POINTER(uint32_t, matrix) + (uint64_t)row * stride;
}

DEVICE void set_bit(uint32_t *row, uint32_t bit)
{
    atomic_or32(&row[bit / 32], 1u << bit % 32);
}

DEVICE void clear_bit(uint32_t *row, uint32_t bit)
{
    atomic_and32(&row[bit / 32], ~(1u << bit % 32));
}

/* ORs the bits of a row into another, 16 bytes a lane at a time; by the whole warp. */
DEVICE void join_row(uint32_t *row, const uint32_t *joining, uint32_t words)
{
    uint4 *to = (uint4 *)(void *)row;
    const uint4 *from = (const uint4 *)(const void *)joining;
    for (uint32_t i = LANE; i < words / 4; i += WARP_SIZE) {
        uint4 one = to[i], other = from[i];
        one.x |= other.x;
        one.y |= other.y;
        one.z |= other.z;
        one.w |= other.w;
        to[i] = one;
    }
}
