/* Copies a graph to bytes, and writes the copy as JSON. */
#include "service/serve/http/graph_copy.h"

#include "output/show/json.h"

#include <stdio.h>

void graph_copy_init(struct graph_copy *copy, const struct served *served)
{
    gordian_allocator memory = memory_allocator(NULL); /* used by two threads */
    *copy = (struct graph_copy){.seq = served->seq};
    bytes_init(&copy->bytes, &memory);
    snprintf(copy->system, sizeof copy->system, "%s", served->name);
}

void graph_copy_free(struct graph_copy *copy)
{
    bytes_free(&copy->bytes);
}

/* ------------------------------------------------------------------ copying */

/* Copies the text with its NUL, so that it can be used in place. */
static void put_copied_text(struct bytes *bytes, const char *text)
{
    bytes_text(bytes, text, strlen(text) + 1);
}

static void put_copied_labels(struct bytes *bytes, const struct tag_texts *labels)
{
    bytes_u64(bytes, labels->count);
    for (uint32_t i = 0; i < labels->count; i++)
        put_copied_text(bytes, labels->texts[i]);
}

void graph_copy_process(struct graph_copy *copy, const struct process_node *node)
{
    struct bytes *bytes = &copy->bytes;
    bytes_u64(bytes, (uint64_t)node->id << 1 | node->deadlocked);
    bytes_u64(bytes, node->since);
    put_copied_text(bytes, node->name);
    put_copied_text(bytes, node->owner);
    put_copied_labels(bytes, &node->labels);
    copy->processes++;
}

void graph_copy_resource(struct graph_copy *copy, const struct resource_node *node)
{
    struct bytes *bytes = &copy->bytes;
    bytes_u64(bytes, (uint64_t)node->id << 1 | node->is_await);
    bytes_u64(bytes, node->units);
    bytes_u64(bytes, node->free_units);
    put_copied_text(bytes, node->name);
    put_copied_labels(bytes, &node->labels);
    copy->resources++;
}

void graph_copy_edge(struct graph_copy *copy, const gordian_edge *edge)
{
    struct bytes *bytes = &copy->bytes;
    bytes_u64(bytes, (uint64_t)edge->process << 1 | edge->waits);
    bytes_u64(bytes, edge->resource);
    bytes_u64(bytes, edge->units);
    copy->edges++;
}

/* ------------------------------------------------------------------ writing */

static const char *take_copied_text(struct bytes_in *in)
{
    size_t length;
    const char *text = bytes_take_text(in, &length);
    return text ? text : "";
}

static void take_labels(struct bytes_in *in, struct tag_texts *labels)
{
    labels->count = (uint32_t)bytes_take_upto(in, sizeof labels->texts / sizeof *labels->texts);
    for (uint32_t i = 0; i < labels->count; i++)
        labels->texts[i] = take_copied_text(in);
}

static void write_copied_process(struct json *json, struct bytes_in *in)
{
    struct process_node node;
    uint64_t id = bytes_take_u64(in);
    node.id = (uint32_t)(id >> 1);
    node.deadlocked = id & 1;
    node.since = bytes_take_u64(in);
    node.name = take_copied_text(in);
    node.owner = take_copied_text(in);
    take_labels(in, &node.labels);
    process_node_json(json, &node);
}

static void write_copied_resource(struct json *json, struct bytes_in *in)
{
    struct resource_node node;
    uint64_t id = bytes_take_u64(in);
    node.id = (uint32_t)(id >> 1);
    node.is_await = id & 1;
    node.units = bytes_take_u64(in);
    node.free_units = bytes_take_u64(in);
    node.name = take_copied_text(in);
    take_labels(in, &node.labels);
    resource_node_json(json, &node);
}

static void write_copied_edge(struct json *json, struct bytes_in *in)
{
    gordian_edge edge = {0};
    uint64_t process = bytes_take_u64(in);
    edge.process = (uint32_t)(process >> 1);
    edge.waits = process & 1;
    edge.resource = (uint32_t)bytes_take_u64(in);
    edge.units = bytes_take_u64(in);
    json_graph_edge(json, &edge);
}

static void write_copied(struct json *json, struct bytes_in *in, const char *key, uint32_t count,
                         void (*write_one)(struct json *json, struct bytes_in *in))
{
    json_open(json, key, '[');
    for (uint32_t i = 0; i < count && !in->bad; i++)
        write_one(json, in);
    json_shut(json);
}

void graph_copy_write(const struct graph_copy *copy, struct json *json)
{
    const struct bytes *bytes = &copy->bytes;
    struct bytes_in in = {.at = bytes->data, .end = bytes->data ? bytes->data + bytes->used : NULL};
    json_key_text(json, "system", copy->system);
    json_key_u64(json, "seq", copy->seq);
    write_copied(json, &in, "processes", copy->processes, write_copied_process);
    write_copied(json, &in, "resources", copy->resources, write_copied_resource);
    write_copied(json, &in, "edges", copy->edges, write_copied_edge);
    json_key_bool(json, "truncated", copy->truncated);
}
