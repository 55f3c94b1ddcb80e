/* Selects the edges of the wait-for graph that are drawn. */
#include "output/finding/finding_graph.h"

bool finding_graph_open(struct finding_graph *graph, const struct finding *finding)
{
    *graph = (struct finding_graph){.finding = finding};
    graph->awaited = memory_zeroed(&finding->memory, finding->resource_count + 1);
    for (size_t i = 0; i < finding->edge_count && graph->awaited; i++) {
        const struct finding_edge *edge = &finding->edges[i];
        graph->proof = graph->proof || edge->witness;
        if (edge->waiter != FINDING_NONE)
            graph->awaited[edge->resource] = true;
    }
    return graph->awaited && !finding->failed;
}

void finding_graph_close(struct finding_graph *graph)
{
    memory_free(&graph->finding->memory, graph->awaited);
}

bool finding_graph_waits(const struct finding_graph *graph, const struct finding_edge *edge)
{
    return edge->waiter != FINDING_NONE && (edge->witness || !graph->proof);
}

/* A resource that no party waits for is not part of the explanation. */
bool finding_graph_holds(const struct finding_graph *graph, const struct finding_edge *edge)
{
    return edge->holder != FINDING_NONE && (edge->witness || !graph->proof) &&
           graph->awaited[edge->resource];
}

const char *finding_holding(const struct finding *finding, uint32_t resource)
{
    const char *holding = finding->resources[resource].holding;
    return holding ? holding : "held by";
}
