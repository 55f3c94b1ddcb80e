/*
 * The cost of the steps of a product, and the best path to a state.
 *
 * Transitions of automata may have costs. The cost of a joint firing is the product of the costs of
 * its transitions in a semiring, and the cost of a path is the product of its steps. The best of
 * several paths counts, which is their sum in the semiring. In all semirings here, extending a path
 * never makes it better, so Dijkstra's search finds the best one.
 *
 *     weighted      minimum, +         0 is neutral and best; costs add up
 *     fuzzy         maximum, minimum   1 is best; a path is as good as its worst step
 *     probability   maximum, *         1 is best; the probability of a path is the product of its
 * steps
 *
 * A transition without a cost has the best cost. In fuzzy and probability, a step of cost 0 does
 * not exist.
 */
#pragma once

#include "engines/compose/circuit/circuit.h"
#include "engines/compose/circuit/record_table.h"
#include "engines/compose/graph/check.h"

/* Data collected while the product is delivered. */
struct prices {
    gordian_allocator memory;
    const gordian_circuit *circuit;
    gordian_semiring semiring;
    uint32_t *factors; /* factors with costs */
    size_t factor_count;
    uint32_t state_count;
    uint32_t *locals;           /* of state s: factor_count local states */
    struct record_table labels; /* without duplicates, label_words words each */
    gordian_graph_arc *arcs;    /* with label numbers of `labels` */
    size_t arc_count, arc_room;
    size_t *first; /* arcs of state s: first[s] .. first[s + 1] - 1 */
};

/* GORDIAN_STATUS_INPUT: a cost outside the semiring, or no costs at all. Call prices_close in any
 * case. */
gordian_status prices_open(struct prices *prices, const gordian_circuit *circuit,
                           gordian_semiring semiring, const gordian_allocator *memory,
                           gordian_error *error);
gordian_status prices_begin(struct prices *prices, uint64_t states, gordian_error *error);
gordian_status prices_row(struct prices *prices, const gordian_compose_row *row,
                          gordian_error *error);
void prices_close(struct prices *prices);

/* Finds the best path from an initial state to a state in which the formula holds:
 * check->result. */
gordian_status prices_best(const struct prices *prices, struct check *check);
