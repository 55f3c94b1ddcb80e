/*
 * Two other layouts of a growable array, besides our pages, as shared by host and kernels.
 *
 * LFVector: buckets that double in size, so the table of buckets is short and the size need not be
 * known in advance. By Dechev; Meneses ported it to the GPU (array_lfvector.h).
 *
 * Sub-arrays: each block of threads grows a vector of its own, independently of other blocks. An
 * index
 * over all of them makes one array. Meneses proposes this as future work (array_subarrays.h).
 */
#pragma once

#include <stdint.h>

#define LFVECTOR_SHIFT    5u /* the first bucket has 32 elements, as published */
#define LFVECTOR_BUCKETS  40u
#define SUBARRAYS_SHIFT   10u
#define SUBARRAYS_BUCKETS 32u

/* ---- LFVector */

struct lfvector_bucket {
    uint64_t at;    /* its address; 0: missing */
    uint64_t bytes; /* its size, even while it is missing */
};

/* In device memory. The counter has its own cache line. */
struct lfvector_control {
    uint64_t count; /* reserved positions */
    uint64_t unused[15];
    struct lfvector_bucket buckets[LFVECTOR_BUCKETS];
};

/* In device memory: provides the buckets of one or several vectors. Piece number n belongs to the
 * bucket at owners[n] and starts at starts[n]. */
struct lfvector_heap {
    uint64_t next; /* pieces handed out */
    uint64_t unused[15];
    uint64_t base;   /* start of the memory */
    uint64_t bytes;  /* size of the memory */
    uint64_t owners; /* uint64_t each: addresses of struct lfvector_bucket; 0: free */
    uint64_t starts; /* uint64_t each, relative to `base` */
    uint64_t most;   /* capacity of the tables */
};

/* Passed by value in a kernel's arguments. */
struct lfvector {
    uint64_t control, heap;
    uint32_t element; /* bytes */
    uint32_t shift;   /* the first bucket has 1 << shift elements */
};

/* ---- sub-arrays */

/* In device memory, one per block. */
struct subarray {
    uint64_t count;   /* elements */
    uint64_t refused; /* elements that did not fit */
    uint64_t bucket_count;
    uint64_t buckets[SUBARRAYS_BUCKETS];
};

/* In device memory. */
struct subarrays_heap {
    uint64_t used; /* allocated bytes */
    uint64_t base, bytes;
};

/* Passed by value in a kernel's arguments. */
struct subarrays {
    uint64_t arrays; /* of struct subarray */
    uint64_t heap;   /* struct subarrays_heap */
    uint64_t starts; /* uint64_t each, one more than sub-arrays: the number of elements in the
                        sub-arrays before */
    uint32_t blocks; /* sub-arrays: the number of blocks that may push */
    uint32_t element;
    uint32_t shift; /* the first bucket of each has 1 << shift elements */
    uint32_t unused;
};
