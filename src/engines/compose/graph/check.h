/* Shared by the model checking of CTL and LTL: the states in which subformulas hold. */
#pragma once

#include "engines/compose/graph/formula.h"
#include "engines/compose/graph/graph.h"

struct check {
    const gordian_graph *graph;
    const struct formula *formula;
    /* by node and state; given for FORMULA_LOCAL; NULL: a node about runs */
    uint8_t **holds;
    size_t *first_before;     /* arcs into state s: before[first_before[s]] .. */
    uint32_t *before;         /* states */
    uint32_t *queue, *number; /* one per state */
    size_t *by;               /* for paths: 1 + the arc that reached a state; 0: not reached */
    gordian_check *result;
    size_t path_room, cycle_room;
    gordian_error *error;
};

/* Appends an arc to the reported path or cycle. */
gordian_status check_add_arc(struct check *check, bool to_cycle, gordian_graph_arc arc);
/* Returns which labels contain the name; the caller frees it. NULL: out of memory. */
uint8_t *check_labels_with(const gordian_graph *graph, const char *name);

/* Does the LTL formula hold in every fair run? Its timeless nodes must have been evaluated. Writes
 * check->result. */
gordian_status check_runs(struct check *check, gordian_fairness fairness);
