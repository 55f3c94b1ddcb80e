/* Strongly connected components of a part of a graph's arcs. */
#ifndef GORDIAN_COMPOSE_GRAPH_COMPONENTS_H
#define GORDIAN_COMPOSE_GRAPH_COMPONENTS_H

#include "compose/graph/graph.h"

/* All zero is empty. */
struct components {
    gordian_allocator memory;
    uint32_t count;
    uint32_t *of;      /* by state */
    uint32_t *members; /* of component c: members[first[c]] .. members[first[c+1]-1] */
    size_t *first;
};

/* Components are numbered so that arcs between different ones lead to the smaller number. `counts`
 * says which arcs there are. On failure *parts is empty. */
gordian_status components_find(struct components *parts, const gordian_graph *graph,
                               bool (*counts)(const void *context, const gordian_graph_arc *arc),
                               const void *context, gordian_error *error);
void components_free(struct components *parts);

/* What becomes of every label when names are hidden: new_of[label], a number in `labels`. */
gordian_status hidden_labels(const gordian_graph *graph, const gordian_hiding *hiding,
                             struct label_table *labels, uint32_t *new_of, gordian_error *error);

#endif
