#include "output/show/answer_json.h"

#include "foundation/base/json/json_read.h"
#include "foundation/base/json/json_write.h"
#include "foundation/base/memory.h"

#include <stdio.h>
#include <string.h>

const struct value *service_json_parse(struct arena *arena, const char *text, size_t length)
{
    gordian_allocator memory = memory_allocator(NULL);
    const struct value *value = NULL;
    arena_init(arena, &memory);
    json_read_strictly(&value, arena, text, length, false, NULL);
    return value;
}

const char *service_json_text(const struct value *object, const char *key)
{
    const char *text = value_text(value_find(object, key));
    return text ? text : "";
}

uint64_t service_json_number(const struct value *object, const char *key)
{
    const struct value *value = value_find(object, key);
    if (value_is(value, VALUE_REAL) && value->real >= 1) /* units may be 2^63 or more */
        return value->real < 0x1p64 ? (uint64_t)value->real : UINT64_MAX;
    return value_is(value, VALUE_INTEGER) && value->integer > 0 ? (uint64_t)value->integer : 0;
}

void service_json_write_names(const struct style *style, struct output *out,
                              const struct value *names, const char *before, const char *between)
{
    for (size_t i = 0; i < value_count(names); i++, before = between) {
        const char *name = value_text(value_item(names, i));
        output_text(out, before);
        style_name(style, out, COLOR_PROCESS, name ? name : "");
    }
}

void service_json_write(struct output *out, const struct value *value)
{
    bool dict = value->kind == VALUE_DICT;
    switch (value->kind) {
    case VALUE_BOOL:
        output_text(out, value->integer ? "true" : "false");
        break;
    case VALUE_INTEGER:
        output_i64(out, value->integer);
        break;
    case VALUE_REAL:
        output_format(out, "%.17g", value->real);
        break;
    case VALUE_TEXT:
        json_quote(out, value->text);
        break;
    case VALUE_LIST:
    case VALUE_DICT:
        output_char(out, dict ? '{' : '[');
        for (uint32_t i = 0; i < value->count; i++) {
            output_text(out, i ? "," : "");
            if (dict) {
                service_json_write(out, value->items[2 * i]);
                output_char(out, ':');
            }
            service_json_write(out, value->items[dict ? 2 * i + 1 : i]);
        }
        output_char(out, dict ? '}' : ']');
        break;
    default:
        output_text(out, "null");
    }
}

static const char *told_process(const void *context, uint32_t process)
{
    const struct parsed_witness *parsed = context;
    return names_text(&parsed->processes, process);
}

/* Awaits have no name. Here they get one that begins with a blank, which is not valid for names. */
static bool is_await_resource(const struct parsed_witness *parsed, uint32_t resource)
{
    return *names_text(&parsed->resources, resource) == ' ';
}

static const char *told_resource(const void *context, uint32_t resource)
{
    const struct parsed_witness *parsed = context;
    return is_await_resource(parsed, resource) ? "an act"
                                               : names_text(&parsed->resources, resource);
}

static const char *told_holding(const void *context, uint32_t resource)
{
    return is_await_resource(context, resource) ? "of" : "held by";
}

void parsed_witness_init(struct parsed_witness *parsed)
{
    gordian_allocator memory = memory_allocator(NULL);
    *parsed = (struct parsed_witness){0};
    names_init(&parsed->processes, &memory);
    names_init(&parsed->resources, &memory);
    parsed->labels = (struct labels){told_process, told_resource, NULL, parsed, told_holding};
}

void parsed_witness_free(struct parsed_witness *parsed)
{
    gordian_allocator memory = memory_allocator(NULL);
    names_free(&parsed->processes);
    names_free(&parsed->resources);
    memory_free_all(&memory, parsed->edges, parsed->waits);
    parsed->edges = NULL;
    parsed->waits = NULL;
}

/* Returns the id of a name, possibly a new one. GORDIAN_NONE: out of memory. */
static uint32_t id_of_name(struct names *names, uint32_t *count, const char *name)
{
    size_t length = strnlen(name, GORDIAN_NAME_MAX);
    uint32_t id = names_find(names, name, length);
    if (id != GORDIAN_NONE)
        return id;
    return names_put(names, *count, name, length) ? (*count)++ : GORDIAN_NONE;
}

static bool add_witness_edge(struct parsed_witness *parsed, const char *process,
                             const char *resource, uint64_t units, bool waits)
{
    gordian_allocator memory = memory_allocator(NULL);
    size_t count = parsed->witness.count;
    if (!process || !*process || !resource || !*resource ||
        !memory_grow(&memory, &parsed->edges, &parsed->edge_capacity, count + 1,
                     sizeof *parsed->edges))
        return false;
    gordian_edge edge = {.units = units,
                         .process = id_of_name(&parsed->processes, &parsed->process_count, process),
                         .resource =
                             id_of_name(&parsed->resources, &parsed->resource_count, resource),
                         .waits = waits};
    if (edge.process == GORDIAN_NONE || edge.resource == GORDIAN_NONE ||
        !memory_grow_zeroed(&memory, &parsed->waits, &parsed->waits_capacity, parsed->process_count,
                            sizeof *parsed->waits))
        return false;
    parsed->members += waits && !parsed->waits[edge.process];
    parsed->waits[edge.process] |= waits;
    parsed->edges[count] = edge;
    parsed->witness.edges = parsed->edges;
    parsed->witness.count++;
    return true;
}

/* Reads [p, q, p', q', ...]: p waits for q, which p' holds. */
static bool read_cycle(struct parsed_witness *parsed, const struct value *list)
{
    size_t count = value_count(list);
    parsed->witness.cycle = true;
    for (size_t i = 0; i < count; i += 2) {
        const char *resource = value_text(value_item(list, i + 1));
        if (!add_witness_edge(parsed, value_text(value_item(list, i)), resource, 1, true) ||
            !add_witness_edge(parsed, value_text(value_item(list, (i + 2) % count)), resource, 1,
                              false))
            return false;
    }
    return true;
}

/* {"process":"ann","awaits":2,"of":["bob","cal"]} */
static bool read_await(struct parsed_witness *parsed, const struct value *item)
{
    char resource[32];
    size_t i;
    const struct value *other;
    snprintf(resource, sizeof resource, " %u", parsed->resource_count);
    if (!add_witness_edge(parsed, service_json_text(item, "process"), resource,
                          service_json_number(item, "awaits"), true))
        return false;
    for (i = 0; (other = value_item(value_find(item, "of"), i)) != NULL; i++) {
        if (!add_witness_edge(parsed, value_text(other), resource, 1, false))
            return false;
    }
    return true;
}

static bool is_number(const struct value *value)
{
    return value_is(value, VALUE_INTEGER) || value_is(value, VALUE_REAL);
}

static bool read_edges(struct parsed_witness *parsed, const struct value *list)
{
    size_t i;
    const struct value *item;
    for (i = 0; (item = value_item(list, i)) != NULL; i++) {
        if (is_number(value_find(item, "awaits"))) {
            if (!read_await(parsed, item))
                return false;
            continue;
        }
        const char *wanted = value_text(value_find(item, "waits"));
        const char *held = value_text(value_find(item, "holds"));
        if (!is_number(value_find(item, "units")) ||
            !add_witness_edge(parsed, service_json_text(item, "process"), wanted ? wanted : held,
                              service_json_number(item, "units"), wanted != NULL))
            return false;
    }
    return true;
}

bool parsed_witness_read(struct parsed_witness *parsed, const struct value *value)
{
    const struct value *first = value_item(value, 0);
    parsed_witness_free(parsed);
    parsed_witness_init(parsed);
    return first && (value_is(first, VALUE_DICT) ? read_edges : read_cycle)(parsed, value);
}

uint32_t parsed_witness_find(const struct parsed_witness *parsed, const char *name)
{
    return names_find(&parsed->processes, name, strnlen(name, GORDIAN_NAME_MAX));
}
