/* What of a finding is drawn, in text and in pictures alike. */
#pragma once

#include "output/finding/finding.h"

struct finding_graph {
    const struct finding *finding;
    bool *awaited; /* by resource: a party waits for it */
    bool proof;    /* there is a witness, and the rest is left out */
};

/* False: out of memory. */
bool finding_graph_open(struct finding_graph *graph, const struct finding *finding);
void finding_graph_close(struct finding_graph *graph);
/* The edge's waiter, or its holder, is drawn. */
bool finding_graph_waits(const struct finding_graph *graph, const struct finding_edge *edge);
bool finding_graph_holds(const struct finding_graph *graph, const struct finding_edge *edge);
/* "held by", ... */
const char *finding_holding(const struct finding *finding, uint32_t resource);
