/*
 * Formulas. Of CTL, what can be asked of a graph, state by state:
 *
 *     a                 name a can fire now
 *     deadlock          nothing leads out
 *     $m = 0, $m#2 = 0  cell m (of automaton 2, as --explain numbers them) has this value; != too
 *     @2 = full         automaton 2 is in this control state
 *     <a> f   [a] f     some, every step in which a fires leads to f
 *     EX f EF f EG f E[f U g]   AX f AF f AG f A[f U g]
 *     ! && || -> true false ( )
 *
 * Paths are maximal: they end only where nothing leads on. So EG f holds in a deadlock if f does.
 * Names that are no words are put in backquotes.
 *
 * Or LTL, what is asked of every run: the same but for
 *
 *     <a> f   [a] f     the step that is taken now fires a and leads to f; if it fires a, to f
 *     <a>               it fires a
 *     X f  F f  G f  f U g  f W g  f R g, and as SPIN has them <> f  [] f  f V g
 *     <->  &  |
 *
 * A run that cannot go on stays where it is for ever, and fires nothing.
 */
#pragma once

#include "engines/compose/circuit/circuit.h"

enum formula_kind {
    FORMULA_TRUE,
    FORMULA_FALSE,
    FORMULA_DEADLOCK,
    FORMULA_NAME,  /* `name` can fire */
    FORMULA_LOCAL, /* automaton `factor` is in one of the states of `states` */
    FORMULA_NOT,
    FORMULA_AND,
    FORMULA_OR,
    FORMULA_EX,
    FORMULA_EG,
    FORMULA_EU,
    FORMULA_STEP, /* <name> left */
    /* of LTL */
    FORMULA_FIRES, /* the step from here fires `name` */
    FORMULA_NEXT,
    FORMULA_UNTIL,
    FORMULA_RELEASE,
};

/* Everything else is made of these. */
struct formula_node {
    uint8_t kind; /* enum formula_kind */
    uint32_t left, right;
    char *name;      /* FORMULA_NAME, FORMULA_STEP, FORMULA_FIRES */
    uint32_t factor; /* FORMULA_LOCAL */
    uint8_t *states; /* by local state of it: 1 or 0 */
    uint32_t state_count;
};

/* Nodes come after those they are made of. */
struct formula {
    gordian_allocator memory;
    struct formula_node *nodes;
    size_t count, room;
    uint32_t top;
};

/* `linear`: of LTL. GORDIAN_STATUS_INPUT: it is no formula, with the column; or it speaks of what
 * the circuit (NULL: none is known) has not. formula_free it whatever happened. */
gordian_status formula_read(struct formula *formula, const char *text, bool linear,
                            const gordian_circuit *circuit, const gordian_allocator *memory,
                            gordian_error *error);
void formula_free(struct formula *formula);
