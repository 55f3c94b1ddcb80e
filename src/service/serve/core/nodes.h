/*
 * Nodes and edges of a graph as they are told. What is looked up in the state is apart from how it
 * is written: whoever has much to write copies the first, which is quick, and lets a thread do the
 * second (http/graph_copy.h).
 */
#pragma once

#include "foundation/base/json/json_write.h"
#include "service/serve/core/service.h"

struct process_node {
    uint64_t since; /* it waits, ms since 1970; 0: it does not */
    const char *name, *owner;
    struct tag_texts labels;
    uint32_t id;
    bool deadlocked;
    char buffer[GORDIAN_NAME_MAX + 1]; /* of a name that is made up */
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
/* As it is told step by step: of an await, how many have to act yet. False: it is not told. */
bool node_edge(gordian_edge *shown, const struct served *served, const gordian_edge *edge);

void process_node_json(struct json *json, const struct process_node *node);
void resource_node_json(struct json *json, const struct resource_node *node);
