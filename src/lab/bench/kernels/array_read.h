/* Reads every element of a growable array, or of plain memory, once: shows the cost of a page
 * table. */
#pragma once

#include "foundation/gpu/language/kernel.h"
#include "lab/published/kernels/array_storage.h"

#include <gordian/array.h>

/* array_read: in order; array_read_random: at random. Any number of blocks of whole warps. Adds the
 * elements read to *sum: each of them once, or the same number drawn at random. */
struct array_read_arguments {
    struct garray from; /* of uint32_t */
    uint64_t plain;     /* uint32_t each: read this memory; 0: the array */
    uint64_t count;     /* elements; below 2^32 for the random reads */
    uint64_t sum;       /* uint64_t */
};

/* array_read_lfvector, array_read_subarrays, and with _random: the same for other layouts. */
struct array_read_kinds_arguments {
    struct lfvector buckets; /* of uint32_t */
    struct subarrays blocks; /* of uint32_t, with their index */
    uint64_t count, sum;
};

/* The element of random read number i. */
DEVICE uint64_t array_read_index(uint64_t i, uint64_t count)
{
    uint32_t x = (uint32_t)i * 2654435761u;
    x ^= x >> 15;
    x *= 2246822519u;
    x ^= x >> 13;
    return x * count >> 32;
}
