/* The part of the wait-for graph of a finding that drawings and pictures show. */
#pragma once

#include "output/finding/finding.h"

struct finding_graph {
    const struct finding *finding;
    bool *awaited; /* by resource: at least one party waits for it */
    bool proof;    /* there is a witness: only its edges are drawn */
};

/* False: out of memory. */
bool finding_graph_open(struct finding_graph *graph, const struct finding *finding);
void finding_graph_close(struct finding_graph *graph);
/* Is the waiting half of the edge drawn, or its holding half? */
bool finding_graph_waits(const struct finding_graph *graph, const struct finding_edge *edge);
bool finding_graph_holds(const struct finding_graph *graph, const struct finding_edge *edge);
/* Returns the relation of a resource to its holders: "held by", ... */
const char *finding_holding(const struct finding *finding, uint32_t resource);
