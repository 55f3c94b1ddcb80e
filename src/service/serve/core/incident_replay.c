/* The replay of an incident: the graph around it when it formed, and the last events that changed
 * this part of the graph, so that they can be undone one by one. */
#include "service/serve/core/service_internal.h"

#include <string.h>

/* Limits of the graph, of its events and changes. */
#define NODES_MAX  2000
#define EVENTS_MAX 2000
#define LOOK_MAX   (1u << 15) /* items of the change log that are searched */

/* A set of nodes in order of discovery, with a hash table. Process p is 2p, resource q is 2q + 1.
 */
struct nodes {
    uint64_t list[NODES_MAX];
    size_t count;
    uint16_t slots[4 * NODES_MAX]; /* 1 + index into the list; 0: free */
    bool full;
};

#define SLOTS (sizeof((struct nodes *)0)->slots / sizeof(uint16_t))

static size_t slot_of_node(const struct nodes *nodes, uint64_t node)
{
    size_t slot = (size_t)((node * 0x9e3779b97f4a7c15u) >> 32) % SLOTS;
    while (nodes->slots[slot] && nodes->list[nodes->slots[slot] - 1] != node)
        slot = (slot + 1) % SLOTS;
    return slot;
}

static bool has_node(const struct nodes *nodes, uint64_t node)
{
    return nodes->slots[slot_of_node(nodes, node)] != 0;
}

static void add_replay_node(struct nodes *nodes, uint64_t node)
{
    size_t slot = slot_of_node(nodes, node);
    if (nodes->slots[slot])
        return;
    if (nodes->count == NODES_MAX) {
        nodes->full = true;
        return;
    }
    nodes->list[nodes->count++] = node;
    nodes->slots[slot] = (uint16_t)nodes->count;
}

static uint64_t process_node(uint32_t process)
{
    return 2 * (uint64_t)process;
}

static uint64_t resource_node(uint32_t resource)
{
    return 2 * (uint64_t)resource + 1;
}

/* Adds the neighbours of a node. */
static void add_replay_neighbours(struct served *served, struct nodes *nodes, uint64_t node)
{
    bool process = node % 2 == 0;
    uint32_t id = (uint32_t)(node / 2);
    for (int side = 0; side < 2; side++) {
        const gordian_edge *edges;
        size_t count;
        enum served_side which = process ? (side ? SERVED_WANTED : SERVED_HELD)
                                         : (side ? SERVED_WAITERS : SERVED_HOLDERS);
        if (served_edges(served, which, id, &edges, &count, NULL))
            return;
        for (size_t i = 0; i < count && !nodes->full; i++)
            add_replay_node(nodes, process ? resource_node(edges[i].resource)
                                           : process_node(edges[i].process));
    }
}

/* Finds the members, what they hold and wait for, and two steps more. */
static void find_nodes(struct served *served, struct nodes *nodes, const uint32_t *members,
                       size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (members[i] != GORDIAN_NONE)
            add_replay_node(nodes, process_node(members[i]));
    size_t start = 0;
    for (int depth = 0; depth < 3 && !nodes->full; depth++) {
        size_t end = nodes->count;
        for (size_t i = start; i < end && !nodes->full; i++)
            add_replay_neighbours(served, nodes, nodes->list[i]);
        start = end;
    }
}

/* ------------------------------------------------------------------ the graph */

static void write_replay_edges(struct json *json, struct served *served, const struct nodes *nodes,
                               uint32_t process)
{
    for (int side = 0; side < 2; side++) {
        const gordian_edge *edges;
        size_t count;
        if (served_edges(served, side ? SERVED_WANTED : SERVED_HELD, process, &edges, &count, NULL))
            return;
        for (size_t i = 0; i < count; i++)
            if (has_node(nodes, resource_node(edges[i].resource)))
                service_graph_edge(json, served, &edges[i]);
    }
}

static void write_graph(struct json *json, struct service *service, struct served *served,
                        const struct nodes *nodes, size_t members)
{
    json_open(json, "graph", '{');
    json_key_text(json, "system", served->name);
    json_key_u64(json, "seq", served->seq);
    json_open(json, "processes", '[');
    for (size_t i = 0; i < nodes->count; i++)
        if (nodes->list[i] % 2 == 0)
            service_process_node(json, service, served, (uint32_t)(nodes->list[i] / 2),
                                 i < members);
    json_shut(json);
    json_open(json, "resources", '[');
    for (size_t i = 0; i < nodes->count; i++)
        if (nodes->list[i] % 2 == 1)
            service_resource_node(json, served, (uint32_t)(nodes->list[i] / 2));
    json_shut(json);
    json_open(json, "edges", '[');
    for (size_t i = 0; i < nodes->count; i++)
        if (nodes->list[i] % 2 == 0)
            write_replay_edges(json, served, nodes, (uint32_t)(nodes->list[i] / 2));
    json_shut(json);
    json_key_bool(json, "truncated", nodes->full);
    json_shut(json);
}

/* ------------------------------------------------------------------ events */

static bool is_inside(const struct nodes *nodes, const struct recent_item *item)
{
    return recent_is_change(item) && has_node(nodes, process_node(item->process)) &&
           has_node(nodes, resource_node(item->resource));
}

/* Finds the first event of the replay. At most EVENTS_MAX changes of these nodes follow it, and no
 * change of names, after which ids may mean something else. */
static uint64_t find_start(const struct recent *recent, const struct nodes *nodes)
{
    uint64_t first = recent_first(recent), start = recent->written, inside = 0;
    if (recent->written - first > LOOK_MAX)
        first = recent->written - LOOK_MAX;
    for (uint64_t i = recent->written; i-- > first;) {
        const struct recent_item *item = recent_at(recent, i);
        inside += is_inside(nodes, item);
        if (inside > EVENTS_MAX || item->kind == 0)
            break;
        if (item->kind == RECENT_EVENT)
            start = i;
    }
    return start;
}

/* Writes the event at `at`, unless it changes nothing inside. */
static void write_replay_event(struct json *json, const struct served *served,
                               const struct nodes *nodes, uint64_t at)
{
    const struct recent *recent = &served->recent;
    const struct recent_item *event = recent_at(recent, at);
    uint64_t i = at + 1, end = at + 1;
    if (event->kind != RECENT_EVENT)
        return;
    while (end < recent->written && recent_at(recent, end)->kind != RECENT_EVENT)
        end++;
    while (i < end && !is_inside(nodes, recent_at(recent, i)))
        i++;
    if (i == end)
        return;
    json_open(json, NULL, '{');
    json_key_u64(json, "at", event->at);
    json_key_u64(json, "seq", event->seq);
    json_key_text(json, "op", gordian_op_text((gordian_op)event->op));
    json_key_u64(json, "process", event->process);
    json_key_text(json, "result", served_outcome_text(served, event->result));
    json_open(json, "effects", '[');
    for (; i < end; i++)
        if (is_inside(nodes, recent_at(recent, i)))
            recent_json(json, recent_at(recent, i));
    json_shut(json);
    json_shut(json);
}

void incident_replay(struct service *service, struct served *served, const uint32_t *members,
                     size_t count, struct output *out)
{
    struct nodes *nodes = memory_zeroed(&service->memory, sizeof *nodes);
    if (!nodes)
        return;
    find_nodes(served, nodes, members, count);
    struct json json = {.out = out};
    const struct recent *recent = &served->recent;
    json_open(&json, NULL, '{');
    write_graph(&json, service, served, nodes, count);
    json_open(&json, "events", '[');
    for (uint64_t i = find_start(recent, nodes); i < recent->written; i++)
        write_replay_event(&json, served, nodes, i);
    json_shut(&json);
    json_shut(&json);
    memory_free(&service->memory, nodes);
}
