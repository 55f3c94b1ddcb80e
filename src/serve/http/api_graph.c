/* A system's graph, or the part of it that was asked for: nodes are picked first, what matters most
 * before the rest, up to the limit; then the edges between them are written. */
#include "serve/http/api.h"

#include "base/bits.h"
#include "base/memory.h"
#include "serve/http/sse.h"

#include <string.h>

#define EDGES_A_NODE 8 /* written at most, on average */
#define DEPTH        2
#define DEPTH_MAX    1000

struct list {
    uint64_t *set; /* of ids */
    uint32_t *ids;
    size_t count, room;
};

struct picker {
    struct api_call *call;
    struct served *system;
    gordian_allocator memory;
    struct list processes, resources;
    size_t limit;
    bool full;            /* something was left out */
    bool broken;          /* no memory */
    const uint64_t *dead; /* set of processes that can never run again */
    size_t dead_words;
};

/* ------------------------------------------------------------------ picking nodes */

static bool is_dead(const struct picker *picker, uint32_t process)
{
    return process / 64 < picker->dead_words && bits_test(picker->dead, process) &&
           picker->system->processes[process].since; /* what was found may be some seconds old */
}

/* True: it is among them now, and was not before. */
static bool pick_one(struct picker *picker, struct list *list, uint32_t id)
{
    if (bits_test(list->set, id))
        return false;
    if (picker->processes.count + picker->resources.count >= picker->limit) {
        picker->full = true;
        return false;
    }
    if (!memory_grow(&picker->memory, &list->ids, &list->room, list->count + 1,
                     sizeof *list->ids)) {
        picker->broken = true;
        return false;
    }
    bits_set(list->set, id);
    list->ids[list->count++] = id;
    return true;
}

static bool is_done(const struct picker *picker)
{
    return picker->full || picker->broken;
}

static const gordian_edge *edges_of(struct picker *picker, enum served_side side, uint32_t id,
                                    size_t *count)
{
    const gordian_edge *edges = NULL;
    *count = 0;
    if (served_edges(picker->system, side, id, &edges, count, NULL) != GORDIAN_OK) {
        picker->broken = true;
        *count = 0;
    }
    return edges;
}

/* A process's neighbours on one side; a resource's likewise. */
static void pick_side(struct picker *picker, enum served_side side, uint32_t id)
{
    size_t count;
    bool of_process = side == SERVED_HELD || side == SERVED_WANTED;
    const gordian_edge *edges = edges_of(picker, side, id, &count);
    for (size_t i = 0; i < count && !is_done(picker); i++)
        pick_one(picker, of_process ? &picker->resources : &picker->processes,
                 of_process ? edges[i].resource : edges[i].process);
}

static void pick_with_resources(struct picker *picker, uint32_t process)
{
    pick_one(picker, &picker->processes, process);
    if (bits_test(picker->processes.set, process)) {
        pick_side(picker, SERVED_WANTED, process);
        pick_side(picker, SERVED_HELD, process);
    }
}

static void pick_dead(struct picker *picker)
{
    for (size_t word = 0; word < picker->dead_words; word++)
        for (uint64_t bits = picker->dead[word]; bits && !is_done(picker); bits &= bits - 1) {
            uint32_t process = (uint32_t)(word * 64 + (size_t)__builtin_ctzll(bits));
            if (is_dead(picker, process))
                pick_with_resources(picker, process);
        }
}

/* Those that wait, what they wait for, and who has it. */
static void pick_waiting(struct picker *picker)
{
    uint32_t limit = picker->system->process_room, left = picker->system->waiting;
    size_t first = picker->resources.count;
    for (uint32_t i = 0; i < limit && left > 0 && !is_done(picker); i++) {
        if (!picker->system->processes[i].since)
            continue;
        left--;
        if (pick_one(picker, &picker->processes, i) || bits_test(picker->processes.set, i))
            pick_side(picker, SERVED_WANTED, i);
    }
    for (size_t i = first; i < picker->resources.count && !is_done(picker); i++)
        pick_side(picker, SERVED_HOLDERS, picker->resources.ids[i]);
}

static void pick_all(struct picker *picker)
{
    char buffer[GORDIAN_NAME_MAX + 1];
    const struct served *system = picker->system;
    uint32_t processes = served_process_limit(system), resources = served_resource_limit(system);
    for (uint32_t i = 0; i < processes && !is_done(picker); i++)
        if (served_process_name(system, i, buffer))
            pick_with_resources(picker, i);
    for (uint32_t i = 0; i < resources && !is_done(picker); i++)
        if (served_resource_name(system, i, buffer))
            pick_one(picker, &picker->resources, i);
}

/* The neighbourhood of one node, `depth` steps along edges in any direction. */
static bool pick_around(struct picker *picker, const char *name, uint64_t depth)
{
    size_t length = strlen(name), process_done = 0, resource_done = 0;
    uint32_t process = served_find_process(picker->system, name, length);
    uint32_t resource = served_find_resource(picker->system, name, length);
    if (process != GORDIAN_NONE)
        pick_one(picker, &picker->processes, process);
    if (resource != GORDIAN_NONE)
        pick_one(picker, &picker->resources, resource);
    for (uint64_t step = 0; step < depth && !is_done(picker); step++) {
        size_t process_end = picker->processes.count, resource_end = picker->resources.count;
        if (process_done == process_end && resource_done == resource_end)
            break;
        for (; process_done < process_end && !is_done(picker); process_done++) {
            pick_side(picker, SERVED_WANTED, picker->processes.ids[process_done]);
            pick_side(picker, SERVED_HELD, picker->processes.ids[process_done]);
        }
        for (; resource_done < resource_end && !is_done(picker); resource_done++) {
            pick_side(picker, SERVED_HOLDERS, picker->resources.ids[resource_done]);
            pick_side(picker, SERVED_WAITERS, picker->resources.ids[resource_done]);
        }
    }
    return process != GORDIAN_NONE || resource != GORDIAN_NONE;
}

/* ------------------------------------------------------------------ writing */

static void write_nodes(struct picker *picker, struct json *json)
{
    json_open(json, "processes", '[');
    for (size_t i = 0; i < picker->processes.count; i++) {
        uint32_t id = picker->processes.ids[i];
        service_process_node(json, picker->call->api->service, picker->system, id,
                             is_dead(picker, id));
    }
    json_shut(json);
    json_open(json, "resources", '[');
    for (size_t i = 0; i < picker->resources.count; i++)
        service_resource_node(json, picker->system, picker->resources.ids[i]);
    json_shut(json);
}

static void write_edges(struct picker *picker, struct json *json)
{
    static const enum served_side sides[] = {SERVED_WANTED, SERVED_HELD};
    size_t left = picker->limit * EDGES_A_NODE;
    json_open(json, "edges", '[');
    for (size_t i = 0; i < 2 * picker->processes.count; i++) {
        size_t count;
        const gordian_edge *edges =
            edges_of(picker, sides[i % 2], picker->processes.ids[i / 2], &count);
        for (size_t j = 0; j < count; j++) {
            if (!bits_test(picker->resources.set, edges[j].resource) || left == 0) {
                picker->full = true;
                continue;
            }
            left--;
            service_graph_edge(json, picker->system, &edges[j]);
        }
    }
    json_shut(json);
}

/* ------------------------------------------------------------------ the whole */

static bool open_picker(struct picker *picker)
{
    size_t processes = bits_words(served_process_limit(picker->system)) + 1;
    size_t resources = bits_words(served_resource_limit(picker->system)) + 1;
    picker->memory = memory_allocator(NULL);
    picker->processes.set = memory_zeroed(&picker->memory, processes * sizeof(uint64_t));
    picker->resources.set = memory_zeroed(&picker->memory, resources * sizeof(uint64_t));
    rates_dead(&picker->call->api->rates, picker->system, &picker->dead, &picker->dead_words);
    return picker->processes.set && picker->resources.set;
}

static void close_picker(struct picker *picker)
{
    memory_free(&picker->memory, picker->processes.set);
    memory_free(&picker->memory, picker->processes.ids);
    memory_free(&picker->memory, picker->resources.set);
    memory_free(&picker->memory, picker->resources.ids);
}

static int pick_nodes(struct picker *picker)
{
    struct api_call *call = picker->call;
    const char *around = http_query(call->request, "around");
    const char *only = http_query(call->request, "only");
    uint64_t depth;
    if (!api_number(call, "depth", DEPTH, DEPTH_MAX, &depth))
        return api_fail(call, 400, "'depth' is not a number");
    if (around && *around) {
        if (!pick_around(picker, around, depth))
            return api_fail(call, 404, "there is no process and no resource '%.100s'", around);
        return 200;
    }
    if (only && *only && strcmp(only, "deadlocked") != 0 && strcmp(only, "waiting") != 0)
        return api_fail(call, 400, "'only' can be 'deadlocked' or 'waiting'");
    pick_dead(picker);
    if (only && strcmp(only, "deadlocked") == 0)
        return 200;
    pick_waiting(picker);
    if (!only || !*only)
        pick_all(picker);
    return 200;
}

int api_graph(struct api_call *call)
{
    struct picker picker = {.call = call, .system = call->system};
    uint64_t limit;
    if (!api_number(call, "limit", API_NODES, API_NODES_MAX, &limit))
        return api_fail(call, 400, "'limit' is not a number");
    picker.limit = (size_t)limit;
    /* Watchers are brought up to here: what they get next begins where this graph ends. */
    sse_flush(call->api->sse, call->system);
    int status = open_picker(&picker) ? pick_nodes(&picker) : 503;
    if (status == 200) {
        struct json json;
        json_begin(&json, &call->out);
        json_key_text(&json, "system", call->system->name);
        json_key_u64(&json, "seq", call->system->seq);
        write_nodes(&picker, &json);
        write_edges(&picker, &json);
        json_key_bool(&json, "truncated", picker.full);
        json_end(&json);
    }
    if (picker.broken || status == 503)
        status = api_fail(call, 503, "out of memory");
    close_picker(&picker);
    return status;
}
