/*
 * A growable array as it lies on the device: what host (array.h) and kernels (kernels/array.h)
 * share. docs/garray.md tells how it works.
 *
 * Positions are given out by one counter that only grows: what it was before an addition is the
 * first position of whoever added. Positions below `limit` have memory; the others are refused.
 * So the elements stored are min(count, limit), without a hole, and max(count - limit, 0) did not
 * fit: exact, however many kernels push.
 *
 * Flat: one address range. The limit grows only as the host maps memory, and the first thread
 * that finds it too low closes it: from then on nobody gets more, until the host has settled.
 *
 * Chunked: pages of a power of two of elements, each a chunk of a pool that several arrays may
 * share. Pages are installed in order by whoever needs one, so the limit is the number of
 * those there times their size. A chunk belongs to a page from the moment that its owner, the
 * address of that page's entry, is written; whoever comes by completes what others have begun.
 * Chunks are not given back while kernels run: a pool found empty stays empty, so all
 * who find it so agree on where the array ends.
 */
#ifndef GORDIAN_GPU_KERNELS_ARRAY_LAYOUT_H
#define GORDIAN_GPU_KERNELS_ARRAY_LAYOUT_H

#include <stdint.h>

#define GARRAY_CLOSED   (UINT64_C(1) << 63) /* in the limit: it grows no more */
#define GARRAY_FINISHED UINT32_MAX          /* the mark of a job whose outputs are all stored */

/* In device memory. The counter has a cache line of its own. */
struct garray_control {
    uint64_t count; /* positions given out */
    uint64_t unused[15];
    uint64_t limit;   /* positions with memory, and GARRAY_CLOSED */
    uint64_t refused; /* before the last clearing on the device */
};

/* In mapped host memory: flat arrays that the host grows while a kernel runs. */
struct garray_desk {
    uint64_t granted; /* by the host: positions with memory */
    uint64_t unused[15];
    uint64_t wanted; /* by the device: how far it had come */
};

/* In device memory. Constant while kernels run, but for `next` and the owners. */
struct garray_pool {
    uint64_t next; /* chunks taken so far are order[0] .. order[next - 1] */
    uint64_t unused[15];
    uint64_t chunks; /* that there are */
    uint64_t chunk_bytes;
    uint64_t base;   /* chunk 0 */
    uint64_t order;  /* uint32_t each: chunks in the order in which they are taken */
    uint64_t owners; /* uint64_t each, in that order: the address of the page's entry; 0: free */
};

/* The array, by value in a kernel's argument struct. */
struct garray {
    uint64_t control; /* struct garray_control */
    uint64_t base;    /* flat: element 0; chunked: 0 */
    uint64_t pages;   /* chunked: uint64_t each, the page's address, 0: none yet */
    uint64_t pool;    /* chunked: struct garray_pool */
    uint64_t desk;    /* flat: struct garray_desk, 0: the host does not grow it meanwhile */
    uint64_t most;    /* elements it can ever hold */
    uint32_t shift;   /* a page has 1 << shift elements; flat: whoever enters one sees the desk */
    uint32_t element; /* bytes */
    uint32_t ahead;   /* whoever enters a page installs that many further ones */
    uint32_t unused;
};

#endif
