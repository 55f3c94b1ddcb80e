/* A copy of what a graph response contains: numbers and names. Copying needs the state and takes a
 * fraction of the time of writing the text. Writing needs only the copy, so any thread can do it
 * while events continue. */
#pragma once

#include "foundation/base/bytes.h"
#include "service/serve/core/nodes.h"

struct graph_copy {
    struct bytes bytes; /* all processes, then all resources, then all edges */
    uint32_t processes, resources, edges;
    uint64_t seq;   /* of the system */
    bool truncated; /* more nodes exist */
    char system[GORDIAN_NAME_MAX + 1];
};

void graph_copy_init(struct graph_copy *copy, const struct served *served);
void graph_copy_free(struct graph_copy *copy);

/* Call them in this order. copy->bytes.failed is set without memory. */
void graph_copy_process(struct graph_copy *copy, const struct process_node *node);
void graph_copy_resource(struct graph_copy *copy, const struct resource_node *node);
void graph_copy_edge(struct graph_copy *copy, const gordian_edge *edge);

/* Writes the members of an open object. */
void graph_copy_write(const struct graph_copy *copy, struct json *json);
