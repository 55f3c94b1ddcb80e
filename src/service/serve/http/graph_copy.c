#include "service/serve/http/graph_copy.h"

#include "output/show/json.h"

#include <stdio.h>

void graph_copy_init(struct graph_copy *copy, const struct served *served)
{
    gordian_allocator memory = memory_allocator(NULL); /* not the loop's alone */
    *copy = (struct graph_copy){.seq = served->seq};
    bytes_init(&copy->bytes, &memory);
    snprintf(copy->system, sizeof copy->system, "%s", served->name);
}

void graph_copy_free(struct graph_copy *copy)
{
    bytes_free(&copy->bytes);
}

/* ------------------------------------------------------------------ copying */

/* What has a size of its own is copied in one piece; the texts follow, each with its NUL, so that
 * they can be used where they lie. */
struct process_part {
    uint64_t since;
    uint32_t id;
    uint32_t name, owner; /* bytes */
    uint16_t labels;
    bool deadlocked;
};

struct resource_part {
    uint64_t units, free_units;
    uint32_t id;
    uint32_t name; /* bytes */
    uint16_t labels;
    bool is_await;
};

static void put_copied_labels(struct bytes *bytes, const struct tag_texts *labels)
{
    for (uint32_t i = 0; i < labels->count; i++)
        bytes_text(bytes, labels->texts[i], strlen(labels->texts[i]) + 1);
}

void graph_copy_process(struct graph_copy *copy, const struct process_node *node)
{
    struct bytes *bytes = &copy->bytes;
    const struct process_part part = {
        .since = node->since,
        .id = node->id,
        .name = (uint32_t)strlen(node->name) + 1,
        .owner = (uint32_t)strlen(node->owner) + 1,
        .labels = (uint16_t)node->labels.count,
        .deadlocked = node->deadlocked,
    };
    bytes_put(bytes, &part, sizeof part);
    bytes_put(bytes, node->name, part.name);
    bytes_put(bytes, node->owner, part.owner);
    put_copied_labels(bytes, &node->labels);
    copy->processes++;
}

void graph_copy_resource(struct graph_copy *copy, const struct resource_node *node)
{
    struct bytes *bytes = &copy->bytes;
    const struct resource_part part = {
        .units = node->units,
        .free_units = node->free_units,
        .id = node->id,
        .name = (uint32_t)strlen(node->name) + 1,
        .labels = (uint16_t)node->labels.count,
        .is_await = node->is_await,
    };
    bytes_put(bytes, &part, sizeof part);
    bytes_put(bytes, node->name, part.name);
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

static void take_copied_part(struct bytes_in *in, void *part, size_t size)
{
    const uint8_t *bytes = bytes_take(in, size);
    if (bytes)
        memcpy(part, bytes, size);
}

static const char *take_copied_text(struct bytes_in *in, size_t size)
{
    const uint8_t *text = bytes_take(in, size);
    return text ? (const char *)text : "";
}

static void take_labels(struct bytes_in *in, struct tag_texts *labels, uint32_t count)
{
    size_t length;
    labels->count = count;
    for (uint32_t i = 0; i < count; i++) {
        const char *text = bytes_take_text(in, &length);
        labels->texts[i] = text ? text : "";
    }
}

static void write_copied_process(struct json *json, struct bytes_in *in)
{
    struct process_part part = {0};
    struct process_node node;
    take_copied_part(in, &part, sizeof part);
    node.id = part.id;
    node.deadlocked = part.deadlocked;
    node.since = part.since;
    node.name = take_copied_text(in, part.name);
    node.owner = take_copied_text(in, part.owner);
    take_labels(in, &node.labels, part.labels);
    process_node_json(json, &node);
}

static void write_copied_resource(struct json *json, struct bytes_in *in)
{
    struct resource_part part = {0};
    struct resource_node node;
    take_copied_part(in, &part, sizeof part);
    node.id = part.id;
    node.is_await = part.is_await;
    node.units = part.units;
    node.free_units = part.free_units;
    node.name = take_copied_text(in, part.name);
    take_labels(in, &node.labels, part.labels);
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
