/*
 * Bit matrices of blocks that are stored only where they are not empty: what the host and the
 * device share (blocks.h has what kernels do with them, foundation/gpu/blocks.h what the host
 * does).
 *
 * Everything is made of pages of 2^shift words of 32 bits, from one pool. A *block* is a page of
 * bits: a piece of one row. A *directory* is a page of links to the blocks of 2^shift neighbouring
 * pieces. The tops, a plain vector, have a link to every directory. On a GPU a page has 32 words:
 * a block is 1024 bits, a line of the cache; a directory covers 32768 columns; the tops take a
 * thousandth of what the whole matrix would.
 *
 * A link is the number of a page; 0 is no page: everything there is zero. A page that is linked has
 * something in it, but for a moment. Pages that nobody has are zero.
 */
#pragma once

#include <stdint.h>

#define BLOCKS_NO_BIT 0xffffffffu

/*
 * Who has which page, in device memory. Any number of threads take pages and give them back at
 * once, each with one atomic, because these never meet: within a stretch (between two calls of
 * blocks_settle, which one thread makes while nobody takes or gives) pages are taken from one list
 * and then from those never used, and given back to the other list.
 */
struct block_pool {
    uint64_t lists[2]; /* uint32_t: numbers of pages */
    uint32_t turn;     /* the list that is taken from */
    uint32_t listed;   /* pages in it when the stretch began */
    uint32_t fresh;    /* the first page never used, likewise */
    uint32_t limit;    /* pages that have memory: the host's to change, between kernels */
    uint32_t again;    /* the host's word to a service: do the last step again */
    uint32_t padding[23];
    uint32_t taken; /* in this stretch, or asked for in vain */
    uint32_t padding_too[31];
    uint32_t given; /* pages in the other list */
    uint32_t padding_three[31];
    uint32_t refused; /* pages that were not to be had since the host last looked */
};

#ifdef __CUDACC__
#define BLOCK_POOL_FUNCTION static __device__ inline
#else
#define BLOCK_POOL_FUNCTION static inline
#endif

/* Begins another stretch. (The host does it, too.) */
BLOCK_POOL_FUNCTION void block_pool_settle(struct block_pool *pool)
{
    uint32_t taken = pool->taken, listed = pool->listed, given = pool->given;
    uint32_t fresh = pool->fresh, limit = pool->limit, turn = pool->turn;
    if (taken > listed) { /* what was asked for in vain counts for nothing */
        uint32_t more = taken - listed;
        pool->fresh = more < limit - fresh ? fresh + more : limit;
    }
    listed = taken < listed ? listed - taken : 0;
    pool->taken = 0;
    /* The longer list is for taking: half of what is to be had again at least. */
    pool->turn = given > listed ? 1 - turn : turn;
    pool->listed = given > listed ? given : listed;
    pool->given = given > listed ? listed : given;
}

/* In the arguments of kernels. */
struct block_store {
    uint64_t pool;  /* struct block_pool */
    uint64_t pages; /* page 0, which nobody has */
    uint64_t alarm; /* uint32_t in memory of the host's: set when a page is refused */
    uint32_t shift;
    uint32_t reserved;
};

struct block_matrix {
    uint64_t tops; /* uint32_t: link t of row r at t * rows + r */
    uint32_t rows; /* there is room for */
    uint32_t top_count;
};
