/*
 * Chains of simulated annealing (foundation/gpu/kernels/makespan/makespan_chain.h), one for each
 * warp: arguments of makespan_chains.cu.
 *
 * A chain's *place* is one piece of memory, in shared memory during a launch if it fits:
 *   order       `work` entries, sorted by cycle unless as published
 *   begins      a bit for each entry: the first of its cycle
 *   progress    for every 32nd entry, how many instructions each warp has before it (uint16_t)
 *   candidate   the window of the candidate
 *   sorted      for sorting
 *   ranks       of the candidate's entries within their cycles
 *   cycles      of the candidate's entries (uint16_t)
 *   cells       one for every cycle
 *   warp_words  one for every warp: instructions done << 16 | the cycle in which it may go on
 *   type_words  one for every type: no cycle before this one has any left
 * The first three are kept between launches.
 *
 * A cell has the remaining capacity of a cycle: a field for every type, and one for the schedulers
 * if they limit it. A field counts up until its top bit is set when nothing is left. Above the
 * fields is the number of entries.
 */
#pragma once

#include <stdint.h>

#define CHAINS_TYPES   26u
#define CHAINS_THREADS 256u /* of a block at most */
#define CHAINS_BLOCKS  5u   /* of that many threads; a multiprocessor has registers for them */
#define CHAINS_STRIDE  32u  /* entries from one record of the progress to the next */

/* Bits of a cell's fields, by the size of the cell; the rest counts entries. */
#define CHAINS_FIELDS4 20u
#define CHAINS_FIELDS8 48u

/* State of a chain that is kept between launches, in addition to its place. */
struct chains_head {
    uint64_t random;
    uint64_t step;
    uint32_t start; /* chain_start */
    uint32_t value; /* of the order */
    uint32_t best;  /* so far */
    uint32_t unused;
};

struct chains_type {
    uint64_t add;  /* to a cell, for one instruction */
    uint64_t full; /* a bit of these in a cell: no more of this type */
};

/* makespan_chains: `steps` more evaluations of each chain; makespan_chains_shared: the same with
 * the places in dynamic shared memory, a block's number of warps times `stride`. */
struct chains_arguments {
    struct chains_type types[CHAINS_TYPES];
    uint64_t empty;  /* a cell */
    uint64_t heads;  /* struct chains_head */
    uint64_t places; /* `stride` bytes each */
    uint64_t best;   /* uint8_t: the best orders, `best_stride` bytes each */
    uint64_t string; /* uint8_t: the type of each instruction */
    uint64_t evaluations, steps;
    uint64_t stride, best_stride; /* multiples of 8 */
    /* Offsets into a place; the order is at 0. */
    uint32_t begins, progress, candidate, sorted, ranks, cycles, cells, warp_words, type_words;
    uint32_t lasting; /* bytes that are kept between launches */
    uint32_t chains;
    uint32_t warps, length, work, type_count;
    uint32_t wide;    /* cells have eight bytes, not four */
    uint32_t horizon; /* cells */
    uint32_t published, least;
};
