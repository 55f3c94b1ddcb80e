/* Writes the wait-for graph of a finding as a picture: parties and resources are nodes, waits and
 * holds are arrows. */
#include "output/finding/finding_graph.h"
#include "output/show/picture.h"

static void add_nodes(struct picture *picture, const struct finding *finding)
{
    for (size_t i = 0; i < finding->party_count; i++) {
        const struct finding_party *party = &finding->parties[i];
        uint32_t node =
            picture_node(picture, party->name, party->about ? party->about : party->kind, false);
        if (!picture->failed)
            picture->nodes[node].blamed = party->role == FINDING_BLAMED;
    }
    for (size_t i = 0; i < finding->resource_count; i++) {
        const struct finding_resource *resource = &finding->resources[i];
        const char *about =
            resource->operation ? resource->operation->description : resource->object;
        picture_node(picture, resource->name, about && *about ? about : resource->kind, true);
    }
}

static void add_arrows(struct picture *picture, const struct finding_graph *graph)
{
    const struct finding *finding = graph->finding;
    bool possible = finding->kind == FINDING_LOCK_ORDER_INVERSION;
    for (size_t i = 0; i < finding->edge_count; i++) {
        const struct finding_edge *edge = &finding->edges[i];
        uint32_t resource = (uint32_t)finding->party_count + edge->resource;
        if (finding_graph_waits(graph, edge))
            picture_arrow(picture, edge->waiter, resource, true,
                          possible ? "can wait for" : "waits for", edge->place ? edge->place : "");
        if (finding_graph_holds(graph, edge))
            picture_arrow(picture, resource, edge->holder, false,
                          possible ? "held by" : finding_holding(finding, edge->resource),
                          edge->held_place ? edge->held_place : "");
    }
    picture->cycle = finding->cycle;
}

static void write_picture(const struct finding *finding, struct output *out,
                          void (*write)(const struct picture *picture, struct output *out))
{
    struct finding_graph graph;
    struct picture picture;
    picture_open(&picture, finding->title);
    if (finding_graph_open(&graph, finding)) {
        add_nodes(&picture, finding);
        add_arrows(&picture, &graph);
        write(&picture, out);
    }
    finding_graph_close(&graph);
    picture_close(&picture);
}

void finding_dot(const struct finding *finding, struct output *out)
{
    write_picture(finding, out, picture_dot);
}

void finding_svg(const struct finding *finding, struct output *out)
{
    write_picture(finding, out, picture_svg);
}
