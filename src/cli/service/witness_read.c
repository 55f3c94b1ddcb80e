#include "cli/service/witness_read.h"

#include "base/memory.h"

#include <string.h>

static const char *told_process(const void *context, uint32_t process)
{
    const struct told_witness *told = context;
    return names_text(&told->processes, process);
}

static const char *told_resource(const void *context, uint32_t resource)
{
    const struct told_witness *told = context;
    return names_text(&told->resources, resource);
}

void told_witness_init(struct told_witness *told)
{
    gordian_allocator memory = memory_allocator(NULL);
    *told = (struct told_witness){0};
    names_init(&told->processes, &memory);
    names_init(&told->resources, &memory);
    told->labels = (struct labels){told_process, told_resource, NULL, told, NULL};
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
    if (!*process || !*resource ||
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
static bool read_cycle(struct told_witness *told, struct json_value rest)
{
    char first[GORDIAN_NAME_MAX * 3 + 1] = "", process[sizeof first], resource[sizeof first];
    char held[sizeof first] = "";
    struct json_value item;
    told->witness.cycle = true;
    while (json_item(&rest, &item)) {
        if (!json_string(item, process, sizeof process) || !json_item(&rest, &item) ||
            !json_string(item, resource, sizeof resource))
            return false;
        if (!*first)
            memcpy(first, process, sizeof first);
        else if (!add_edge(told, process, held, 1, false))
            return false;
        if (!add_edge(told, process, resource, 1, true))
            return false;
        memcpy(held, resource, sizeof held);
    }
    return *first && add_edge(told, first, held, 1, false);
}

static bool read_edges(struct told_witness *told, struct json_value rest)
{
    char process[GORDIAN_NAME_MAX * 3 + 1], resource[sizeof process];
    struct json_value item;
    while (json_item(&rest, &item)) {
        uint64_t units;
        bool waits = json_member_string(item, "waits", resource, sizeof resource);
        if (!waits && !json_member_string(item, "holds", resource, sizeof resource))
            return false;
        if (!json_member_string(item, "process", process, sizeof process) ||
            !json_member_number(item, "units", &units) ||
            !add_edge(told, process, resource, units, waits))
            return false;
    }
    return told->witness.count > 0;
}

bool told_witness_read(struct told_witness *told, struct json_value value)
{
    struct json_value rest = json_items(value), look = rest, item;
    told_witness_free(told);
    told_witness_init(told);
    if (!json_item(&look, &item))
        return false;
    return item.text[0] == '{' ? read_edges(told, rest) : read_cycle(told, rest);
}

uint32_t told_witness_find(const struct told_witness *told, const char *name)
{
    return names_find(&told->processes, name, strnlen(name, GORDIAN_NAME_MAX));
}
