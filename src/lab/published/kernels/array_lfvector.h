/*
 * LFVector in kernels: an atomic addition gives the position, its highest bit gives the bucket,
 * and a
 * thread that finds the bucket missing installs it.
 *
 * Corrected, so that any grid may push. As published, each thread that finds a bucket missing
 * allocates
 * one, and frees it if another thread's came first: thousands of threads do so at once and exhaust
 * the
 * device's heap. Or one thread allocates and the others wait, and hang if it is not scheduled.
 * Here
 * the memory is preallocated in pieces. A thread takes a piece by writing its owner with
 * compare-and-swap; any thread that comes by completes what the owner began. So each bucket gets
 * exactly one piece, none is lost, and no thread waits. Buckets of a vector are installed in
 * order. A
 * heap that is too small for a bucket stays too small: all refused elements are refused from the
 * same
 * position on.
 */
#pragma once

#include "foundation/gpu/kernels/array/array.h"
#include "lab/published/kernels/array_buckets.h"
#include "lab/published/kernels/array_storage.h"

#define LFVECTOR_CONTROL(vector) GPU_POINTER(struct lfvector_control, (vector)->control)

/* Gives piece number n to its owner's bucket; idempotent. */
DEVICE uint64_t lfvector_complete(struct lfvector_heap *heap, uint64_t n, uint64_t owner)
{
    struct lfvector_bucket *bucket = GPU_POINTER(struct lfvector_bucket, owner);
    uint64_t *starts = GPU_POINTER(uint64_t, heap->starts);
    uint64_t start = load_acquire64(&starts[n]);
    atomic_compare_exchange64(&bucket->at, 0, heap->base + start);
    atomic_exchange64(&starts[n + 1], start + bucket->bytes);
    fence_device();
    atomic_compare_exchange64(&heap->next, n, n + 1);
    return heap->base + start;
}

/* Returns the address of a bucket, and installs it if it is missing; 0: there is no memory for it
 * and never will be. All buckets before it are installed. */
DEVICE_APART uint64_t lfvector_install(const struct lfvector *vector, uint32_t number)
{
    struct lfvector_heap *heap = GPU_POINTER(struct lfvector_heap, vector->heap);
    struct lfvector_bucket *bucket = &LFVECTOR_CONTROL(vector)->buckets[number];
    const uint64_t mine = (uint64_t)(uintptr_t)bucket;
    for (;;) {
        uint64_t n = load_acquire64(&heap->next), at = load_acquire64(&bucket->at);
        if (at || n >= heap->most)
            return at;
        if (load_acquire64(GPU_POINTER(uint64_t, heap->starts) + n) + bucket->bytes > heap->bytes)
            return 0;
        uint64_t owner =
            atomic_compare_exchange64(GPU_POINTER(uint64_t, heap->owners) + n, 0, mine);
        at = lfvector_complete(heap, n, owner ? owner : mine);
        if (!owner)
            return at;
    }
}

/* Installs the buckets up to this one; returns how many are installed. */
DEVICE_APART uint32_t lfvector_grow(const struct lfvector *vector, uint32_t number)
{
    uint32_t there = 0;
    while (there <= number && there < LFVECTOR_BUCKETS && lfvector_install(vector, there))
        there++;
    return there;
}

/* ---- pushing */

/* As published: one atomic per element. NULL: no memory; the element is counted as refused. */
DEVICE void *lfvector_push(const struct lfvector *vector)
{
    uint64_t inside, index = atomic_add64(&LFVECTOR_CONTROL(vector)->count, 1);
    uint32_t number = buckets_find(index, vector->shift, &inside);
    if (number >= LFVECTOR_BUCKETS)
        return NULL;
    uint64_t *entry = &LFVECTOR_CONTROL(vector)->buckets[number].at;
    uint64_t at = load_acquire64(entry);
    if (!at && lfvector_grow(vector, number) > number)
        at = load_acquire64(entry);
    return at ? GPU_POINTER(char, at) + inside * vector->element : NULL;
}

/* Reserves n contiguous places, or as many as are left. (Like our array's; not published.) */
DEVICE struct garray_range lfvector_reserve(const struct lfvector *vector, uint64_t n)
{
    struct lfvector_control *control = LFVECTOR_CONTROL(vector);
    struct garray_range range;
    uint64_t inside;
    range.first = range.count = 0;
    if (n == 0)
        return range;
    range.first = atomic_add64(&control->count, n);
    range.count = n;
    uint32_t last = buckets_find(range.first + n - 1, vector->shift, &inside);
    if (last < LFVECTOR_BUCKETS && load_acquire64(&control->buckets[last].at))
        return range;
    uint64_t limit = buckets_elements(lfvector_grow(vector, last), vector->shift);
    if (limit < range.first + n)
        range.count = limit > range.first ? limit - range.first : 0;
    return range;
}

/* ---- places */

/* Returns a place that this thread reserved, or another thread before a barrier with this one, and
 * how many follow it contiguously. */
DEVICE struct garray_span lfvector_span(const struct lfvector *vector, uint64_t i)
{
    uint64_t inside;
    uint32_t number = buckets_find(i, vector->shift, &inside);
    struct garray_span span;
    uint64_t at = LFVECTOR_CONTROL(vector)->buckets[number].at;
    span.at = GPU_POINTER(char, at) + inside * vector->element;
    span.left = (UINT64_C(1) << (number + vector->shift)) - inside;
    return span;
}

/* The element must have been stored by an earlier kernel. */
DEVICE const void *lfvector_at(const struct lfvector *vector, uint64_t i)
{
    return lfvector_span(vector, i).at;
}
