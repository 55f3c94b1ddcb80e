/*
 * Chains of simulated annealing (foundation/gpu/kernels/makespan/makespan_chain.h), a warp each:
 * what makespan_chains.cu takes.
 *
 * A chain's *place* is one piece of memory, in shared memory while a launch lasts where that has
 * room:
 *   order       `work` entries, sorted by cycle unless as published
 *   begins      a bit an entry: the first of its cycle
 *   progress    for every 32nd entry, how many instructions each warp has before it (uint16_t)
 *   candidate   the window of the candidate
 *   sorted      for sorting
 *   ranks       of the candidate's entries within their cycles
 *   cycles      of the candidate's entries (uint16_t)
 *   cells       one for every cycle
 *   warp_words  one for every warp: instructions done << 16 | the cycle it may go on in
 *   type_words  one for every type: no cycle before this one has any left
 * The first three outlast a launch.
 *
 * A cell tells what a cycle has left: a field for every type, and one for the schedulers if they
 * bind, which counts up to where its top bit is set when nothing is left; above them how many
 * entries it has.
 */
#pragma once

#include <stdint.h>

#define CHAINS_TYPES   26u
#define CHAINS_THREADS 256u /* of a block at most */
#define CHAINS_BLOCKS  5u   /* of so many threads, that a multiprocessor has registers for */
#define CHAINS_STRIDE  32u  /* entries from one record of the progress to the next */

/* Bits of a cell's fields, by its size; the rest counts entries. */
#define CHAINS_FIELDS4 20u
#define CHAINS_FIELDS8 48u

/* What outlasts a launch, beside the place. */
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
    uint64_t full; /* a bit of these in a cell: none more of this type */
};

/* makespan_chains: `steps` evaluations more of each chain; makespan_chains_shared: the same with
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
    uint32_t lasting; /* bytes that outlast a launch */
    uint32_t chains;
    uint32_t warps, length, work, type_count;
    uint32_t wide;    /* cells have eight bytes, not four */
    uint32_t horizon; /* cells */
    uint32_t published, least;
};
