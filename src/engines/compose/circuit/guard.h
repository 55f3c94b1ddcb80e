/*
 * Guards: the conditions of a transition on data, kept as an expression and solved symbolically.
 *
 * A guard refers to the data at firing ports, the current and next values of memory cells, and
 * constants:
 *
 *     a = b      $m = null      $m' = a      b = f(a)      P(a) && a != 0
 *
 * It remains an expression until the data domain D is known. Then guard_solve enumerates its
 * solutions: the expression becomes a disjunction of conjunctions of literals. The equalities of a
 * conjunction partition the terms into classes (union-find). A class with two different constants
 * has no solution, a class with one constant is bound to it, and b = f(a) binds b once a is bound.
 * Only classes that remain free are enumerated over D, so a replicator with twenty ends takes |D|
 * steps and not |D|^20. Disequalities and predicates are checked as soon as their terms are bound.
 *
 * A data value is a number: VALUE_NULL for an empty cell, 1 + i for the i-th datum of D. Only cells
 * can be null; `a = null` is false for a port.
 */
#pragma once

#include "engines/compose/circuit/data.h"

#define VALUE_NULL 0u

enum guard_kind {
    GUARD_TRUE,
    GUARD_FALSE,
    GUARD_AND,       /* left and right are guards */
    GUARD_OR,        /* left and right are guards */
    GUARD_NOT,       /* left is a guard */
    GUARD_EQUAL,     /* left and right are terms */
    GUARD_PREDICATE, /* function `symbol` holds for the terms of the list left */
    TERM_PORT,       /* datum at port `symbol` of the automaton */
    TERM_NOW,        /* value of cell `symbol` before the step */
    TERM_NEXT,       /* value of cell `symbol` after the step */
    TERM_CONSTANT,   /* symbol `symbol` of the data table */
    TERM_NULL,       /* the empty cell */
    TERM_APPLY,      /* function `symbol` applied to the terms of the list left */
    TERM_LIST,       /* an argument list: left is a term, right the rest or GUARD_NONE */
};

#define GUARD_NONE UINT32_MAX

struct guard_node {
    uint8_t kind; /* enum guard_kind */
    uint32_t left, right;
    uint32_t symbol;
};

/* The guards of one automaton; a guard is the number of its top node. Number 0 is TRUE. */
struct guards {
    gordian_allocator memory;
    struct guard_node *nodes;
    size_t count, room;
};

void guards_init(struct guards *guards, const gordian_allocator *memory);
void guards_free(struct guards *guards);

/* Each function adds a node and returns its number. GUARD_NONE: out of memory. */
uint32_t guard_add(struct guards *guards, enum guard_kind kind, uint32_t left, uint32_t right,
                   uint32_t symbol);
/* A conjunction, simplified if a side is TRUE or FALSE. */
uint32_t guard_and(struct guards *guards, uint32_t left, uint32_t right);

/* The guard simplified for the case that only the ports of `fires` (a bit set) fire: all others are
 * null. */
uint32_t guard_restrict(struct guards *guards, uint32_t guard, const uint64_t *fires);

/* Does the guard mention the next value of this cell? If not, the cell keeps its value. */
bool guard_writes(const struct guards *guards, uint32_t guard, uint32_t cell);
/* Returns a port that the guard mentions but `fires` (a bit set) does not contain, or
 * GUARD_NONE. */
uint32_t guard_stray_port(const struct guards *guards, uint32_t guard, const uint64_t *fires);
/* The input and output of guard_solve. `ports`: number of ports of the automaton. `now`: the values
 * of all cells. `solution` is called once per solution with the datum of every port (VALUE_NULL if
 * it does not fire) and the next value of every cell. The arrays are valid during the call. A
 * status other than GORDIAN_OK ends the search and is returned. */
struct guard_question {
    const struct guards *guards;
    const struct data *data;
    uint32_t guard;
    uint32_t ports, cells;
    const uint64_t *fires;
    const uint32_t *now;
    gordian_status (*solution)(void *context, const uint32_t *at_ports, const uint32_t *next,
                               gordian_error *error);
    void *context;
    const uint8_t *own; /* by cell: 1 if no port ever carries its values; NULL: for no cell */
};

/* GORDIAN_STATUS_INPUT: the guard has too many alternatives, or too many values have to be
 * tried. */
#define GUARD_ALTERNATIVES_MAX 65536
#define GUARD_STEPS_MAX        (1u << 25)
gordian_status guard_solve(const struct guard_question *question, gordian_error *error);
