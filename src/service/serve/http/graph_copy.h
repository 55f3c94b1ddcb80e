/*
 * What a graph's answer tells, copied from the state: numbers and names. Copying takes a fraction
 * of the time that writing the text does, and needs the state; writing needs the copy alone, and
 * may be done by any thread while events go on.
 */
#pragma once

#include "foundation/base/bytes.h"
#include "service/serve/core/nodes.h"

struct graph_copy {
    struct bytes bytes; /* all processes, then all resources, then all edges */
    uint32_t processes, resources, edges;
    uint64_t seq;   /* of the system */
    bool truncated; /* there is more */
    char system[GORDIAN_NAME_MAX + 1];
};

void graph_copy_init(struct graph_copy *copy, const struct served *served);
void graph_copy_free(struct graph_copy *copy);

/* In this order. Without memory copy->bytes.failed is set. */
void graph_copy_process(struct graph_copy *copy, const struct process_node *node);
void graph_copy_resource(struct graph_copy *copy, const struct resource_node *node);
void graph_copy_edge(struct graph_copy *copy, const gordian_edge *edge);

/* Writes the members of an object that is open. */
void graph_copy_write(const struct graph_copy *copy, struct json *json);
