/* Mixes the bits of a hash. */
#pragma once

#include <stdint.h>

static inline uint64_t stir_hash(uint64_t value)
{
    value ^= value >> 31;
    value *= 0x9e3779b97f4a7c15u;
    return value ^ (value >> 29);
}
