/* Strongly connected components of the hidden arcs of a graph. */
#pragma once

#include "engines/compose/graph/graph.h"
#include "foundation/base/scc.h"

/* Empty if all members are zero. */
struct components {
    struct scc scc; /* a node is a state */
    struct scc_node *nodes;
    uint32_t *targets;
};

/* `new_of`: the result of hidden_labels. Call components_free in any case. */
gordian_status components_find(struct components *parts, const gordian_graph *graph,
                               const uint32_t *new_of, gordian_error *error);
void components_free(struct components *parts);

/* Renames every label after hiding names: new_of[label] is a number in `labels`. */
gordian_status hidden_labels(const gordian_graph *graph, const gordian_hiding *hiding,
                             struct label_table *labels, uint32_t *new_of, gordian_error *error);

static inline bool arc_is_hidden(const uint32_t *new_of, const gordian_graph_arc *arc)
{
    return new_of[arc->label] == LABEL_TAU;
}
