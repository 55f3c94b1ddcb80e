/*
 * Two other ways to lay a growable array out, beside our pages, as host and kernels share them.
 *
 * LFVector: buckets, each twice as large as the one before, so that the table of buckets is short
 * and its size never has to be known. Dechev's, as Meneses brought it to the GPU
 * (array_lfvector.h).
 *
 * Sub-arrays: every block of threads has a vector of its own, which it grows without asking anybody
 * else, and an index over all of them makes one array of it: what Meneses proposes to do next
 * (array_subarrays.h).
 */
#pragma once

#include <stdint.h>

#define LFVECTOR_SHIFT    5u /* the first bucket has 32 elements, as published */
#define LFVECTOR_BUCKETS  40u
#define SUBARRAYS_SHIFT   10u
#define SUBARRAYS_BUCKETS 32u

/* ---- LFVector */

struct lfvector_bucket {
    uint64_t at;    /* its address; 0: it is not there */
    uint64_t bytes; /* of it, whether it is there or not */
};

/* In device memory. The counter has a cache line of its own. */
struct lfvector_control {
    uint64_t count; /* positions given out */
    uint64_t unused[15];
    struct lfvector_bucket buckets[LFVECTOR_BUCKETS];
};

/* In device memory: where buckets of one vector or of several come from. Piece number n belongs to
 * the bucket at owners[n] and starts at starts[n]. */
struct lfvector_heap {
    uint64_t next; /* pieces given out */
    uint64_t unused[15];
    uint64_t base;   /* of the memory */
    uint64_t bytes;  /* of it */
    uint64_t owners; /* uint64_t each: addresses of struct lfvector_bucket; 0: free */
    uint64_t starts; /* uint64_t each, from `base` */
    uint64_t most;   /* pieces that the tables have room for */
};

/* By value in a kernel's argument struct. */
struct lfvector {
    uint64_t control, heap;
    uint32_t element; /* bytes */
    uint32_t shift;   /* the first bucket has 1 << shift elements */
};

/* ---- sub-arrays */

/* In device memory, one a block. */
struct subarray {
    uint64_t count;   /* elements */
    uint64_t refused; /* that there was no memory for */
    uint64_t bucket_count;
    uint64_t buckets[SUBARRAYS_BUCKETS];
};

/* In device memory. */
struct subarrays_heap {
    uint64_t used; /* bytes given out */
    uint64_t base, bytes;
};

/* By value in a kernel's argument struct. */
struct subarrays {
    uint64_t arrays; /* struct subarray each */
    uint64_t heap;   /* struct subarrays_heap */
    uint64_t starts; /* uint64_t each and one more: the elements of the sub-arrays before */
    uint32_t blocks; /* sub-arrays: as many blocks as may push */
    uint32_t element;
    uint32_t shift; /* the first bucket of each has 1 << shift elements */
    uint32_t unused;
};
