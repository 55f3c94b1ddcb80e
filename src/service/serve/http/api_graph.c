/* Answers a query of a system's graph. It first picks nodes up to the limit, the most important
 * ones first. Then it copies them and the edges between them. Finally it writes the copy, in a
 * thread if it is long. */
#include "service/serve/http/api.h"

#include "foundation/base/bits.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"
#include "service/serve/http/graph_copy.h"
#include "service/serve/http/sse.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define DEPTH      2
#define DEPTH_MAX  1000
#define LOOK_MAX   (1u << 17) /* nodes examined for waiting ones */
#define NODE_BYTES 50         /* estimated bytes per node of a copy */
#define AT_ONCE    100        /* nodes and edges: a thread writes larger copies */
#define TIMES_MOST 12         /* maximum iterations, restarts included; then it finishes at once */

struct list {
    uint64_t *set; /* bit set of ids */
    uint32_t *ids;
    size_t count, room;
};

struct picker {
    const struct graph_ask *ask;
    struct served *system;
    gordian_allocator memory;
    struct list processes, resources;
    size_t limit;
    bool full;     /* the limit is reached */
    bool partial;  /* some nodes were not examined */
    bool broken;   /* out of memory */
    char *message; /* error message, unless the status is 200: GRAPH_MESSAGE bytes */
    gordian_edge edges[API_SIDE_MAX + 1]; /* of the current node */
};

/* ------------------------------------------------------------------ picking nodes */

static bool is_dead_process(const struct picker *picker, uint32_t process)
{
    return process / 64 < picker->ask->dead_words && bits_test(picker->ask->dead, process) &&
           picker->system->processes[process].since; /* the set may be some seconds old */
}

/* Adds a node. Returns true if it is new. */
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

static bool is_graph_done(const struct picker *picker)
{
    return picker->full || picker->broken;
}

static const gordian_edge *edges_of(struct picker *picker, enum served_side side, uint32_t id,
                                    size_t *count)
{
    *count = served_first_edges(picker->system, side, id, picker->edges,
                                sizeof picker->edges / sizeof *picker->edges);
    if (*count > API_SIDE_MAX) {
        *count = API_SIDE_MAX;
        picker->partial = true;
    }
    return picker->edges;
}

/* Picks the neighbours of a process or resource on one side. */
static void pick_side(struct picker *picker, enum served_side side, uint32_t id)
{
    size_t count;
    bool of_process = side == SERVED_HELD || side == SERVED_WANTED;
    const gordian_edge *edges = edges_of(picker, side, id, &count);
    for (size_t i = 0; i < count && !is_graph_done(picker); i++)
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
    for (size_t word = 0; word < picker->ask->dead_words; word++)
        for (uint64_t bits = picker->ask->dead[word]; bits && !is_graph_done(picker);
             bits &= bits - 1) {
            uint32_t process = (uint32_t)(word * 64 + (size_t)__builtin_ctzll(bits));
            if (is_dead_process(picker, process))
                pick_with_resources(picker, process);
        }
}

/* In a very large system each query examines a part, and the next one continues. */
static uint32_t look_from(struct picker *picker, uint32_t limit)
{
    uint32_t *examined = picker->ask->examined;
    if (limit <= LOOK_MAX)
        return 0;
    picker->partial = true;
    uint32_t from = *examined < limit ? *examined : 0;
    *examined = from + LOOK_MAX;
    return from;
}

/* Picks waiting processes, the resources they wait for, and the holders of these. */
static void pick_waiting(struct picker *picker)
{
    uint32_t first_one = look_from(picker, picker->system->process_room),
             left = picker->system->waiting;
    uint32_t limit = picker->system->process_room;
    if (limit - first_one > LOOK_MAX)
        limit = first_one + LOOK_MAX;
    size_t first = picker->resources.count;
    for (uint32_t i = first_one; i < limit && left > 0 && !is_graph_done(picker); i++) {
        if (!picker->system->processes[i].since)
            continue;
        left--;
        if (pick_one(picker, &picker->processes, i) || bits_test(picker->processes.set, i))
            pick_side(picker, SERVED_WANTED, i);
    }
    for (size_t i = first; i < picker->resources.count && !is_graph_done(picker); i++)
        pick_side(picker, SERVED_HOLDERS, picker->resources.ids[i]);
}

static void pick_all(struct picker *picker)
{
    char buffer[GORDIAN_NAME_MAX + 1];
    const struct served *system = picker->system;
    uint32_t processes = served_process_limit(system), resources = served_resource_limit(system);
    picker->partial |= processes > LOOK_MAX || resources > LOOK_MAX;
    processes = processes < LOOK_MAX ? processes : LOOK_MAX;
    resources = resources < LOOK_MAX ? resources : LOOK_MAX;
    for (uint32_t i = 0; i < processes && !is_graph_done(picker); i++)
        if (served_process_name(system, i, buffer))
            pick_with_resources(picker, i);
    for (uint32_t i = 0; i < resources && !is_graph_done(picker); i++)
        if (served_resource_name(system, i, buffer))
            pick_one(picker, &picker->resources, i);
}

/* Picks nodes with a label and their neighbours. */
static void pick_labelled(struct picker *picker, const char *label)
{
    const struct tags *tags = &picker->system->tags;
    uint32_t number = tags_find(tags, label);
    for (int of = 0; of < TAGS_SIDES; of++) {
        uint32_t left = tags_users(tags, (enum tags_of)of, number);
        uint32_t limit = tags->set_room[of], at = left ? look_from(picker, limit) : 0;
        for (uint32_t end = at + LOOK_MAX; at < limit && at < end && left && !is_graph_done(picker);
             at++) {
            if (!tags_has(tags, (enum tags_of)of, at, number))
                continue;
            left--;
            if (of == TAGS_PROCESS) {
                pick_with_resources(picker, at);
                continue;
            }
            pick_one(picker, &picker->resources, at);
            pick_side(picker, SERVED_HOLDERS, at);
            pick_side(picker, SERVED_WAITERS, at);
        }
    }
}

/* Picks the neighbourhood of a node: `depth` steps along edges in either direction. */
static bool pick_around(struct picker *picker, const char *name, uint64_t depth)
{
    size_t length = strlen(name), process_done = 0, resource_done = 0;
    uint32_t process = served_find_process(picker->system, name, length);
    uint32_t resource = served_find_resource(picker->system, name, length);
    if (process != GORDIAN_NONE)
        pick_one(picker, &picker->processes, process);
    if (resource != GORDIAN_NONE)
        pick_one(picker, &picker->resources, resource);
    for (uint64_t step = 0; step < depth && !is_graph_done(picker); step++) {
        size_t process_end = picker->processes.count, resource_end = picker->resources.count;
        if (process_done == process_end && resource_done == resource_end)
            break;
        for (; process_done < process_end && !is_graph_done(picker); process_done++) {
            pick_side(picker, SERVED_WANTED, picker->processes.ids[process_done]);
            pick_side(picker, SERVED_HELD, picker->processes.ids[process_done]);
        }
        for (; resource_done < resource_end && !is_graph_done(picker); resource_done++) {
            pick_side(picker, SERVED_HOLDERS, picker->resources.ids[resource_done]);
            pick_side(picker, SERVED_WAITERS, picker->resources.ids[resource_done]);
        }
    }
    return process != GORDIAN_NONE || resource != GORDIAN_NONE;
}

/* ------------------------------------------------------------------ copying */

static void copy_processes(struct picker *picker, struct graph_copy *copy)
{
    for (size_t i = 0; i < picker->processes.count; i++) {
        struct process_node node;
        uint32_t id = picker->processes.ids[i];
        node_of_process(&node, picker->ask->service, picker->system, id,
                        is_dead_process(picker, id));
        graph_copy_process(copy, &node);
    }
}

static void copy_resources(struct picker *picker, struct graph_copy *copy)
{
    for (size_t i = 0; i < picker->resources.count; i++) {
        struct resource_node node;
        node_of_resource(&node, picker->system, picker->resources.ids[i]);
        graph_copy_resource(copy, &node);
    }
}

static void copy_picked_edges(struct picker *picker, struct graph_copy *copy)
{
    static const enum served_side sides[] = {SERVED_WANTED, SERVED_HELD};
    size_t left = API_EDGES_MAX;
    for (size_t i = 0; i < 2 * picker->processes.count && left > 0; i++) {
        size_t count;
        const gordian_edge *edges =
            edges_of(picker, sides[i % 2], picker->processes.ids[i / 2], &count);
        for (size_t j = 0; j < count; j++) {
            gordian_edge named;
            if (!bits_test(picker->resources.set, edges[j].resource) || left == 0) {
                picker->full = true;
                continue;
            }
            left--;
            if (node_edge(&named, picker->system, &edges[j]))
                graph_copy_edge(copy, &named);
        }
    }
}

/* ------------------------------------------------------------------ the whole graph */

static bool open_picker(struct picker *picker)
{
    size_t processes = bits_words(served_process_limit(picker->system)) + 1;
    size_t resources = bits_words(served_resource_limit(picker->system)) + 1;
    picker->processes.set = memory_zeroed(&picker->memory, processes * sizeof(uint64_t));
    picker->resources.set = memory_zeroed(&picker->memory, resources * sizeof(uint64_t));
    return picker->processes.set && picker->resources.set;
}

__attribute__((format(printf, 3, 4))) static int refuse_graph(struct picker *picker, int status,
                                                              const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(picker->message, GRAPH_MESSAGE, format, arguments);
    va_end(arguments);
    return status;
}

static int pick_nodes(struct picker *picker)
{
    const struct graph_ask *ask = picker->ask;
    const char *only = ask->only ? ask->only : "";
    if (ask->around && *ask->around)
        return pick_around(picker, ask->around, ask->depth)
                   ? 200
                   : refuse_graph(picker, 404, "there is no process or resource '%.100s'",
                                  ask->around);
    if (ask->label && *ask->label) {
        pick_labelled(picker, ask->label);
        return 200;
    }
    bool deadlocked = strcmp(only, "deadlocked") == 0;
    if (*only && !deadlocked && strcmp(only, "waiting") != 0)
        return refuse_graph(picker, 400, "'only' can be 'deadlocked' or 'waiting'");
    pick_dead(picker);
    if (!deadlocked)
        pick_waiting(picker);
    if (!*only)
        pick_all(picker);
    return 200;
}

/* A graph that is copied in steps, so that events can be processed in between. */
struct graph_work {
    /* the next step */
    enum { STEP_PICK, STEP_PROCESSES, STEP_RESOURCES, STEP_EDGES, STEPS } step;
    struct picker picker;
    struct graph_copy copy;
    const struct http_connection *connection; /* connection of the request that is being repeated */
    uint64_t version;                         /* version of the state */
};

static struct graph_work *begin_work(const struct graph_ask *ask)
{
    gordian_allocator memory = memory_allocator(NULL);
    struct graph_work *work = memory_zeroed(&memory, sizeof *work);
    if (!work)
        return NULL;
    work->picker.system = ask->system;
    work->picker.limit = (size_t)ask->limit;
    work->picker.memory = memory;
    graph_copy_init(&work->copy, ask->system);
    return work;
}

static void drop_work(struct graph_work *work)
{
    gordian_allocator memory = memory_allocator(NULL);
    if (!work)
        return;
    const struct picker *picker = &work->picker;
    memory_free_all(&memory, picker->processes.set, picker->processes.ids, picker->resources.set,
                    picker->resources.ids);
    graph_copy_free(&work->copy);
    memory_free(&memory, work);
}

static int take_graph_step(struct graph_work *work, const struct graph_ask *ask, char *message)
{
    struct picker *picker = &work->picker;
    struct graph_copy *copy = &work->copy;
    int status = 200;
    picker->ask = ask;
    picker->message = message;
    switch (work->step++) {
    case STEP_PICK:
        status = open_picker(picker) ? pick_nodes(picker) : 503;
        bytes_room(&copy->bytes, NODE_BYTES * (picker->processes.count + picker->resources.count));
        break;
    case STEP_PROCESSES:
        copy_processes(picker, copy);
        break;
    case STEP_RESOURCES:
        copy_resources(picker, copy);
        break;
    default:
        copy_picked_edges(picker, copy);
        copy->truncated = picker->full || picker->partial;
    }
    if (picker->broken || copy->bytes.failed || status == 503)
        status = refuse_graph(picker, 503, "out of memory");
    return status;
}

int graph_write(const struct graph_ask *ask, struct json *json, char message[GRAPH_MESSAGE])
{
    struct graph_work *work = begin_work(ask);
    int status = 200;
    if (!work) {
        snprintf(message, GRAPH_MESSAGE, "out of memory");
        return 503;
    }
    while (status == 200 && work->step < STEPS)
        status = take_graph_step(work, ask, message);
    if (status == 200)
        graph_copy_write(&work->copy, json);
    drop_work(work);
    return status;
}

/* ------------------------------------------------------------------ responding */

static gordian_status write_copy(void *job, struct output *out, gordian_error *error)
{
    struct json json;
    json_begin(&json, out);
    graph_copy_write(job, &json);
    json_end(&json);
    return out->failure ? fail_memory(error) : GORDIAN_OK;
}

static void drop_copy(void *job)
{
    gordian_allocator memory = memory_allocator(NULL);
    graph_copy_free(job);
    memory_free(&memory, job);
}

/* Moves the copy to the thread. False: not moved, write it directly. */
static bool write_in_thread(struct api_call *call, struct graph_copy *copy, int *status)
{
    gordian_allocator memory = memory_allocator(NULL);
    if (copy->processes + copy->resources + copy->edges <= AT_ONCE)
        return false;
    struct graph_copy *job = memory_alloc(&memory, sizeof *job);
    if (!job)
        return false;
    *job = *copy;
    if (!api_write_in_thread(call, &(struct question_work){write_copy, drop_copy, job}, status)) {
        memory_free(&memory, job);
        return false;
    }
    bytes_init(&copy->bytes, &memory);
    return true;
}

static int answer_copy(struct api_call *call, struct graph_copy *copy)
{
    int status = 200;
    if (write_in_thread(call, copy, &status))
        return status;
    gordian_error error = {0};
    if (write_copy(copy, &call->out, &error) != GORDIAN_OK)
        status = api_broken(call, &error);
    return status;
}

/* Reads the query. False: a value is not a number. */
static bool graph_read(struct api_call *call, struct graph_ask *ask)
{
    *ask = (struct graph_ask){.around = http_query(call->request, "around"),
                              .only = http_query(call->request, "only"),
                              .label = http_query(call->request, "label")};
    return api_number(call, "depth", DEPTH, DEPTH_MAX, &ask->depth) &&
           api_number(call, "limit", API_NODES_MAX, API_NODES_MAX, &ask->limit) &&
           api_number(call, "at", 0, INT64_MAX, &ask->at);
}

void api_drop_graph(struct api *api)
{
    drop_work(api->graph);
    api->graph = NULL;
}

/* Changes whenever the content of a graph may change. */
static uint64_t state_version(const struct api_call *call)
{
    return store_last(call->api->store) + call->system->marked;
}

/* Returns the graph that this request has started if the state is unchanged, otherwise a new one.
 */
static struct graph_work *find_work(struct api_call *call, const struct graph_ask *ask)
{
    struct api *api = call->api;
    struct graph_work *work = api->graph;
    if (work && http_repeats(call->connection) > 0 && work->connection == call->connection &&
        work->version == state_version(call))
        return work;
    api_drop_graph(api);
    work = begin_work(ask);
    if (work) {
        work->connection = call->connection;
        work->version = state_version(call);
    }
    return api->graph = work;
}

static int answer_graph(struct api_call *call, const struct graph_ask *ask)
{
    struct graph_work *work = find_work(call, ask);
    if (!work)
        return api_fail(call, 503, "out of memory");
    int status = take_graph_step(work, ask, call->message);
    while (status == 200 && work->step < STEPS) {
        /* Let other requests run; but not forever, because a change of the state restarts the copy.
         */
        if (work->picker.processes.count + work->picker.resources.count > AT_ONCE &&
            http_repeats(call->connection) < TIMES_MOST && !call->api->service->append_pending) {
            http_repeat(call->connection);
            return API_AGAIN;
        }
        status = take_graph_step(work, ask, call->message);
    }
    if (status == 200)
        status = answer_copy(call, &work->copy);
    api_drop_graph(call->api);
    return status;
}

int api_graph(struct api_call *call)
{
    struct graph_ask ask;
    if (!graph_read(call, &ask))
        return api_fail(call, 400, "'depth', 'limit' and 'at' are numbers");
    if (ask.at)
        return api_past_graph(call, &ask);
    ask.service = call->api->service;
    ask.system = call->system;
    ask.examined = &call->api->examined;
    rates_dead(&call->api->rates, call->system, &ask.dead, &ask.dead_words);
    /* Brings the streams to this point: their next change begins where this graph ends. */
    sse_flush(call->api->sse, call->system);
    return answer_graph(call, &ask);
}
