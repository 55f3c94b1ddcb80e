/* Bit sets in arrays of 64-bit words, least significant bit first. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline size_t bits_words(size_t bits)
{
    return (bits + 63) / 64;
}

static inline bool bits_test(const uint64_t *set, size_t bit)
{
    return set[bit / 64] >> (bit % 64) & 1;
}

static inline void bits_set(uint64_t *set, size_t bit)
{
    set[bit / 64] |= UINT64_C(1) << (bit % 64);
}

static inline void bits_clear(uint64_t *set, size_t bit)
{
    set[bit / 64] &= ~(UINT64_C(1) << (bit % 64));
}

static inline bool bits_any(const uint64_t *set, size_t words)
{
    for (size_t w = 0; w < words; w++)
        if (set[w])
            return true;
    return false;
}
