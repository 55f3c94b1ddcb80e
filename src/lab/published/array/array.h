/*
 * Growable arrays with other layouts than ours, behind an interface like ours
 * (foundation/gpu/array/array.h): LFVector with doubling buckets, and sub-arrays, one per block.
 * kernels/array_storage.h describes both. Kernels push with kernels/array_lfvector.h and
 * kernels/array_subarrays.h.
 *
 * The buckets come from the heap, memory that is set aside beforehand. Elements that do not fit
 * are
 * refused and counted. Call these functions only while no kernel uses the array. Each call may
 * fail
 * as described in foundation/gpu/gpu.h; then it has no visible effect.
 */
#pragma once

#include "foundation/gpu/array/array.h"
#include "lab/published/kernels/array_storage.h"

struct published_array;

enum published_array_kind {
    PUBLISHED_ARRAY_LFVECTOR,
    PUBLISHED_ARRAY_SUBARRAYS,
};

struct published_array_options {
    enum published_array_kind kind;
    uint32_t element;    /* bytes, at least 1 */
    uint64_t heap_bytes; /* initial memory */
    uint64_t heap_most;  /* maximum memory, at least heap_bytes */
    uint32_t blocks;     /* sub-arrays: as many as blocks that push */
    /* LFVector: allocates its buckets from this array's heap, which must outlive it; NULL: has its
     * own heap. */
    struct published_array *heap_of;
};

/* On failure *out is NULL. */
gordian_status published_array_create(struct published_array **out, struct gpu *gpu,
                                      const struct published_array_options *options,
                                      gordian_error *error);
/* NULL is fine. */
void published_array_destroy(struct published_array *array);

/* Bytes that suffice for this many elements, however they are distributed. */
uint64_t published_array_needs(const struct published_array_options *options, uint64_t elements);

/* Kernel arguments for the array's kind. */
struct lfvector published_array_lfvector(const struct published_array *array);
struct subarrays published_array_subarrays(const struct published_array *array);
/* Sub-arrays: the launch that builds the index, to time it separately; the other calls launch it
 * themselves. Fills in `arguments` (struct subarrays_index_arguments), which must stay valid. */
struct subarrays_index_arguments;
struct gpu_launch published_array_index(const struct published_array *array,
                                        struct subarrays_index_arguments *arguments);

/* Grows the heap to at least this many bytes; on GORDIAN_STATUS_MEMORY it is unchanged. (Present
 * because our array's interface has it.) */
gordian_status published_array_reserve(struct published_array *array, uint64_t heap_bytes,
                                       gordian_error *error);
/* Returns the number of elements, and the number of elements that did not fit since the last call.
 */
gordian_status published_array_settle(struct published_array *array, struct gpu_array_count *count,
                                      gordian_error *error);
/* Removes all elements. Also frees the buckets if no other array uses the heap. */
gordian_status published_array_clear(struct published_array *array, gordian_error *error);
/* Copies elements first .. first + count - 1 to contiguous device memory, or to the host (only for
 * tests). GORDIAN_STATUS_INPUT: the array has fewer elements. */
gordian_status published_array_flatten(struct published_array *array, gpu_address to,
                                       uint64_t first, uint64_t count, gordian_error *error);
gordian_status published_array_read(struct published_array *array, void *to, uint64_t first,
                                    uint64_t count, gordian_error *error);
