/* Writes witnesses, victims, answers and graphs as JSON. */
#include "output/show/json.h"

#include "foundation/base/memory.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ processes */

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

/* ------------------------------------------------------------------ deadlocks */

/* Is the resource an await, held by the processes that can act? */
static bool is_await(const struct labels *labels, uint32_t resource)
{
    return labels->holding && strcmp(labels->holding(labels->context, resource), "of") == 0;
}

/* The holds of awaits, sorted by resource: resource number << 32 | edge number. */
struct acts {
    uint64_t *list;
    size_t count;
};

static int compare_acts(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static void acts_open(struct acts *acts, const struct labels *labels,
                      const gordian_witness *witness)
{
    gordian_allocator memory = memory_allocator(NULL);
    *acts = (struct acts){memory_alloc(&memory, (witness->count + 1) * sizeof *acts->list), 0};
    for (size_t i = 0; acts->list && i < witness->count; i++)
        if (!witness->edges[i].waits && is_await(labels, witness->edges[i].resource))
            acts->list[acts->count++] = (uint64_t)witness->edges[i].resource << 32 | (uint32_t)i;
    if (acts->count)
        qsort(acts->list, acts->count, sizeof *acts->list, compare_acts);
}

static size_t first_act(const struct acts *acts, uint32_t resource)
{
    size_t low = 0, high = acts->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (acts->list[middle] >> 32 < resource)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Writes {"process":"ann","awaits":1,"of":["bob","cal"]}, with the members whose acts it waits
 * for. */
static void write_await(struct json *json, const struct labels *labels, const struct acts *acts,
                        const gordian_witness *witness, const gordian_edge *wait)
{
    json_open(json, NULL, '{');
    json_key_text(json, "process", process_label(labels, wait->process));
    json_key_u64(json, "awaits", wait->units);
    json_open(json, "of", '[');
    for (size_t i = first_act(acts, wait->resource);
         i < acts->count && acts->list[i] >> 32 == wait->resource; i++)
        json_text(json, process_label(labels, witness->edges[(uint32_t)acts->list[i]].process));
    json_shut(json);
    json_shut(json);
}

static void write_edges(struct json *json, const struct labels *labels,
                        const gordian_witness *witness)
{
    struct acts acts;
    gordian_allocator memory = memory_allocator(NULL);
    acts_open(&acts, labels, witness);
    for (size_t i = 0; i < witness->count; i++) {
        const gordian_edge *edge = &witness->edges[i];
        if (!is_await(labels, edge->resource)) {
            json_open(json, NULL, '{');
            json_key_text(json, "process", process_label(labels, edge->process));
            json_key_text(json, edge->waits ? "waits" : "holds",
                          resource_label(labels, edge->resource));
            json_key_u64(json, "units", edge->units);
            json_shut(json);
        } else if (edge->waits)
            write_await(json, labels, &acts, witness, edge);
    }
    memory_free(&memory, acts.list);
}

void json_witness(struct json *json, const char *key, const struct labels *labels,
                  const gordian_witness *witness)
{
    json_open(json, key, '[');
    for (size_t i = 0; witness->cycle && i < witness->count; i += 2) {
        json_text(json, process_label(labels, witness->edges[i].process));
        json_text(json, resource_label(labels, witness->edges[i].resource));
    }
    if (!witness->cycle)
        write_edges(json, labels, witness);
    json_shut(json);
}

void json_victim(struct json *json, const struct labels *labels, gordian_policy policy,
                 const gordian_victim *victim)
{
    json_open(json, NULL, '{');
    json_key_text(json, "process", process_label(labels, victim->process));
    json_key_text(json, "policy", gordian_policy_text(policy));
    json_key_i64(json, "weight", victim->weight);
    json_open(json, "frees", '[');
    for (size_t i = 0; i < victim->frees_count; i++)
        json_text(json, resource_label(labels, victim->frees[i].resource));
    json_shut(json);
    json_processes(json, "granted_to", labels, victim->served, victim->served_count);
    json_shut(json);
}

/* ------------------------------------------------------------------ answers of a bank */

/* Writes the missing units of the first process among `count`, {"r0":3,"r2":1}, and returns their
 * number. */
static size_t write_lacks(struct json *json, const char *key, const struct labels *labels,
                          const gordian_lack *lacks, size_t count)
{
    size_t i = 0;
    json_open(json, key, '{');
    for (; i < count && lacks[i].process == lacks[0].process; i++)
        json_name_u64(json, resource_label(labels, lacks[i].resource), lacks[i].units);
    json_shut(json);
    return i;
}

void json_reasons(struct json *json, const struct labels *labels, const gordian_answer *answer)
{
    if (answer->verdict == GORDIAN_VERDICT_GRANTED)
        json_processes(json, "sequence", labels, answer->sequence, answer->sequence_count);
    else if (answer->verdict == GORDIAN_VERDICT_UNSAFE) {
        size_t next = 0;
        json_open(json, "stuck", '[');
        for (size_t i = 0; i < answer->stuck_count; i++) {
            bool lacks =
                next < answer->lack_count && answer->lacks[next].process == answer->stuck[i];
            json_open(json, NULL, '{');
            json_key_text(json, "process", process_label(labels, answer->stuck[i]));
            next += write_lacks(json, "lacks", labels, answer->lacks + next,
                                lacks ? answer->lack_count - next : 0);
            json_shut(json);
        }
        json_shut(json);
    } else if (answer->verdict == GORDIAN_VERDICT_UNAVAILABLE && answer->lack_count > 0)
        write_lacks(json, "short", labels, answer->lacks, answer->lack_count);
}

/* ------------------------------------------------------------------ graphs */

void json_resource_members(struct json *json, uint32_t id, const char *name, uint64_t units,
                           uint64_t free_units)
{
    json_key_u64(json, "id", id);
    json_key_text(json, "name", name);
    json_key_u64(json, "units", units);
    json_key_u64(json, "free", free_units);
}

void json_await_node(struct json *json, uint32_t id, uint64_t acts)
{
    json_open(json, NULL, '{');
    json_key_u64(json, "id", id);
    json_key_text(json, "name", "");
    json_key_bool(json, "await", true);
    json_key_u64(json, "units", acts);
    json_key_u64(json, "free", 0);
    json_shut(json);
}

void json_graph_edge(struct json *json, const gordian_edge *edge)
{
    json_open(json, NULL, '{');
    json_key_u64(json, "process", edge->process);
    json_key_u64(json, "resource", edge->resource);
    json_key_u64(json, "units", edge->units);
    json_key_bool(json, "waits", edge->waits);
    json_shut(json);
}
