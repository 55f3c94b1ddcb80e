/*
 * Serializes a system. All numbers are varints:
 *
 *     version, model, clock
 *     process limit, by id: 0 free | 1 name, born, priority, cost
 *     free ids: count, first to be used first
 *     resource limit, by id: 0 free | units, name
 *     free ids: as above
 *     by process id, if in use: holds, in the order of its list: units, resource, pooled
 *     by resource id, if in use: how many pooled holders, and their processes in order
 *     waiting: count, in order of arrival: process, arrival minus the previous arrival, wants
 *     awaits: count, the resources that are awaits (acts.c); not in version 1
 */
#include "engines/detect/serialize.h"

#include "engines/detect/system.h"
#include "foundation/base/error.h"
#include "foundation/base/sort.h"

#define SERIALIZED_VERSION 2

/* ---- saving */

static void save_graph_name(struct bytes *bytes, const char *name)
{
    bytes_text(bytes, name, strlen(name));
}

static void save_graph_processes(const gordian_system *system, struct bytes *bytes)
{
    const struct rag *graph = &system->graph;
    bytes_u64(bytes, graph->process_limit);
    for (uint32_t p = 0; p < graph->process_limit; p++) {
        bytes_u64(bytes, rag_is_process(graph, p));
        if (!rag_is_process(graph, p))
            continue;
        save_graph_name(bytes, names_text(&graph->process_names, p));
        bytes_u64(bytes, graph->processes_more[p].born);
        bytes_i64(bytes, gordian_priority(system, p));
        bytes_i64(bytes, gordian_cost(system, p));
    }
    bytes_u64(bytes, graph->process_limit - graph->process_count);
    for (uint32_t p = graph->free_process; p != NONE; p = graph->processes[p].held)
        bytes_u64(bytes, p);
}

static void save_graph_resources(const struct rag *graph, struct bytes *bytes)
{
    bytes_u64(bytes, graph->resource_limit);
    for (uint32_t q = 0; q < graph->resource_limit; q++) {
        bool used = rag_is_resource(graph, q);
        bytes_u64(bytes, used ? rag_total_units(graph, q) : 0);
        if (used)
            save_graph_name(bytes, names_text(&graph->resource_names, q));
    }
    bytes_u64(bytes, graph->resource_limit - graph->resource_count);
    for (uint32_t q = graph->free_resource; q != NONE; q = graph->resources_more[q].holders)
        bytes_u64(bytes, q);
}

static void save_holds(const struct rag *graph, struct bytes *bytes)
{
    struct rag_edge edge;
    for (uint32_t p = 0; p < graph->process_limit; p++) {
        if (!rag_is_process(graph, p))
            continue;
        for (uint32_t ref = graph->processes[p].held; ref != NONE; ref = edge.next) {
            edge = rag_held(graph, ref);
            bytes_u64(bytes, edge.units);
            bytes_u64(bytes, edge.resource);
            bytes_u64(bytes, ref & RAG_POOLED ? 1 : 0);
        }
        bytes_u64(bytes, 0);
    }
    for (uint32_t q = 0; q < graph->resource_limit; q++) {
        if (!rag_is_resource(graph, q))
            continue;
        uint64_t count = 0;
        for (uint32_t ref = graph->resources_more[q].holders; ref != NONE; ref = edge.next, count++)
            edge = rag_holder(graph, ref);
        bytes_u64(bytes, count);
        for (uint32_t ref = graph->resources_more[q].holders; ref != NONE; ref = edge.next) {
            edge = rag_holder(graph, ref);
            bytes_u64(bytes, edge.process);
        }
    }
}

static void save_wait(const struct rag *graph, uint32_t process, struct bytes *bytes)
{
    struct rag_edge edge;
    for (uint32_t ref = process; ref != NONE; ref = edge.next) {
        edge = rag_wanted(graph, ref);
        bytes_u64(bytes, edge.units);
        bytes_u64(bytes, edge.resource);
    }
    bytes_u64(bytes, 0);
}

struct arrival {
    uint64_t at;
    uint32_t process;
};

static void save_waits(const struct rag *graph, struct bytes *bytes)
{
    size_t room = (size_t)graph->waiting + 1, count = 0;
    struct arrival *list = memory_alloc(&bytes->memory, 2 * room * sizeof *list);
    uint64_t before = 0;
    if (!list) {
        bytes->failed = true;
        return;
    }
    for (uint32_t p = 0; p < graph->process_limit; p++)
        if (rag_waits(graph, p))
            list[count++] = (struct arrival){graph->processes_more[p].arrival, p};
    const struct arrival *sorted = sort_by_number(list, list + room, count);
    bytes_u64(bytes, count);
    for (size_t i = 0; i < count; i++) {
        bytes_u64(bytes, sorted[i].process);
        bytes_u64(bytes, sorted[i].at - before);
        before = sorted[i].at;
        save_wait(graph, sorted[i].process, bytes);
    }
    memory_free(&bytes->memory, list);
}

static void save_awaits(const gordian_system *system, struct bytes *bytes)
{
    const struct rag *graph = &system->graph;
    bytes_u64(bytes, system->await_count);
    for (uint32_t q = 0; q < graph->resource_limit && system->await_count > 0; q++)
        if (gordian_is_await(system, q))
            bytes_u64(bytes, q);
}

void system_serialize(const gordian_system *system, struct bytes *bytes)
{
    const struct rag *graph = &system->graph;
    bytes_u64(bytes, SERIALIZED_VERSION);
    bytes_u64(bytes, graph->model);
    bytes_u64(bytes, graph->clock);
    save_graph_processes(system, bytes);
    save_graph_resources(graph, bytes);
    save_holds(graph, bytes);
    save_waits(graph, bytes);
    save_awaits(system, bytes);
}

/* ---- loading */

struct loading {
    gordian_system *system;
    struct rag *graph;
    struct bytes_in *in;
    gordian_error *error;
    uint64_t clock;
    uint32_t *list; /* capacity: a number for each process or resource */
    uint32_t *refs; /* by process, for rag_order_holders */
};

static gordian_status fail_graph_state(const struct loading *loading, const char *what)
{
    return fail(loading->error, GORDIAN_STATUS_INPUT, "not a serialized system: %s", what);
}

/* Reads a name into the buffer, NUL-terminated. Returns NULL for the empty name, which means no
 * name. */
static const char *load_name(struct bytes_in *in, char buffer[GORDIAN_NAME_MAX + 1])
{
    size_t length;
    const char *text = bytes_take_text(in, &length);
    if (!text || length == 0)
        return NULL;
    if (length > GORDIAN_NAME_MAX || memchr(text, 0, length)) {
        in->bad = true;
        return NULL;
    }
    memcpy(buffer, text, length);
    buffer[length] = '\0';
    return buffer;
}

static gordian_status load_graph_process(struct loading *loading)
{
    gordian_system *system = loading->system;
    char buffer[GORDIAN_NAME_MAX + 1];
    uint32_t id;
    bool used = bytes_take_upto(loading->in, 1);
    const char *name = used ? load_name(loading->in, buffer) : NULL;
    if (loading->in->bad)
        return fail_graph_state(loading, "invalid process");
    gordian_status status = gordian_add_process(system, name, &id, loading->error);
    if (status != GORDIAN_OK || !used)
        return status;
    uint64_t born = bytes_take_u64(loading->in);
    int64_t priority = bytes_take_i64(loading->in), cost = bytes_take_i64(loading->in);
    if (loading->in->bad || born >= loading->clock)
        return fail_graph_state(loading, "invalid birth of a process");
    loading->graph->processes_more[id].born = born;
    if (priority != 0)
        status = gordian_set_priority(system, id, priority, loading->error);
    if (status == GORDIAN_OK && cost != 1)
        status = gordian_set_cost(system, id, cost, loading->error);
    return status;
}

static gordian_status load_graph_resource(struct loading *loading)
{
    char buffer[GORDIAN_NAME_MAX + 1];
    uint64_t units = bytes_take_u64(loading->in);
    const char *name = units ? load_name(loading->in, buffer) : NULL;
    if (loading->in->bad)
        return fail_graph_state(loading, "invalid resource");
    return gordian_add_resource(loading->system, name, units ? units : 1, NULL, loading->error);
}

/* Reads the free ids of a kind. The caller has created all ids below the limit. This removes the
 * free ones again. The id to be used first is removed last. `loading->list` has a 1 for each id
 * that is recorded as free. */
static gordian_status load_freed_ids(struct loading *loading, uint32_t limit,
                                     gordian_status (*removes)(gordian_system *, uint32_t,
                                                               gordian_error *))
{
    uint32_t *list = loading->list, expected = 0;
    for (uint32_t i = 0; i < limit; i++)
        expected += list[i];
    uint32_t count = (uint32_t)bytes_take_upto(loading->in, expected);
    uint32_t *order = loading->refs;
    for (uint32_t i = 0; i < count && !loading->in->bad; i++) {
        uint32_t id = (uint32_t)bytes_take_upto(loading->in, limit - 1);
        loading->in->bad |= !list[id]; /* in use, or named twice */
        list[id] = 0;
        order[i] = id;
    }
    if (loading->in->bad || count != expected)
        return fail_graph_state(loading, "invalid free ids");
    for (uint32_t i = count; i-- > 0;)
        TRY(removes(loading->system, order[i], loading->error));

    return GORDIAN_OK;
}

/* Reads everything of one kind: the count, each element, the free ids. */
static gordian_status
load_each_id(struct loading *loading, gordian_status (*load_one)(struct loading *),
             gordian_status (*removes)(gordian_system *, uint32_t, gordian_error *))
{
    const gordian_allocator *memory = &loading->graph->memory;
    uint32_t limit = (uint32_t)bytes_take_count(loading->in);
    if (loading->in->bad || limit > RAG_ID_MAX)
        return fail_graph_state(loading, "invalid count");
    memory_free_all(memory, loading->list, loading->refs);
    loading->list = memory_alloc(memory, ((size_t)limit + 1) * sizeof *loading->list);
    loading->refs = memory_alloc(memory, ((size_t)limit + 1) * sizeof *loading->refs);
    if (!loading->list || !loading->refs)
        return fail_memory(loading->error);
    for (uint32_t id = 0; id < limit; id++) {
        loading->list[id] = loading->in->at < loading->in->end && *loading->in->at == 0;
        TRY(load_one(loading));
    }
    return load_freed_ids(loading, limit, removes);
}

/* Reads what a process holds into *edges, in the order of its list. */
static gordian_status load_process_holds(struct loading *loading, gordian_edge **edges,
                                         size_t *room, size_t *count)
{
    const struct rag *graph = loading->graph;
    *count = 0;
    for (uint64_t units; (units = bytes_take_u64(loading->in)) != 0;) {
        if (!memory_grow(&graph->memory, edges, room, *count + 1, sizeof **edges))
            return fail_memory(loading->error);
        gordian_edge *edge = &(*edges)[(*count)++];
        edge->units = units;
        edge->resource = (uint32_t)bytes_take_upto(loading->in, NONE - 1);
        edge->waits = bytes_take_upto(loading->in, 1); /* `waits` means pooled here */
        if (loading->in->bad || !rag_is_resource(graph, edge->resource))
            return fail_graph_state(loading, "invalid hold");
    }
    return loading->in->bad ? fail_graph_state(loading, "invalid hold") : GORDIAN_OK;
}

static gordian_status put_holds(struct loading *loading, uint32_t process,
                                const gordian_edge *edges, size_t count)
{
    gordian_system *system = loading->system;
    const struct rag *graph = loading->graph;
    if (!rag_reserve_grant(loading->graph, count))
        return fail_memory(loading->error);
    for (size_t i = count; i-- > 0;) { /* each hold goes to the front of the list */
        const gordian_edge *edge = &edges[i];
        bool one = graph->resources_more[edge->resource].flags & RAG_ONE, pooled = edge->waits;
        if (edge->units > rag_free_units(graph, edge->resource) || (one && pooled) ||
            (!pooled && graph->holder[edge->resource] != NONE) ||
            rag_held_units(graph, process, edge->resource) != 0)
            return fail_graph_state(loading, "more units are held than exist");
        rag_put_hold(loading->graph, process, edge->resource, edge->units, edge->waits);
        RUN_HOOK(system, grant, process, edge->resource, edge->units);
    }
    return GORDIAN_OK;
}

static gordian_status load_holds(struct loading *loading)
{
    gordian_edge *edges = NULL;
    size_t room = 0, count;
    gordian_status status = GORDIAN_OK;
    for (uint32_t p = 0; p < loading->graph->process_limit && status == GORDIAN_OK; p++) {
        if (!rag_is_process(loading->graph, p))
            continue;
        status = load_process_holds(loading, &edges, &room, &count);
        THEN(status, put_holds(loading, p, edges, count));
    }
    memory_free(&loading->graph->memory, edges);
    return status;
}

/* Reads the pooled holders of a resource: exactly those it has, in their former order. */
static gordian_status load_holders(struct loading *loading, uint32_t resource, uint32_t *has)
{
    const struct rag *graph = loading->graph;
    uint32_t there = 0;
    struct rag_edge edge;
    for (uint32_t ref = graph->resources_more[resource].holders; ref != NONE; ref = edge.next) {
        edge = rag_holder(graph, ref);
        has[edge.process] = 1;
        there++;
    }
    uint32_t count = (uint32_t)bytes_take_upto(loading->in, there);
    for (uint32_t i = 0; i < count && !loading->in->bad; i++) {
        uint32_t process = (uint32_t)bytes_take_upto(loading->in, graph->process_limit - 1);
        loading->in->bad |= !has[process];
        has[process] = 0;
        loading->list[i] = process;
    }
    if (loading->in->bad || count != there)
        return fail_graph_state(loading, "invalid holders of a resource");
    rag_order_holders(loading->graph, resource, loading->list, count, loading->refs);
    return GORDIAN_OK;
}

static gordian_status load_all_holders(struct loading *loading)
{
    const struct rag *graph = loading->graph;
    const gordian_allocator *memory = &graph->memory;
    size_t count = (size_t)graph->process_limit + 1;
    uint32_t *has = memory_zeroed(memory, count * sizeof *has);
    memory_free_all(memory, loading->list, loading->refs);
    loading->list = memory_alloc(memory, count * sizeof *loading->list);
    loading->refs = memory_alloc(memory, count * sizeof *loading->refs);
    gordian_status status =
        has && loading->list && loading->refs ? GORDIAN_OK : fail_memory(loading->error);
    for (uint32_t q = 0; q < graph->resource_limit && status == GORDIAN_OK; q++)
        if (rag_is_resource(graph, q))
            status = load_holders(loading, q, has);
    memory_free(memory, has);
    return status;
}

/* Reads the wants of a waiting request into system->wants. They are ascending, as they were merged.
 */
static gordian_status load_pending_wants(struct loading *loading, size_t *count)
{
    gordian_system *system = loading->system;
    const struct rag *graph = loading->graph;
    *count = 0;
    for (uint64_t units; (units = bytes_take_u64(loading->in)) != 0;) {
        if (!memory_grow(&graph->memory, &system->wants, &system->want_room, *count + 1,
                         sizeof *system->wants))
            return fail_memory(loading->error);
        uint32_t resource = (uint32_t)bytes_take_upto(loading->in, NONE - 1);
        if (loading->in->bad || !rag_is_resource(graph, resource) ||
            units > rag_total_units(graph, resource) ||
            (*count > 0 && resource <= system->wants[*count - 1].resource))
            return fail_graph_state(loading, "invalid waiting request");
        system->wants[(*count)++] = (gordian_want){.units = units, .resource = resource};
    }
    return loading->in->bad || *count == 0 ? fail_graph_state(loading, "invalid waiting request")
                                           : GORDIAN_OK;
}

/* Reads a waiting process. `arrival` is the arrival of the previous process. */
static gordian_status load_wait(struct loading *loading, bool first, uint64_t *arrival)
{
    gordian_system *system = loading->system;
    struct rag *graph = loading->graph;
    size_t count;
    uint32_t process = (uint32_t)bytes_take_upto(loading->in, NONE - 1);
    uint64_t step = bytes_take_u64(loading->in);
    if (loading->in->bad || !rag_is_process(graph, process) || rag_waits(graph, process) ||
        step > UINT64_MAX - *arrival || step + *arrival >= loading->clock || (step == 0 && !first))
        return fail_graph_state(loading, "invalid waiting process");
    *arrival += step;
    TRY(load_pending_wants(loading, &count));
    bool general = count > 1 || system->wants[0].units > 1, must_wait = false;
    for (size_t i = 0; i < count; i++) /* it could not be served when it arrived, nor since */
        must_wait |= system->wants[i].units > rag_free_units(graph, system->wants[i].resource);
    if (!must_wait || (general && graph->model != GORDIAN_MODEL_GENERAL))
        return fail_graph_state(loading, "a request that need not wait");
    if (!rag_reserve_block(graph, count))
        return fail_memory(loading->error);
    graph->clock = *arrival;
    rag_block(graph, process, system->wants, count);
    system->hooks->block(system->state, process); /* its outcome was reported when it arrived */
    return GORDIAN_OK;
}

static gordian_status load_waits(struct loading *loading)
{
    uint64_t count = bytes_take_count(loading->in), arrival = 0;
    gordian_status status = GORDIAN_OK;
    for (uint64_t i = 0; i < count && status == GORDIAN_OK; i++)
        status = load_wait(loading, i == 0, &arrival);
    return status != GORDIAN_OK ? status
           : loading->in->bad   ? fail_graph_state(loading, "invalid waiting process")
                                : GORDIAN_OK;
}

static gordian_status load_awaits(struct loading *loading)
{
    const struct rag *graph = loading->graph;
    uint64_t count = bytes_take_count(loading->in);
    if (!system_reserve_await(loading->system))
        return fail_memory(loading->error);
    for (uint64_t i = 0; i < count; i++) {
        uint32_t resource = (uint32_t)bytes_take_upto(loading->in, NONE - 1);
        if (loading->in->bad || !rag_is_resource(graph, resource))
            return fail_graph_state(loading, "invalid await");
        uint32_t first = graph->resources[resource].queue_head;
        bool one_waits = first != NONE && rag_queued(graph, first).next == NONE;
        if (!one_waits || *names_text(&graph->resource_names, resource) ||
            graph->resources_more[resource].flags & RAG_AWAIT)
            return fail_graph_state(loading, "invalid await");
        system_begin_await(loading->system, rag_queued(graph, first).process, resource);
    }
    return loading->in->bad ? fail_graph_state(loading, "invalid await") : GORDIAN_OK;
}

gordian_status system_deserialize(gordian_system *system, struct bytes_in *in, gordian_error *error)
{
    struct loading loading = {.system = system, .graph = &system->graph, .in = in, .error = error};
    uint64_t version = bytes_take_u64(in);
    gordian_model model = (gordian_model)bytes_take_upto(in, GORDIAN_MODEL_GENERAL);
    loading.clock = bytes_take_u64(in);
    if (in->bad || version < 1 || version > SERIALIZED_VERSION)
        return fail_graph_state(&loading, "invalid header");
    gordian_status status = load_each_id(&loading, load_graph_process, gordian_remove_process);
    THEN(status, load_each_id(&loading, load_graph_resource, gordian_remove_resource));
    if (status == GORDIAN_OK && model < system->graph.model)
        status = fail_graph_state(&loading, "invalid model");
    THEN(status, system_grow_model(system, model, error));
    THEN(status, load_holds(&loading));
    THEN(status, load_all_holders(&loading));
    THEN(status, load_waits(&loading));
    if (status == GORDIAN_OK && version > 1)
        status = load_awaits(&loading);
    system->graph.clock = loading.clock;
    memory_free_all(&system->graph.memory, loading.list, loading.refs);
    return status;
}
