/*
 * Translates LTL formulas to generalized Büchi automata, which accept infinite runs.
 *
 * A state of the automaton is a set of formulas that the rest of the run must satisfy. A move has
 * literals that must hold now (in the current state, or for the next step), and leads to the
 * formulas that must hold afterwards. A move that postpones the end of an until *promises* it. A
 * run is accepted if it can be followed forever and no until is promised by all moves from some
 * point on (Couvreur's construction, with promises on moves).
 *
 * linear_open builds the automaton of the runs that do *not* satisfy the formula.
 */
#pragma once

#include "engines/compose/graph/formula.h"

/* Limits: different parts of a formula, states and moves of its automaton. */
#define LINEAR_PARTS  256u
#define LINEAR_STATES 4096u
#define LINEAR_MOVES  (1u << 18)

struct part_set {
    uint64_t words[LINEAR_PARTS / 64];
};

enum part_kind {
    PART_TRUE,
    PART_FALSE,
    PART_STATE, /* `node` of the formula holds in this state */
    PART_FIRES, /* the next step fires the name of `node` */
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
    uint32_t opposite;    /* the part with the opposite meaning; GORDIAN_NONE: none */
};

struct linear_move {
    uint32_t to;
    struct part_set literals, promises;
};

struct linear {
    gordian_allocator memory;
    struct part *parts;
    size_t part_count, part_room;
    struct part_set *states; /* requirements; state 0 is initial */
    size_t state_count, state_room;
    size_t *first; /* moves of state q: first[q] .. first[q + 1] - 1 */
    size_t first_room;
    size_t explored; /* states with known moves */
    struct linear_move *moves;
    size_t move_count, move_room;
};

/* Nodes without temporal operators become literals. GORDIAN_STATUS_INPUT: too large. Call
 * linear_close in any case. */
gordian_status linear_open(struct linear *linear, const struct formula *formula,
                           const gordian_allocator *memory, gordian_error *error);
void linear_close(struct linear *linear);

/* By node: does it depend on a single state only? `timeless` has formula->count elements. */
void linear_timeless(const struct formula *formula, uint8_t *timeless);
