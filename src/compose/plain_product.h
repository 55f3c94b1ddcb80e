/*
 * The product in the plainest way there is: the textbook's three rules on two automata at a time,
 * all pairs of states, then the reachable part. No bit tricks, no idle loops, no engine code: the
 * oracle. For small circuits only (the whole product of the factors is built).
 */
#ifndef GORDIAN_COMPOSE_PLAIN_PRODUCT_H
#define GORDIAN_COMPOSE_PLAIN_PRODUCT_H

#include "compose/circuit.h"
#include "compose/graph/graph.h"

#define PLAIN_STATES_MAX (1u << 22)
#define PLAIN_STEPS_MAX  (1u << 24)

/* The product as a graph, numbered as circuit.h says. `full`: with what is not reachable.
 * GORDIAN_STATUS_INPUT: more than PLAIN_STATES_MAX states. */
gordian_status plain_product(struct graph **out, const struct circuit *circuit, bool full,
                             const gordian_allocator *memory, gordian_error *error);

#endif
