/* The part of the wait-for graph that lies ahead of a process, as a system of its own. */
#include "engines/detect/ahead.h"

#include "foundation/base/error.h"
#include "foundation/base/sort.h"

/* ------------------------------------------------------------------ ids */

/* Returns the id in `local` of a process or resource that lies ahead. */
static uint32_t ahead_place(const struct ahead_ids *ids, uint32_t id)
{
    struct hash_probe probe = hash_probe(&ids->table, hash_word(id));
    while (hash_meet(&ids->table, &probe))
        if (ids->ids[probe.number] == id)
            return probe.number;
    return NONE;
}

static void put_ids(const void *context, struct hash *table)
{
    const struct ahead_ids *ids = context;
    for (uint32_t i = 0; i < ids->count; i++)
        hash_put(table, hash_word(ids->ids[i]), i);
}

/* Adds an id unless it is there already. Returns false if out of memory. */
static bool add_ahead_id(struct ahead_ids *ids, const gordian_allocator *memory, uint32_t id)
{
    if (ahead_place(ids, id) != NONE)
        return true;
    if (!hash_reserve(&ids->table, memory, ids->count + 1, ids->count + 1, put_ids, ids) ||
        !memory_grow32(memory, &ids->ids, &ids->room, ids->count + 1, sizeof *ids->ids))
        return false;
    hash_put(&ids->table, hash_word(id), ids->count);
    ids->ids[ids->count++] = id;
    return true;
}

static void sort_ids(struct ahead_ids *ids)
{
    sort_u32(ids->ids, ids->count);
    hash_renew(&ids->table, put_ids, ids);
}

static void free_ids(struct ahead_ids *ids, const gordian_allocator *memory)
{
    memory_free(memory, ids->ids);
    hash_free(&ids->table, memory);
}

/* ------------------------------------------------------------------ looking ahead */

/* Adds the holders of a resource, on the first visit. */
static bool meet_resource(struct ahead *ahead, uint32_t resource, uint32_t limit)
{
    struct rag_edge hold;
    if (ahead_place(&ahead->resources, resource) != NONE)
        return true;
    if (!add_ahead_id(&ahead->resources, &ahead->memory, resource))
        return false;
    for (uint32_t h = rag_first_holder(ahead->graph, resource);
         h != NONE && ahead->processes.count <= limit; h = hold.next) {
        hold = rag_holder(ahead->graph, h);
        if (!add_ahead_id(&ahead->processes, &ahead->memory, hold.process))
            return false;
    }
    return true;
}

static gordian_status collect_ahead(struct ahead *ahead, uint32_t process, uint32_t limit,
                                    gordian_error *error)
{
    const struct rag *graph = ahead->graph;
    if (!add_ahead_id(&ahead->processes, &ahead->memory, process))
        return fail_memory(error);
    for (uint32_t i = 0; i < ahead->processes.count && ahead->processes.count <= limit; i++) {
        uint32_t at = ahead->processes.ids[i];
        struct rag_edge want;
        for (uint32_t w = rag_waits(graph, at) ? at : NONE; w != NONE; w = want.next) {
            want = rag_wanted(graph, w);
            if (!meet_resource(ahead, want.resource, limit))
                return fail_memory(error);
        }
    }
    if (ahead->processes.count > limit)
        return GORDIAN_STATUS_END;
    sort_ids(&ahead->processes);
    sort_ids(&ahead->resources);
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ the small system */

static gordian_status add_all(struct ahead *ahead, gordian_error *error)
{
    uint32_t id;
    for (uint32_t i = 0; i < ahead->resources.count; i++)
        TRY(gordian_add_resource(ahead->local, NULL,
                                 rag_total_units(ahead->graph, ahead->resources.ids[i]), &id,
                                 error));
    for (uint32_t i = 0; i < ahead->processes.count; i++)
        TRY(gordian_add_process(ahead->local, NULL, &id, error));
    return GORDIAN_OK;
}

/* Feeds one event to the small system. GORDIAN_STATUS_END: its outcome is not the expected one. */
static gordian_status feed_edge(struct ahead *ahead, const gordian_event *event, bool waits,
                                gordian_error *error)
{
    gordian_result result;
    TRY(gordian_feed(ahead->local, event, &result, error));
    bool does = result.outcome == GORDIAN_OUTCOME_BLOCKED ||
                result.outcome == GORDIAN_OUTCOME_DEADLOCK ||
                result.outcome == GORDIAN_OUTCOME_DOOMED;
    return does == waits && result.outcome != GORDIAN_OUTCOME_REFUSED ? GORDIAN_OK
                                                                      : GORDIAN_STATUS_END;
}

static gordian_status feed_hold(struct ahead *ahead, struct rag_edge hold, gordian_error *error)
{
    gordian_event event = {.op = GORDIAN_OP_HOLD,
                           .process = ahead_place(&ahead->processes, hold.process),
                           .resource = ahead_place(&ahead->resources, hold.resource),
                           .units = hold.units,
                           .to = NONE};
    return feed_edge(ahead, &event, false, error);
}

/* Adds the holders in the order that gives the small system's list the order of the original. New
 * holders go in front of the existing ones. So the first holder is added first, and the others
 * follow in reverse order. */
static gordian_status feed_holders(struct ahead *ahead, uint32_t resource, uint32_t **refs,
                                   uint32_t *room, gordian_error *error)
{
    uint32_t count = 0;
    struct rag_edge hold;
    for (uint32_t h = rag_first_holder(ahead->graph, resource); h != NONE; h = hold.next) {
        hold = rag_holder(ahead->graph, h);
        if (!memory_grow32(&ahead->memory, refs, room, count + 1, sizeof **refs))
            return fail_memory(error);
        (*refs)[count++] = h;
    }
    gordian_status status =
        count > 0 ? feed_hold(ahead, rag_holder(ahead->graph, (*refs)[0]), error) : GORDIAN_OK;
    for (uint32_t i = count; i-- > 1 && status == GORDIAN_OK;)
        status = feed_hold(ahead, rag_holder(ahead->graph, (*refs)[i]), error);
    return status;
}

static gordian_status feed_wait(struct ahead *ahead, uint32_t process, gordian_want **wants,
                                size_t *room, gordian_error *error)
{
    struct rag_edge want;
    size_t count = 0;
    for (uint32_t w = process; w != NONE; w = want.next) {
        want = rag_wanted(ahead->graph, w);
        if (!memory_grow(&ahead->memory, wants, room, count + 1, sizeof **wants))
            return fail_memory(error);
        (*wants)[count++] =
            (gordian_want){want.units, ahead_place(&ahead->resources, want.resource)};
    }
    gordian_event event = {.op = GORDIAN_OP_WAIT,
                           .process = ahead_place(&ahead->processes, process),
                           .resource = NONE,
                           .to = NONE};
    if (count == 1) {
        event.resource = (*wants)[0].resource;
        event.units = (*wants)[0].units;
    } else {
        event.wants = *wants;
        event.want_count = count;
    }
    return feed_edge(ahead, &event, true, error);
}

gordian_status ahead_open(struct ahead *ahead, const gordian_system *system, uint32_t process,
                          uint32_t limit, gordian_error *error)
{
    gordian_options options;
    *ahead = (struct ahead){.memory = system->graph.memory, .graph = &system->graph};
    gordian_options_init(&options);
    options.engine = "sparse";
    options.allocator = &ahead->memory;
    gordian_status status = collect_ahead(ahead, process, limit, error);
    THEN(status, gordian_open(&ahead->local, &options, error));
    THEN(status, system_grow_model(ahead->local, ahead->graph->model, error));
    THEN(status, add_all(ahead, error));
    uint32_t *refs = NULL, ref_room = 0;
    gordian_want *wants = NULL;
    size_t want_room = 0;
    for (uint32_t i = 0; i < ahead->resources.count && status == GORDIAN_OK; i++)
        status = feed_holders(ahead, ahead->resources.ids[i], &refs, &ref_room, error);
    for (uint32_t i = 0; i < ahead->processes.count && status == GORDIAN_OK; i++)
        if (rag_waits(ahead->graph, ahead->processes.ids[i]))
            status = feed_wait(ahead, ahead->processes.ids[i], &wants, &want_room, error);
    memory_free_all(&ahead->memory, refs, wants);
    if (status != GORDIAN_OK)
        ahead_close(ahead);
    return status;
}

void ahead_close(struct ahead *ahead)
{
    gordian_close(ahead->local);
    free_ids(&ahead->processes, &ahead->memory);
    free_ids(&ahead->resources, &ahead->memory);
    *ahead = (struct ahead){.memory = ahead->memory};
}

/* ------------------------------------------------------------------ questions */

gordian_status ahead_explain(gordian_system *system, uint32_t process, uint32_t limit,
                             gordian_witness *witness, gordian_error *error)
{
    struct ahead ahead;
    gordian_witness found;
    TRY(ahead_open(&ahead, system, process, limit, error));
    gordian_status status =
        gordian_explain(ahead.local, ahead_place(&ahead.processes, process), &found, error);
    if (status == GORDIAN_OK &&
        !memory_grow(&system->graph.memory, &system->edges, &system->edge_room, found.count + 1,
                     sizeof *system->edges))
        status = fail_memory(error);
    for (size_t i = 0; status == GORDIAN_OK && i < found.count; i++) {
        gordian_edge edge = found.edges[i];
        edge.process = ahead.processes.ids[edge.process];
        edge.resource = ahead.resources.ids[edge.resource];
        system->edges[i] = edge;
    }
    found.edges = system->edges;
    if (status == GORDIAN_OK)
        *witness = found;
    ahead_close(&ahead);
    return status;
}

/* For systems in which a waiting process needs any one of several: searches forwards until it meets
 * a running process. */
static gordian_status is_dead_ahead(gordian_system *system, uint32_t process, bool *dead,
                                    gordian_error *error)
{
    struct ahead ahead = {.memory = system->graph.memory, .graph = &system->graph};
    bool runs = false, memory = add_ahead_id(&ahead.processes, &ahead.memory, process);
    for (uint32_t i = 0; memory && !runs && i < ahead.processes.count; i++) {
        uint32_t at = ahead.processes.ids[i];
        runs = !rag_waits(ahead.graph, at);
        if (!runs)
            memory = meet_resource(&ahead, rag_wanted(ahead.graph, at).resource, NONE - 1);
    }
    ahead_close(&ahead);
    *dead = !runs;
    return memory ? GORDIAN_OK : fail_memory(error);
}

gordian_status system_is_dead(gordian_system *system, uint32_t process, bool *dead,
                              gordian_error *error)
{
    const struct rag *graph = &system->graph;
    *dead = false;
    if (!rag_is_process(graph, process) || !rag_waits(graph, process))
        return GORDIAN_OK;
    if (system->hooks->is_dead) {
        *dead = system->hooks->is_dead(system->state, process);
        return GORDIAN_OK;
    }
    if (system->hooks->closed_by) {
        *dead = system->hooks->closed_by(system->state, process) != NONE;
        return GORDIAN_OK;
    }
    if (graph->model != GORDIAN_MODEL_GENERAL)
        return is_dead_ahead(system, process, dead, error);
    uint64_t *set = NULL;
    TRY(system_dead(system, &set, error));
    *dead = set[process / 64] >> process % 64 & 1;
    return GORDIAN_OK;
}
