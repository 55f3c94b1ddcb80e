/*
 * Nodes and edges of a graph, for answers. Reading the state is separate from writing JSON: for
 * large answers, the nodes are copied, which is fast, and a thread writes them (http/graph_copy.h).
 */
#pragma once

#include "foundation/base/json/json_write.h"
#include "service/serve/core/service.h"

struct process_node {
    uint64_t since; /* since when it waits, ms since 1970; 0: it does not wait */
    const char *name, *owner;
    struct tag_texts labels;
    uint32_t id;
    bool deadlocked;
    char buffer[GORDIAN_NAME_MAX + 1]; /* for a name like "#12" */
};

struct resource_node {
    uint64_t units, free_units;
    const char *name;
    struct tag_texts labels;
    uint32_t id;
    bool is_await;
    char buffer[GORDIAN_NAME_MAX + 1];
};

/* Valid until the next event. */
void node_of_process(struct process_node *node, const struct service *service,
                     const struct served *served, uint32_t process, bool deadlocked);
void node_of_resource(struct resource_node *node, const struct served *served, uint32_t resource);
/* The edge as answers show it. For an await, its units are the acts still needed. False: it is not
 * shown. */
bool node_edge(gordian_edge *shown, const struct served *served, const gordian_edge *edge);

void process_node_json(struct json *json, const struct process_node *node);
void resource_node_json(struct json *json, const struct resource_node *node);
