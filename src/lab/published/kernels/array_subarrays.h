/*
 * Sub-arrays in kernels: each block pushes to its own vector, so a position needs no atomic. The
 * other
 * threads wait for the growing thread at a barrier of the block, which is always reached. Only the
 * heap is shared. Afterwards the kernel subarrays_index counts the elements before each sub-array;
 * a
 * search in this index finds element i.
 *
 * At most as many blocks as there are sub-arrays, one kernel at a time.
 */
#pragma once

#include "foundation/gpu/kernels/array/array.h"
#include "lab/published/kernels/array_buckets.h"
#include "lab/published/kernels/array_storage.h"

DEVICE struct subarray *subarrays_mine(const struct subarrays *arrays)
{
    return GPU_POINTER(struct subarray, arrays->arrays) + BLOCK_INDEX;
}

/* Allocates memory; 0: not enough left. */
DEVICE uint64_t subarrays_take(const struct subarrays *arrays, uint64_t bytes)
{
    struct subarrays_heap *heap = GPU_POINTER(struct subarrays_heap, arrays->heap);
    uint64_t used = load_acquire64(&heap->used);
    while (bytes <= heap->bytes - used) {
        uint64_t before = atomic_compare_exchange64(&heap->used, used, used + bytes);
        if (before == used)
            return heap->base + used;
        used = before;
    }
    return 0;
}

/* Reserves n places in the block's vector, or as many as are left. One thread of the block calls
 * it; the others use the places after a barrier. */
DEVICE struct garray_range subarrays_reserve(const struct subarrays *arrays, uint64_t n)
{
    struct subarray *mine = subarrays_mine(arrays);
    struct garray_range range;
    uint64_t there = buckets_elements((uint32_t)mine->bucket_count, arrays->shift);
    while (there < mine->count + n && mine->bucket_count < SUBARRAYS_BUCKETS) {
        uint64_t elements = UINT64_C(1) << (arrays->shift + mine->bucket_count);
        uint64_t at = subarrays_take(arrays, elements * arrays->element);
        if (!at)
            break;
        mine->buckets[mine->bucket_count++] = at;
        there += elements;
    }
    range.first = mine->count;
    range.count = there - mine->count < n ? there - mine->count : n;
    mine->count += range.count;
    mine->refused += n - range.count;
    return range;
}

/* ---- places */

/* Returns element i of a sub-array, and how many follow it contiguously. */
DEVICE struct garray_span subarrays_span(const struct subarrays *arrays,
                                         const struct subarray *array, uint64_t i)
{
    uint64_t inside;
    uint32_t number = buckets_find(i, arrays->shift, &inside);
    struct garray_span span;
    span.at = GPU_POINTER(char, array->buckets[number]) + inside * arrays->element;
    span.left = (UINT64_C(1) << (number + arrays->shift)) - inside;
    return span;
}

/* Returns element i of the whole array, by its index: it is in the last sub-array that starts at or
 * before i. */
DEVICE const void *subarrays_at(const struct subarrays *arrays, uint64_t i)
{
    const uint64_t *starts = GPU_POINTER(const uint64_t, arrays->starts);
    uint32_t low = 0, high = arrays->blocks;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (starts[middle] <= i)
            low = middle;
        else
            high = middle;
    }
    const struct subarray *array = GPU_POINTER(const struct subarray, arrays->arrays) + low;
    return subarrays_span(arrays, array, i - starts[low]).at;
}
