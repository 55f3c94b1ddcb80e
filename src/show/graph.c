#include "show/graph.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ labels */

static const char *system_process(const void *context, uint32_t process)
{
    return gordian_process_name(context, process);
}

static const char *system_resource(const void *context, uint32_t resource)
{
    return gordian_resource_name(context, resource);
}

static uint64_t system_free_units(const void *context, uint32_t resource)
{
    return gordian_free_units(context, resource);
}

struct labels labels_of_system(const gordian_system *system)
{
    return (struct labels){system_process, system_resource, system_free_units, system};
}

static const char *names_process(const void *context, uint32_t process)
{
    return gordian_names_process(context, process);
}

static const char *names_resource(const void *context, uint32_t resource)
{
    return gordian_names_resource(context, resource);
}

struct labels labels_of_names(const gordian_names *names)
{
    return (struct labels){names_process, names_resource, NULL, names};
}

/* ------------------------------------------------------------------ lists */

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

bool name_list_sorted(struct name_list *list, const struct labels *labels, const uint32_t *ids,
                      size_t count)
{
    gordian_allocator memory = memory_allocator(NULL);
    if (!memory_grow(&memory, &list->names, &list->room, count, sizeof *list->names))
        return false;
    for (size_t i = 0; i < count; i++)
        list->names[i] = process_label(labels, ids[i]);
    list->count = count;
    if (count > 1)
        qsort(list->names, count, sizeof *list->names, compare_names);
    return true;
}

void name_list_free(struct name_list *list)
{
    gordian_allocator memory = memory_allocator(NULL);
    memory_free(&memory, list->names);
    *list = (struct name_list){0};
}

/* ------------------------------------------------------------------ JSON */

void json_names(struct json *json, const char *key, const struct name_list *list)
{
    json_open(json, key, '[');
    for (size_t i = 0; i < list->count; i++)
        json_text(json, list->names[i]);
    json_shut(json);
}

void json_processes(struct json *json, const char *key, const struct labels *labels,
                    const uint32_t *ids, size_t count)
{
    json_open(json, key, '[');
    for (size_t i = 0; i < count; i++)
        json_text(json, process_label(labels, ids[i]));
    json_shut(json);
}

static void json_edge(struct json *json, const struct labels *labels, const gordian_edge *edge)
{
    json_open(json, NULL, '{');
    json_key_text(json, "process", process_label(labels, edge->process));
    json_key_text(json, edge->waits ? "waits" : "holds", resource_label(labels, edge->resource));
    json_key_u64(json, "units", edge->units);
    json_shut(json);
}

void json_witness(struct json *json, const struct labels *labels, const gordian_witness *witness)
{
    json_open(json, "witness", '[');
    for (size_t i = 0; i < witness->count; i++) {
        const gordian_edge *edge = &witness->edges[i];
        if (!witness->cycle) {
            json_edge(json, labels, edge);
        } else if (edge->waits) {
            json_text(json, process_label(labels, edge->process));
            json_text(json, resource_label(labels, edge->resource));
        }
    }
    json_shut(json);
}
