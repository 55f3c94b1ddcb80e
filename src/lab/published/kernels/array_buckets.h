/* Position of an element in buckets that double in size. */
#pragma once

#include "foundation/gpu/language/kernel.h"

DEVICE uint32_t buckets_top_bit(uint64_t x)
{
    uint32_t high = (uint32_t)(x >> 32);
    return high ? 63 - leading_zeros32(high) : 31 - leading_zeros32((uint32_t)x);
}

/* Returns the bucket of element i, and its index within the bucket in *inside; the first bucket has
 * 1 << shift elements. */
DEVICE uint32_t buckets_find(uint64_t i, uint32_t shift, uint64_t *inside)
{
    uint64_t at = i + (UINT64_C(1) << shift);
    uint32_t top = buckets_top_bit(at);
    *inside = at ^ UINT64_C(1) << top;
    return top - shift;
}

/* Elements of the first `count` buckets. */
DEVICE uint64_t buckets_elements(uint32_t count, uint32_t shift)
{
    return ((UINT64_C(1) << count) - 1) << shift;
}
