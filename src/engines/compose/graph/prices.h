/*
 * What the steps of a product cost, and the best way to a state.
 *
 * Transitions of automata may say what they cost. A joint firing costs what those that take part
 * do, multiplied in a semiring; a way costs its steps, multiplied; of several ways the best one
 * counts, their sum. All semirings here are absorptive: to go on never makes a way better, so
 * Dijkstra's search finds the best.
 *
 *     weighted      least, +      0 is nothing, and best; costs add up
 *     fuzzy         greatest, least    1 is best; a way is as good as its worst step
 *     probability   greatest, *        1 is best; a way is as likely as its steps one after the
 * other
 *
 * What says nothing costs the best there is. A step of 0 in fuzzy and probability is none.
 */
#pragma once

#include "engines/compose/circuit/circuit.h"
#include "engines/compose/circuit/record_table.h"
#include "engines/compose/graph/check.h"

/* The product as it goes by. */
struct prices {
    gordian_allocator memory;
    const gordian_circuit *circuit;
    gordian_semiring semiring;
    uint32_t *factors; /* those that say what their transitions cost */
    size_t factor_count;
    uint32_t state_count;
    uint32_t *locals;           /* of state s: factor_count local states */
    struct record_table labels; /* different ones, label_words words each */
    gordian_graph_arc *arcs;    /* their labels as numbered here */
    size_t arc_count, arc_room;
    size_t *first; /* arcs of state s: first[s] .. first[s + 1] - 1 */
};

/* GORDIAN_STATUS_INPUT: a cost that the semiring does not have, or nobody says any. prices_close it
 * whatever happened. */
gordian_status prices_open(struct prices *prices, const gordian_circuit *circuit,
                           gordian_semiring semiring, const gordian_allocator *memory,
                           gordian_error *error);
gordian_status prices_begin(struct prices *prices, uint64_t states, gordian_error *error);
gordian_status prices_row(struct prices *prices, const gordian_compose_row *row,
                          gordian_error *error);
void prices_close(struct prices *prices);

/* The best way from an initial state to one in which the formula holds, into check->result. */
gordian_status prices_best(const struct prices *prices, struct check *check);
