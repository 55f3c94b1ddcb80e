/* The paper's task with LFVector and with sub-arrays: see array_kinds.cu. */
#pragma once

#include "lab/published/kernels/array_storage.h"

/* lfvector_push_all: as published, one atomic per element, any grid. lfvector_push_tiles: the
 * kernel of our own array, one atomic per tile, any number of blocks of ARRAY_FILTER_THREADS. Both
 * keep the numbers below a bound. */
struct lfvector_filter_arguments {
    uint64_t from; /* uint32_t each, 16-byte aligned */
    uint64_t count;
    struct lfvector out; /* of uint32_t */
    uint32_t below;
};

/* subarrays_push_tiles: the same; at most out.blocks blocks of ARRAY_FILTER_THREADS. */
struct subarrays_filter_arguments {
    uint64_t from;
    uint64_t count;
    struct subarrays out; /* of uint32_t */
    uint32_t below;
};

/* subarrays_index: counts the elements before each sub-array. One block of
 * SUBARRAYS_INDEX_THREADS. */
#define SUBARRAYS_INDEX_THREADS 256u
struct subarrays_index_arguments {
    struct subarrays of;
};

/* lfvector_flatten, subarrays_flatten: copy elements first .. first + count - 1 to contiguous
 * memory. Any grid. */
struct lfvector_flatten_arguments {
    struct lfvector from;
    uint64_t to, first, count;
};

struct subarrays_flatten_arguments {
    struct subarrays from; /* with its index */
    uint64_t to, first, count;
};
