/*
 * Formulas of LTL as automata over runs.
 *
 * A state of such an automaton is a set of formulas that what is left of the run has to fulfil. A
 * move says what must hold now (literals: of the state at hand, or of the step that is taken from
 * it), and leads to what has to be fulfilled afterwards. A move that puts off the end of an until
 * *promises* it. A run is accepted if it can be followed for ever and no until is promised by all
 * moves from some time on (Couvreur's construction, with promises on moves).
 *
 * linear_open makes the automaton of the runs that do *not* fulfil the formula.
 */
#pragma once

#include "engines/compose/graph/formula.h"

/* Parts of a formula, without its repetitions, and states and moves of its automaton, at most. */
#define LINEAR_PARTS  256u
#define LINEAR_STATES 4096u
#define LINEAR_MOVES  (1u << 18)

struct part_set {
    uint64_t words[LINEAR_PARTS / 64];
};

enum part_kind {
    PART_TRUE,
    PART_FALSE,
    PART_STATE, /* `node` of the formula holds here */
    PART_FIRES, /* the step from here fires the name of `node` */
    PART_AND,
    PART_OR,
    PART_NEXT,
    PART_UNTIL,
    PART_RELEASE,
};

struct part {
    uint8_t kind; /* enum part_kind */
    bool negated; /* of PART_STATE, PART_FIRES */
    uint32_t node;
    uint32_t left, right; /* parts */
    uint32_t opposite;    /* the part that says the contrary; GORDIAN_NONE: none does */
};

struct linear_move {
    uint32_t to;
    struct part_set literals, promises;
};

struct linear {
    gordian_allocator memory;
    struct part *parts;
    size_t part_count, part_room;
    struct part_set *states; /* what has to be fulfilled; state 0 is the first */
    size_t state_count, state_room;
    size_t *first; /* moves of state q: first[q] .. first[q + 1] - 1 */
    size_t first_room;
    size_t explored; /* states whose moves are there */
    struct linear_move *moves;
    size_t move_count, move_room;
};

/* Nodes without time in them become literals. GORDIAN_STATUS_INPUT: it is too large. linear_close
 * it whatever happened. */
gordian_status linear_open(struct linear *linear, const struct formula *formula,
                           const gordian_allocator *memory, gordian_error *error);
void linear_close(struct linear *linear);

/* By node: does it speak of a state alone? `timeless` has formula->count of them. */
void linear_timeless(const struct formula *formula, uint8_t *timeless);
