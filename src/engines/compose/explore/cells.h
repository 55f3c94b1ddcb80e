/*
 * Sets of packed states as words of 64 neighbours (space.h), for state space exploration: cells in
 * a hash table, and a queue of the cells with states that have not fired yet.
 *
 * Each thread (cpu/cells.c) or rank (mpi/) owns a part of the words, and only the owner accesses
 * them. The number of a word determines its owner. States found for another owner go into the box
 * of that owner, as pairs of a word and its states. A full box is handed on by the finder and
 * entered by the owner.
 *
 * Three things make it fast:
 * - Firings that stay within a word are followed until nothing new is found, before others are
 *   tried.
 * - Words fire in the order of discovery, which is the order of the list. The longer a word waits,
 *   the more of its states fire at once, and few words have to fire again.
 * - Pairs are entered in batches, so that the cells of some are prefetched while others are
 *   processed.
 */
#pragma once

#include "engines/compose/explore/packed.h"
#include "engines/compose/explore/space.h"
#include "foundation/base/hash.h"

/* States found in a word. */
struct cell_pair {
    uint64_t word, states;
};

/* The firings as transformations of words. Constant during the exploration. */
struct cells_rules {
    /* Firings that stay within the word, and firings that lead to another word. */
    struct compose_word_firing *inner, *outer;
    uint32_t inner_count, outer_count;
    uint32_t owners;
};

/* Opens an empty set of rules with capacity for `count`. False: out of memory. */
bool cells_rules_open(struct cells_rules *rules, uint32_t count, uint32_t owners,
                      const gordian_allocator *memory);
void cells_rules_close(struct cells_rules *rules, const gordian_allocator *memory);
/* Adds a firing; uses its mask, value and flip. */
void cells_rules_add(struct cells_rules *rules, const struct compose_firing *firing);

static inline uint32_t cells_owner(const struct cells_rules *rules, uint64_t word)
{
    /* Uses other bits than the position in the owner's table. */
    return (uint32_t)((word * HASH_MULTIPLIER_2 >> 32) * rules->owners >> 32);
}

/* The pairs found for one owner. */
struct cells_box {
    struct cell_pair *pairs;
    uint32_t count, room;
    uint32_t sifted; /* the first pairs, which have passed the sieve already */
};

#define CELLS_SIEVE 4096u /* entries of a sieve; a power of two */

/* Removes states from the box that passed the sieve recently. A sieve is all zero at first. */
void cells_sift(struct cell_pair *sieve, struct cells_box *box);

/* The states of an owner. */
struct cells {
    gordian_allocator memory;
    struct cell *list;
    uint32_t count, room;
    struct hash table; /* of cells by word */
    uint32_t next;     /* the first cell that has never fired */
    uint32_t *again;   /* cells before it that have to fire again */
    size_t again_first, again_last, again_room;
    uint64_t states;
    bool no_memory;
    /* If not NULL: called with new states; returns the states that are admitted. */
    uint64_t (*admit)(void *context, uint64_t states);
    void *context;
    uint64_t stuck;          /* deadlocks; every state fires once */
    uint64_t stuck_state;    /* the first deadlock */
    uint64_t fired, entered; /* cells that fired, pairs that were entered */
};

void cells_close(struct cells *cells);
/* Frees everything except the list, when no more states will come. */
void cells_settle(struct cells *cells);
uint64_t cells_bytes(const struct cells *cells); /* Bytes of memory. */

/* Enters states that belong to this owner; the new ones wait to fire. Cells may move. */
void cells_enter(struct cells *cells, const struct cell_pair *pairs, size_t count);

static inline bool cells_waiting(const struct cells *cells)
{
    return cells->next < cells->count || cells->again_first < cells->again_last;
}

/* The number of waiting cells. */
static inline uint64_t cells_left(const struct cells *cells)
{
    return cells->count - cells->next + (cells->again_last - cells->again_first);
}

/* The number of states before this one. */
uint64_t cells_before(const struct cells *cells, uint64_t state);

/* Called when the box of an owner is full: sends or enters its pairs, so that it has capacity
 * again. */
typedef void cells_hand_on(void *context, uint32_t owner);

/* Fires up to `most` waiting cells into the boxes, one per owner. No box is full before or
 * after. */
void cells_fire(struct cells *cells, const struct cells_rules *rules, size_t most,
                struct cells_box *boxes, cells_hand_on *hand_on, void *context);
