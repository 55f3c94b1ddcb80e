/*
 * Sets of packed states as words of 64 neighbours (space.h), for exploring: cells in a hash table,
 * and a queue of those with states that have not fired yet.
 *
 * Whoever explores owns a part of the words and nobody else touches it: a thread (cpu/cells.c), or
 * a rank (mpi/). A word's owner is told by its number alone. What fires in a word for another one
 * goes into the box of that one's owner, pairs of a word and the states of it that were found; a
 * full box is handed on by whoever explores, and entered by its owner.
 *
 * Three things make it fast. Firings that stay within the word are followed until nothing new comes
 * of them before any other is looked at. Words fire in the order they were met, which is that of
 * the list: the longer one waits, the more of its states fire at once, and hardly any has to fire
 * again. And pairs are entered many at a time, so that what they need is fetched while others are
 * worked on.
 */
#pragma once

#include "engines/compose/explore/packed.h"
#include "engines/compose/explore/space.h"
#include "foundation/base/hash.h"

/* States of a word. */
struct cell_pair {
    uint64_t word, states;
};

/* The firings as words see them; never changes while anybody explores. */
struct cells_rules {
    struct compose_word_firing *inner, *outer; /* within the word, to another one */
    uint32_t inner_count, outer_count;
    uint32_t owners;
};

/* None yet, with room for `count` of them. False: out of memory. */
bool cells_rules_open(struct cells_rules *rules, uint32_t count, uint32_t owners,
                      const gordian_allocator *memory);
void cells_rules_close(struct cells_rules *rules, const gordian_allocator *memory);
/* One more, of which mask, value and flip are used. */
void cells_rules_add(struct cells_rules *rules, const struct compose_firing *firing);

static inline uint32_t cells_owner(const struct cells_rules *rules, uint64_t word)
{
    /* Other bits than those that say where it is in the owner's table. */
    return (uint32_t)((word * HASH_MULTIPLIER_2 >> 32) * rules->owners >> 32);
}

/* What is found for one owner. */
struct cells_box {
    struct cell_pair *pairs;
    uint32_t count, room;
    uint32_t sifted; /* of them: no sieve has to see them any more */
};

#define CELLS_SIEVE 4096u /* pairs of a sieve; a power of two */

/* Takes out of the box what went through the sieve, all zero at first, not long ago. */
void cells_sift(struct cell_pair *sieve, struct cells_box *box);

/* What an owner has. */
struct cells {
    gordian_allocator memory;
    struct cell *list;
    uint32_t count, room;
    struct hash table; /* of the cells by word */
    uint32_t next;     /* that has never fired */
    uint32_t *again;   /* before it: cells that have states to fire once more */
    size_t again_first, again_last, again_room;
    uint64_t states;
    bool no_memory;
    /* Asked about new states, if not NULL: those of them that are let in. */
    uint64_t (*admit)(void *context, uint64_t states);
    void *context;
    uint64_t stuck;          /* states that have fired nothing; all fire once */
    uint64_t stuck_state;    /* the first of them, if there is one */
    uint64_t fired, entered; /* cells that fired, pairs that came */
};

void cells_close(struct cells *cells);
/* No more will come: only the list stays. */
void cells_settle(struct cells *cells);
uint64_t cells_bytes(const struct cells *cells); /* of memory */

/* States of one's own; those that are new wait. Cells may move. */
void cells_enter(struct cells *cells, const struct cell_pair *pairs, size_t count);

static inline bool cells_waiting(const struct cells *cells)
{
    return cells->next < cells->count || cells->again_first < cells->again_last;
}

/* How many cells wait. */
static inline uint64_t cells_left(const struct cells *cells)
{
    return cells->count - cells->next + (cells->again_last - cells->again_first);
}

/* How many of the states come before this one. */
uint64_t cells_before(const struct cells *cells, uint64_t state);

/* Makes room in the box of an owner, which is full: the pairs go on, or are entered. */
typedef void cells_hand_on(void *context, uint32_t owner);

/* Up to `most` of the cells that wait fire into the boxes, one for each owner, none of them full
 * before or after. */
void cells_fire(struct cells *cells, const struct cells_rules *rules, size_t most,
                struct cells_box *boxes, cells_hand_on *hand_on, void *context);
