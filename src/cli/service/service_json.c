#include "cli/service/service_json.h"

#include "foundation/base/memory.h"

#include <stdio.h>
#include <string.h>

json_t *told_read(const char *text, size_t length)
{
    json_t *value = json_loadb(text, length, JSON_DECODE_ANY, NULL);
    /* Units may be more than jansson's integers hold. */
    return value ? value
                 : json_loadb(text, length, JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL, NULL);
}

const char *told_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

uint64_t told_number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    json_int_t number = json_integer_value(value);
    double real = json_real_value(value);
    if (real >= 1)
        return real < 0x1p64 ? (uint64_t)real : UINT64_MAX;
    return number > 0 ? (uint64_t)number : 0;
}

static const char *told_process(const void *context, uint32_t process)
{
    const struct told_witness *told = context;
    return names_text(&told->processes, process);
}

/* Awaits have no name: here each has one that begins with a blank, which no name does. */
static bool is_await(const struct told_witness *told, uint32_t resource)
{
    return *names_text(&told->resources, resource) == ' ';
}

static const char *told_resource(const void *context, uint32_t resource)
{
    const struct told_witness *told = context;
    return is_await(told, resource) ? "an act" : names_text(&told->resources, resource);
}

static const char *told_holding(const void *context, uint32_t resource)
{
    return is_await(context, resource) ? "of" : "held by";
}

void told_witness_init(struct told_witness *told)
{
    gordian_allocator memory = memory_allocator(NULL);
    *told = (struct told_witness){0};
    names_init(&told->processes, &memory);
    names_init(&told->resources, &memory);
    told->labels = (struct labels){told_process, told_resource, NULL, told, told_holding};
}

void told_witness_free(struct told_witness *told)
{
    gordian_allocator memory = memory_allocator(NULL);
    names_free(&told->processes);
    names_free(&told->resources);
    memory_free(&memory, told->edges);
    memory_free(&memory, told->waits);
    told->edges = NULL;
    told->waits = NULL;
}

/* The id of a name, a new one if it is. GORDIAN_NONE: out of memory. */
static uint32_t id_of(struct names *names, uint32_t *count, const char *name)
{
    size_t length = strnlen(name, GORDIAN_NAME_MAX);
    uint32_t id = names_find(names, name, length);
    if (id != GORDIAN_NONE)
        return id;
    return names_put(names, *count, name, length) ? (*count)++ : GORDIAN_NONE;
}

static bool add_edge(struct told_witness *told, const char *process, const char *resource,
                     uint64_t units, bool waits)
{
    gordian_allocator memory = memory_allocator(NULL);
    size_t count = told->witness.count;
    if (!process || !*process || !resource || !*resource ||
        !memory_grow(&memory, &told->edges, &told->edge_room, count + 1, sizeof *told->edges))
        return false;
    gordian_edge edge = {.units = units,
                         .process = id_of(&told->processes, &told->process_count, process),
                         .resource = id_of(&told->resources, &told->resource_count, resource),
                         .waits = waits};
    if (edge.process == GORDIAN_NONE || edge.resource == GORDIAN_NONE ||
        !memory_grow_zeroed(&memory, &told->waits, &told->waits_room, told->process_count,
                            sizeof *told->waits))
        return false;
    told->members += waits && !told->waits[edge.process];
    told->waits[edge.process] |= waits;
    told->edges[count] = edge;
    told->witness.edges = told->edges;
    told->witness.count++;
    return true;
}

/* [p, q, p', q', ...]: p waits for q, which p' holds. */
static bool read_cycle(struct told_witness *told, const json_t *list)
{
    size_t count = json_array_size(list);
    told->witness.cycle = true;
    for (size_t i = 0; i < count; i += 2) {
        const char *resource = json_string_value(json_array_get(list, i + 1));
        if (!add_edge(told, json_string_value(json_array_get(list, i)), resource, 1, true) ||
            !add_edge(told, json_string_value(json_array_get(list, (i + 2) % count)), resource, 1,
                      false))
            return false;
    }
    return true;
}

/* {"process":"ann","awaits":2,"of":["bob","cal"]} */
static bool read_await(struct told_witness *told, const json_t *item)
{
    char resource[32];
    size_t i;
    const json_t *other;
    snprintf(resource, sizeof resource, " %u", told->resource_count);
    if (!add_edge(told, told_text(item, "process"), resource, told_number(item, "awaits"), true))
        return false;
    json_array_foreach(json_object_get(item, "of"), i, other)
    {
        if (!add_edge(told, json_string_value(other), resource, 1, false))
            return false;
    }
    return true;
}

static bool read_edges(struct told_witness *told, const json_t *list)
{
    size_t i;
    const json_t *item;
    json_array_foreach((json_t *)list, i, item)
    {
        if (json_is_number(json_object_get(item, "awaits"))) {
            if (!read_await(told, item))
                return false;
            continue;
        }
        const char *wanted = json_string_value(json_object_get(item, "waits"));
        const char *held = json_string_value(json_object_get(item, "holds"));
        if (!json_is_number(json_object_get(item, "units")) ||
            !add_edge(told, told_text(item, "process"), wanted ? wanted : held,
                      told_number(item, "units"), wanted != NULL))
            return false;
    }
    return true;
}

bool told_witness_read(struct told_witness *told, const json_t *value)
{
    const json_t *first = json_array_get(value, 0);
    told_witness_free(told);
    told_witness_init(told);
    return first && (json_is_object(first) ? read_edges : read_cycle)(told, value);
}

uint32_t told_witness_find(const struct told_witness *told, const char *name)
{
    return names_find(&told->processes, name, strnlen(name, GORDIAN_NAME_MAX));
}
