/*
 * Sparse bit matrices of blocks that are stored only where they are not empty: the layout that the
 * host and the device share (blocks.h has the operations of kernels, foundation/gpu/blocks.h those
 * of the host).
 *
 * Everything consists of pages of 2^shift words of 32 bits, from one memory pool. A *block* is a
 * page of bits: a piece of one row. A *directory* is a page of links to the blocks of 2^shift
 * adjacent pieces. The tops, a plain vector, have a link to every directory. On a GPU a page has 32
 * words: a block is 1024 bits, a cache line; a directory covers 32768 columns; the tops take a
 * thousandth of what the whole matrix would.
 *
 * A link is the number of a page; 0 means that everything there is zero. A linked page is not
 * empty, except for a moment. Free pages are zero.
 */
#pragma once

#include <stdint.h>

#define BLOCKS_NO_BIT 0xffffffffu

/*
 * The allocator of pages, in device memory. Any number of threads take and release pages at the
 * same time, each with one atomic. This is safe because the two never meet: within a period
 * (between two calls of blocks_settle, by one thread while no other takes or releases) pages are
 * taken from one list and then from those never used, and released to the other list.
 */
struct block_pool {
    uint64_t lists[2]; /* uint32_t: numbers of pages */
    uint32_t turn;     /* the list that pages are taken from */
    uint32_t listed;   /* pages in it when the period began */
    uint32_t fresh;    /* the first page never used, likewise */
    uint32_t limit;    /* pages with memory; the host changes it between kernels */
    uint32_t again;    /* set by the host for a service: repeat the last step */
    uint32_t padding[23];
    uint32_t taken; /* in this period, including failed attempts */
    uint32_t padding_too[31];
    uint32_t given; /* pages in the other list */
    uint32_t padding_three[31];
    uint32_t refused; /* failed attempts since the host last checked */
};

#ifdef __CUDACC__
#define BLOCK_POOL_FUNCTION static __device__ inline
#else
#define BLOCK_POOL_FUNCTION static inline
#endif

/* Begins another period. The host calls it as well. */
BLOCK_POOL_FUNCTION void block_pool_settle(struct block_pool *pool)
{
    uint32_t taken = pool->taken, listed = pool->listed, given = pool->given;
    uint32_t fresh = pool->fresh, limit = pool->limit, turn = pool->turn;
    if (taken > listed) { /* failed attempts do not count */
        uint32_t more = taken - listed;
        pool->fresh = more < limit - fresh ? fresh + more : limit;
    }
    listed = taken < listed ? listed - taken : 0;
    pool->taken = 0;
    /* Take from the longer list: at least half of the available pages. */
    pool->turn = given > listed ? 1 - turn : turn;
    pool->listed = given > listed ? given : listed;
    pool->given = given > listed ? listed : given;
}

/* In the arguments of kernels. */
struct block_store {
    uint64_t pool;  /* struct block_pool */
    uint64_t pages; /* page 0, which is never used */
    uint64_t alarm; /* uint32_t in host memory: set when an attempt fails */
    uint32_t shift;
    uint32_t reserved;
};

struct block_matrix {
    uint64_t tops; /* uint32_t: link t of row r at t * rows + r */
    uint32_t rows; /* capacity */
    uint32_t top_count;
};
