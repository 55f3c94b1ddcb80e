/* What the engines are held against, in the plainest way there is: no bit tricks, no idle loops, no
 * engine code. */
#ifndef GORDIAN_TESTS_COMPOSE_ORACLE_H
#define GORDIAN_TESTS_COMPOSE_ORACLE_H

#include "engines/compose/circuit/circuit.h"
#include "engines/compose/graph/graph.h"

/* The textbook's three rules on two automata at a time, all pairs of states, then the reachable
 * part. For small circuits only: the whole product of the factors is built. */

#define PLAIN_STATES_MAX (1u << 22)
#define PLAIN_STEPS_MAX  (1u << 24)

/* The product as a graph, numbered as engines/compose/circuit/circuit.h says. `full`: with what is
 * not reachable. GORDIAN_STATUS_INPUT: more than PLAIN_STATES_MAX states. */
gordian_status plain_product(gordian_graph **out, const gordian_circuit *circuit, bool full,
                             const gordian_allocator *memory, gordian_error *error);

/* Is this a run of the circuit: from an initial state, by joint firings, to that state, from which
 * nothing leads on? `why`: what is wrong. */
bool compose_check_deadlock(const gordian_circuit *circuit,
                            const gordian_compose_deadlock *deadlock, const char **why);

/* The same: states, initial states, arcs and label texts, number by number. On a difference *state
 * is the first state that differs. */
bool graph_same(const gordian_graph *left, const gordian_graph *right, uint32_t *state);

/* The same up to the numbering of states, for graphs in which everything is reachable. Complete,
 * with colour refinement first and backtracking only where that leaves a choice. */
gordian_status graph_isomorphic(const gordian_graph *left, const gordian_graph *right, bool *same,
                                gordian_error *error);

#endif
