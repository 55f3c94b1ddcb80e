/*
 * Formulas. CTL formulas are evaluated in the states of a graph:
 *
 *     a                 name a is enabled
 *     deadlock          the state has no successor
 *     $m = 0, $m#2 = 0  cell m (of automaton 2, as --explain numbers them) has this value; also !=
 *     @2 = full         automaton 2 is in this control state
 *     <a> f   [a] f     some, every step in which a fires leads to f
 *     EX f EF f EG f E[f U g]   AX f AF f AG f A[f U g]
 *     ! && || -> true false ( )
 *
 * Paths are maximal: they end only in deadlocks. So EG f holds in a deadlock if f does. Names that
 * are not words are put in backquotes.
 *
 * LTL formulas are evaluated on every run. The differences are:
 *
 *     <a> f   [a] f     the next step fires a and leads to f; if it fires a, it leads to f
 *     <a>               the next step fires a
 *     X f  F f  G f  f U g  f W g  f R g, and as in SPIN <> f  [] f  f V g
 *     <->  &  |
 *
 * A run that reaches a deadlock stays there forever and fires nothing.
 */
#pragma once

#include "engines/compose/circuit/circuit.h"

enum formula_kind {
    FORMULA_TRUE,
    FORMULA_FALSE,
    FORMULA_DEADLOCK,
    FORMULA_NAME,  /* `name` is enabled */
    FORMULA_LOCAL, /* automaton `factor` is in one of the states `states` */
    FORMULA_NOT,
    FORMULA_AND,
    FORMULA_OR,
    FORMULA_EX,
    FORMULA_EG,
    FORMULA_EU,
    FORMULA_STEP, /* <name> left */
    /* LTL: */
    FORMULA_FIRES, /* the next step fires `name` */
    FORMULA_NEXT,
    FORMULA_UNTIL,
    FORMULA_RELEASE,
};

/* All other operators are expressed by these. */
struct formula_node {
    uint8_t kind; /* enum formula_kind */
    uint32_t left, right;
    char *name;      /* FORMULA_NAME, FORMULA_STEP, FORMULA_FIRES */
    uint32_t factor; /* FORMULA_LOCAL */
    uint8_t *states; /* by local state: 1 or 0 */
    uint32_t state_count;
};

/* Nodes come after their operands. */
struct formula {
    gordian_allocator memory;
    struct formula_node *nodes;
    size_t count, room;
    uint32_t top;
};

/* `linear`: LTL. GORDIAN_STATUS_INPUT: a syntax error, with the column, or something that the
 * circuit (NULL: not known) does not have. Call formula_free in any case. */
gordian_status formula_read(struct formula *formula, const char *text, bool linear,
                            const gordian_circuit *circuit, const gordian_allocator *memory,
                            gordian_error *error);
void formula_free(struct formula *formula);
