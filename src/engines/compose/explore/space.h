/*
 * An ordered set of states. The number of a state is its rank.
 *
 *     SPACE_FULL    all combinations of local states below a limit; the mixed-radix number itself
 *     SPACE_BITMAP  a bit for every combination, with counts for ranks
 *     SPACE_SORTED  the packed states themselves, sorted
 *     SPACE_CELLS   words of 64 neighbouring packed states, the non-empty ones, sorted
 *
 * The grid of a bitmap. The low 6 bits of a packed state are its position in a word. The other bits
 * form a mixed-radix number, the index of the word. So the 64 states of a word differ only in the
 * first factors, and (word, position) compares like states. Packed states that do not exist are
 * bits of the words that are never set.
 */
#pragma once

#include "engines/compose/explore/packing.h"

#include <stdatomic.h>

struct grid_digit {
    uint8_t shift; /* of a packed state */
    uint64_t mask; /* after shifting */
    uint64_t size; /* values 0 .. size-1 */
    uint64_t weight;
};

struct grid {
    /* 0: no grid, because it would be too large or a state has more than one word */
    uint64_t words;
    size_t digit_count;
    struct grid_digit *digits;
};

#define GRID_WORDS_MAX (UINT64_C(1) << 40)
#define GRID_BLOCK     64u /* words that are processed together */

/* For packings of one word. Otherwise, and if there are too many words, grid->words is 0. */
gordian_status grid_open(struct grid *grid, const struct packing *packing,
                         const gordian_allocator *memory, gordian_error *error);

static inline uint64_t grid_word(const struct grid *grid, uint64_t state)
{
    uint64_t word = 0;
    for (size_t i = 0; i < grid->digit_count; i++)
        word += (state >> grid->digits[i].shift & grid->digits[i].mask) * grid->digits[i].weight;
    return word;
}

/* The packed state at position 0 of a word. */
static inline uint64_t grid_base(const struct grid *grid, uint64_t word)
{
    uint64_t state = 0;
    for (size_t i = 0; i < grid->digit_count; i++) {
        state |= word % grid->digits[i].size << grid->digits[i].shift;
        word /= grid->digits[i].size;
    }
    return state;
}

/* The base of the next word. */
static inline uint64_t grid_next(const struct grid *grid, uint64_t base)
{
    for (size_t i = 0; i < grid->digit_count; i++) {
        const struct grid_digit *digit = &grid->digits[i];
        uint64_t value = base >> digit->shift & digit->mask;
        if (value + 1 < digit->size)
            return base + (UINT64_C(1) << digit->shift);
        base &= ~(digit->mask << digit->shift);
    }
    return base;
}

/* ------------------------------------------------------------------ spaces */

enum space_kind { SPACE_NONE, SPACE_FULL, SPACE_BITMAP, SPACE_SORTED, SPACE_CELLS };

/* 64 neighbouring states: the packed numbers from 64 * word on. `word` is the last member, so that
 * sort_words sorts by it. */
struct cell {
    /* states that have not fired yet; in a space: number of states before this word */
    uint64_t waiting;
    uint64_t visited; /* states found */
    uint64_t word;
};

struct space {
    enum space_kind kind;
    gordian_allocator memory;
    const struct packing *packing;
    uint64_t count;
    uint64_t *strides; /* full: by factor */
    const struct grid *grid;
    _Atomic uint64_t *seen;  /* bitmap */
    uint64_t *done;          /* states that have fired */
    _Atomic uint64_t *dirty; /* a bit per block that may have states that have not fired */
    _Atomic uint64_t *taken; /* a bit per block that a thread is processing */
    uint64_t *block_rank;    /* states before a block */
    uint16_t *word_rank;     /* states of the block before a word */
    uint64_t *states;        /* sorted */
    struct cell *cells;
    size_t cell_count;
};

void space_close(struct space *space);
/* Sorts the cells of a space of cells and counts their states, so that it can return numbers. */
void space_sort_cells(struct space *space);
/* All combinations, or the first `limit`. GORDIAN_STATUS_INPUT: more than 64 bits can count. */
gordian_status space_full(struct space *space, const struct packing *packing, uint64_t limit,
                          const gordian_allocator *memory, gordian_error *error);
/* Counts the bits of a bitmap, so that it can return numbers. */
gordian_status space_rank(struct space *space, gordian_error *error);

/* Returns the number of a state; UINT64_MAX: it is not in the space. */
uint64_t space_number(const struct space *space, const uint64_t *state);

/* Iterates over a space in order. */
struct space_walk {
    const struct space *space;
    uint64_t number; /* of the current state */
    uint64_t *state; /* the current state, packed; the caller's buffer */
    uint32_t *locals;
    uint64_t word, base, bits;
};
/* Moves to the state with this number, which must exist. `state`, `locals`: buffers for one
 * state. */
void space_seek(struct space_walk *walk, const struct space *space, uint64_t number,
                uint64_t *state, uint32_t *locals);
void space_step(struct space_walk *walk); /* there must be a next one */
