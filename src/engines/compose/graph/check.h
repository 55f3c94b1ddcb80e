/* What checks of both logics share: the states in which the parts of a formula hold. */
#pragma once

#include "engines/compose/graph/formula.h"
#include "engines/compose/graph/graph.h"

struct check {
    const gordian_graph *graph;
    const struct formula *formula;
    uint8_t **holds;          /* by node, by state; those of FORMULA_LOCAL are given; NULL: a node
                                 that speaks of runs */
    size_t *first_before;     /* arcs into state s: before[first_before[s]] .. */
    uint32_t *before;         /* states */
    uint32_t *queue, *number; /* one for every state */
    size_t *by;               /* for ways: the arc a state was reached by + 1; 0: not reached */
    gordian_check *result;
    size_t path_room, cycle_room;
    gordian_error *error;
};

/* One more arc of the way that is shown. */
gordian_status check_add_arc(struct check *check, bool to_cycle, gordian_graph_arc arc);
/* Which labels have the name, by label; the caller's to free. NULL: out of memory. */
uint8_t *check_labels_with(const gordian_graph *graph, const char *name);

/* Does the formula of LTL, whose timeless nodes are evaluated, hold in every run that is fair? Into
 * check->result. */
gordian_status check_runs(struct check *check, gordian_fairness fairness);
