/*
 * A growable array laid out in other ways than ours, behind functions like ours
 * (foundation/gpu/array/array.h): LFVector's doubling buckets, and sub-arrays, one a block
 * (kernels/array_storage.h tells of both). Kernels push with kernels/array_lfvector.h and
 * kernels/array_subarrays.h.
 *
 * The buckets come from memory set aside beforehand, the heap; what it has no room for is refused
 * and counted. Calls come while no kernel uses the array; each may fail as foundation/gpu/gpu.h
 * says and then has changed nothing that can be seen.
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
    uint64_t heap_bytes; /* memory from the start */
    uint64_t heap_most;  /* memory that there may ever be, at least that */
    uint32_t blocks;     /* sub-arrays: as many as there are blocks that push */
    /* LFVector: takes its buckets from this one's heap, which outlives it; NULL: has its own. */
    struct published_array *heap_of;
};

/* On failure *out is NULL. */
gordian_status published_array_create(struct published_array **out, struct gpu *gpu,
                                      const struct published_array_options *options,
                                      gordian_error *error);
/* NULL is fine. */
void published_array_destroy(struct published_array *array);

/* Bytes that are enough for so many elements, however they are dealt out. */
uint64_t published_array_needs(const struct published_array_options *options, uint64_t elements);

/* What kernels get: of the array's kind. */
struct lfvector published_array_lfvector(const struct published_array *array);
struct subarrays published_array_subarrays(const struct published_array *array);
/* Sub-arrays: the launch that makes the index, for those who time it; the other calls make it
 * themselves. `arguments` (struct subarrays_index_arguments) is filled in and must stay. */
struct subarrays_index_arguments;
struct gpu_launch published_array_index(const struct published_array *array,
                                        struct subarrays_index_arguments *arguments);

/* A heap of at least so many bytes; GORDIAN_STATUS_MEMORY: as before. (Part of the interface, as
 * ours has it.) */
gordian_status published_array_reserve(struct published_array *array, uint64_t heap_bytes,
                                       gordian_error *error);
/* What there is, and what did not fit since this was asked last. */
gordian_status published_array_settle(struct published_array *array, struct gpu_array_count *count,
                                      gordian_error *error);
/* No elements; and no buckets, if the heap is its own and nobody else's. */
gordian_status published_array_clear(struct published_array *array, gordian_error *error);
/* Elements first .. first + count - 1 to device memory in one piece, or to the host.
 * GORDIAN_STATUS_INPUT: there are not that many. (The latter for tests.) */
gordian_status published_array_flatten(struct published_array *array, gpu_address to,
                                       uint64_t first, uint64_t count, gordian_error *error);
gordian_status published_array_read(struct published_array *array, void *to, uint64_t first,
                                    uint64_t count, gordian_error *error);
