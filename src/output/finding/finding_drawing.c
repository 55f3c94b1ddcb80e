/* Draws the wait-for graph of a finding as text. */
#include "output/finding/finding_graph.h"
#include "output/show/draw.h"

#include <string.h>

static const char *party_label(const void *context, uint32_t party)
{
    const struct finding *finding = context;
    return finding->parties[party].name;
}

static const char *drawn_resource(const void *context, uint32_t resource)
{
    const struct finding_resource *drawn = &((const struct finding *)context)->resources[resource];
    return drawn->kind && strcmp(drawn->kind, "act") == 0 ? "an act" : drawn->name;
}

static const char *drawn_holding(const void *context, uint32_t resource)
{
    return finding_holding(context, resource);
}

bool finding_draw(const struct finding *finding, const struct style *style, bool whole,
                  struct output *out)
{
    const struct labels labels = {
        .process = party_label,
        .resource = drawn_resource,
        .context = finding,
        .holding = drawn_holding,
    };
    const struct drawing drawing = {*style, out, &labels, whole};
    struct finding_graph graph;
    size_t count = 0, waits = 0;
    gordian_edge *edges =
        memory_alloc(&finding->memory, (2 * finding->edge_count + 1) * sizeof *edges);
    bool done = finding_graph_open(&graph, finding) && edges;
    for (size_t i = 0; i < finding->edge_count && done; i++) {
        const struct finding_edge *edge = &finding->edges[i];
        if (finding_graph_waits(&graph, edge)) {
            edges[count++] = (gordian_edge){1, edge->waiter, edge->resource, true};
            waits++;
        }
        if (finding_graph_holds(&graph, edge))
            edges[count++] = (gordian_edge){1, edge->holder, edge->resource, false};
    }
    bool inversion = finding->kind == FINDING_LOCK_ORDER_INVERSION;
    if (done && waits) {
        uint32_t first =
            finding->first == FINDING_NONE || inversion ? edges[0].process : finding->first;
        const gordian_witness witness = {finding->cycle, edges, count};
        done = draw_witness(&drawing, &witness, first);
    }
    finding_graph_close(&graph);
    memory_free(&finding->memory, edges);
    return done && waits;
}
