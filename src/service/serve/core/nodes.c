/* Nodes and edges of a graph, for answers. */
#include "service/serve/core/nodes.h"

#include "output/show/json.h"

/* ------------------------------------------------------------------ reading the state */

void node_of_process(struct process_node *node, const struct service *service,
                     const struct served *served, uint32_t process, bool deadlocked)
{
    node->id = process;
    node->deadlocked = deadlocked;
    node->since = process < served->process_room ? served->processes[process].since : 0;
    node->name = served_process_label(served, process, node->buffer);
    /* name of the session that owns it, "" if none */
    uint32_t owner =
        process < served->process_room ? served->processes[process].owner : GORDIAN_NONE;
    node->owner = owner < service->session_limit ? service->sessions[owner].name : "";
    tags_look(&node->labels, &served->tags, TAGS_PROCESS, process);
}

void node_of_resource(struct resource_node *node, const struct served *served, uint32_t resource)
{
    node->id = resource;
    node->is_await = served_is_await(served, resource);
    node->units = served_units(served, resource);
    node->free_units = served_free_units(served, resource);
    node->name = served_resource_label(served, resource, node->buffer);
    tags_look(&node->labels, &served->tags, TAGS_RESOURCE, resource);
}

bool node_edge(gordian_edge *shown, const struct served *served, const gordian_edge *edge)
{
    *shown = *edge;
    if (edge->waits)
        shown->units = served_still_needed(served, edge);
    else if (served_is_own_act(served, edge))
        return false;
    return shown->units > 0;
}

/* ------------------------------------------------------------------ writing JSON */

static void write_node_members(struct json *json, const struct process_node *node)
{
    if (node->since)
        json_key_u64(json, "since_ms", node->since);
    else
        json_key_null(json, "since_ms");
    if (*node->owner)
        json_key_text(json, "owner", node->owner);
    else
        json_key_null(json, "owner");
    tag_texts_json(json, &node->labels);
}

void process_node_json(struct json *json, const struct process_node *node)
{
    json_open(json, NULL, '{');
    json_key_u64(json, "id", node->id);
    json_key_text(json, "name", node->name);
    json_key_bool(json, "waiting", node->since != 0);
    json_key_bool(json, "deadlocked", node->deadlocked);
    write_node_members(json, node);
    json_shut(json);
}

void resource_node_json(struct json *json, const struct resource_node *node)
{
    if (node->is_await) {
        json_await_node(json, node->id, node->units - node->free_units);
        return;
    }
    json_open(json, NULL, '{');
    json_resource_members(json, node->id, node->name, node->units, node->free_units);
    tag_texts_json(json, &node->labels);
    json_shut(json);
}

/* ------------------------------------------------------------------ both */

void service_process_json(struct json *json, const struct service *service,
                          const struct served *served, uint32_t process)
{
    struct process_node node;
    node_of_process(&node, service, served, process, false);
    write_node_members(json, &node);
}

void service_process_node(struct json *json, const struct service *service,
                          const struct served *served, uint32_t process, bool deadlocked)
{
    struct process_node node;
    node_of_process(&node, service, served, process, deadlocked);
    process_node_json(json, &node);
}

void service_resource_node(struct json *json, const struct served *served, uint32_t resource)
{
    struct resource_node node;
    node_of_resource(&node, served, resource);
    resource_node_json(json, &node);
}

void service_graph_edge(struct json *json, const struct served *served, const gordian_edge *edge)
{
    gordian_edge shown;
    if (node_edge(&shown, served, edge))
        json_graph_edge(json, &shown);
}
