/* Opening and filling a system: everything except events (events.c) and queries (query.c). */
#include "engines/detect/system.h"

#include "engines/detect/shared.h"
#include "foundation/base/error.h"

#include <string.h>

void gordian_options_init(gordian_options *options)
{
    *options = (gordian_options){.engine = "auto"};
}

static const struct detect_engine *refined_hooks(const struct detect_engine *engine,
                                                 gordian_model model)
{
    return engine->refine ? engine->refine(model) : engine;
}

gordian_status gordian_open(gordian_system **out, const gordian_options *options,
                            gordian_error *error)
{
    gordian_options defaults;
    if (!options) {
        gordian_options_init(&defaults);
        options = &defaults;
    }
    *out = NULL;
    const struct engine *chosen;
    TRY(engine_choose(&detect_family, options->engine, NULL, &chosen, error));
    const struct detect_engine *engine = (const struct detect_engine *)chosen;
    gordian_allocator memory = memory_allocator(options->allocator);
    gordian_system *system = memory_zeroed(&memory, sizeof *system);
    if (!system)
        return fail_memory(error);
    rag_init(&system->graph, &memory);
    system->engine = engine;
    system->hooks = refined_hooks(engine, system->graph.model);
    /* Serving a request lists its wants: reserve memory for one. */
    gordian_status status =
        memory_grow(&memory, &system->wants, &system->want_room, 1, sizeof *system->wants)
            ? engine->open(&system->state, engine, &system->graph, error)
            : fail_memory(error);
    if (status != GORDIAN_OK)
        system->state = NULL;
    if (status == GORDIAN_OK && options->shared)
        status = shared_open(system, options, error);
    if (status != GORDIAN_OK) {
        gordian_close(system);
        return status;
    }
    *out = system;
    return GORDIAN_OK;
}

void gordian_close(gordian_system *system)
{
    if (!system)
        return;
    gordian_allocator memory = system->graph.memory;
    shared_close(system);
    if (system->state)
        system->engine->close(system->state);
    rag_free(&system->graph);
    memory_free_all(&memory, system->wants, system->cursors, system->processes, system->edges,
                    system->marks, system->others, system->asked, system->awaiters, system->drops,
                    system);
}

const char *gordian_engine_name(const gordian_system *system)
{
    return system->engine->about.name;
}

const char *gordian_engine_note(const gordian_system *system)
{
    return system->engine->note ? system->engine->note(system->state) : NULL;
}

gordian_model gordian_system_model(const gordian_system *system)
{
    SYSTEM_SCOPE(system);
    return system->graph.model;
}

/* Lets the engine reserve memory for these limits, and raises the model. */
static gordian_status prepare_engine(gordian_system *system, gordian_model model,
                                     uint32_t processes, uint32_t resources, gordian_error *error)
{
    const char *why;
    if (!engine_usable(&system->engine->about, &model, &why))
        return fail(error, GORDIAN_STATUS_UNAVAILABLE,
                    "engine '%s' does not support this system: %s", system->engine->about.name,
                    why);
    if (system->engine->prepare)
        TRY(system->engine->prepare(system->state, model, processes, resources, error));
    system->graph.model = model;
    system->hooks = refined_hooks(system->engine, model);
    return GORDIAN_OK;
}

gordian_status system_grow_model(gordian_system *system, gordian_model model, gordian_error *error)
{
    if (model <= system->graph.model)
        return GORDIAN_OK;
    return prepare_engine(system, model, system->graph.process_limit, system->graph.resource_limit,
                          error);
}

static bool reserve_shared(gordian_system *system, uint32_t processes, uint32_t resources)
{
    return !system->shared ||
           shared_reserve(system->shared, &system->graph.memory, processes, resources);
}

gordian_status gordian_reserve(gordian_system *system, uint32_t processes, uint32_t resources,
                               gordian_error *error)
{
    if (processes > RAG_ID_MAX || resources > RAG_ID_MAX)
        return fail(error, GORDIAN_STATUS_INPUT, "at most %u processes and resources each",
                    RAG_ID_MAX);
    SYSTEM_SCOPE(system);
    if (!rag_reserve(&system->graph, processes, resources) ||
        !reserve_shared(system, processes, resources))
        return fail_memory(error);
    return prepare_engine(system, system->graph.model, processes, resources, error);
}

/* Adds a resource of `units` to a system of at least that model. On failure nothing has changed. */
static gordian_status add_graph_resource(gordian_system *system, gordian_model model,
                                         const char *name, uint64_t units, uint32_t *id,
                                         gordian_error *error)
{
    struct rag *graph = &system->graph;
    size_t length = name ? strlen(name) : 0;
    uint32_t limit = graph->resource_limit + (graph->free_resource == NONE);
    if (model < graph->model)
        model = graph->model;
    if (!rag_reserve_resource(graph, length) || !reserve_shared(system, 0, limit))
        return fail_memory(error);
    TRY(prepare_engine(system, model, graph->process_limit, limit, error));
    return rag_add_resource(graph, name, length, units, id) ? GORDIAN_OK : fail_memory(error);
}

/* The recorder does not see it, because it is no resource of the program. In a shared system its
 * word is GRAPH, as for every id that does not exist. */
gordian_status system_add_await(gordian_system *system, uint64_t units, uint32_t *id,
                                gordian_error *error)
{
    return add_graph_resource(system, GORDIAN_MODEL_GENERAL, NULL, units, id, error);
}

gordian_status gordian_add_resource(gordian_system *system, const char *name, uint64_t units,
                                    uint32_t *id, gordian_error *error)
{
    uint32_t fresh;
    SYSTEM_SCOPE(system);
    if (units == 0)
        return fail(error, GORDIAN_STATUS_INPUT, "a resource needs at least one unit");
    TRY(names_check(&system->graph.resource_names, name, "resource", error));
    TRY(add_graph_resource(system, units > 1 ? GORDIAN_MODEL_MULTI_UNIT : GORDIAN_MODEL_SINGLE_UNIT,
                           name, units, &fresh, error));
    if (system->shared)
        shared_note_resource(system, fresh, units, false);
    if (id)
        *id = fresh;
    return GORDIAN_OK;
}

gordian_status gordian_add_process(gordian_system *system, const char *name, uint32_t *id,
                                   gordian_error *error)
{
    struct rag *graph = &system->graph;
    uint32_t fresh;
    SYSTEM_SCOPE(system);
    TRY(names_check(&graph->process_names, name, "process", error));
    size_t length = name ? strlen(name) : 0;
    uint32_t limit = graph->process_limit + (graph->free_process == NONE);
    if (!rag_reserve_process(graph, length) || !reserve_shared(system, limit, 0))
        return fail_memory(error);
    TRY(prepare_engine(system, graph->model, limit, graph->resource_limit, error));
    if (!rag_add_process(graph, name, length, &fresh))
        return fail_memory(error);
    if (system->shared)
        shared_note_process(system, fresh, false);
    if (id)
        *id = fresh;
    return GORDIAN_OK;
}

gordian_status gordian_remove_resource(gordian_system *system, uint32_t resource,
                                       gordian_error *error)
{
    struct rag *graph = &system->graph;
    SYSTEM_SCOPE(system);
    if (system->shared)
        shared_lift(system, resource);
    if (!rag_is_resource(graph, resource))
        return fail(error, GORDIAN_STATUS_INPUT, "there is no resource %u", resource);
    if (rag_first_holder(graph, resource) != NONE || graph->resources[resource].queue_head != NONE)
        return fail(error, GORDIAN_STATUS_INPUT, "resource '%s' is held or waited for",
                    gordian_resource_name(system, resource));
    rag_remove_resource(graph, resource);
    if (system->shared)
        shared_note_resource(system, resource, 0, true);
    return GORDIAN_OK;
}

gordian_status gordian_remove_process(gordian_system *system, uint32_t process,
                                      gordian_error *error)
{
    struct rag *graph = &system->graph;
    SYSTEM_SCOPE(system);
    if (system->shared)
        shared_lift_list(system, process);
    if (!rag_is_process(graph, process))
        return fail(error, GORDIAN_STATUS_INPUT, "there is no process %u", process);
    if (rag_waits(graph, process) || graph->processes[process].held != NONE)
        return fail(error, GORDIAN_STATUS_INPUT, "process '%s' holds or waits for something",
                    gordian_process_name(system, process));
    rag_remove_process(graph, process);
    if (system->shared)
        shared_note_process(system, process, true);
    return GORDIAN_OK;
}

/* ---- attributes for the choice of a victim */

static gordian_status attributes_of(gordian_system *system, uint32_t process,
                                    struct rag_attributes **attributes, gordian_error *error)
{
    struct rag *graph = &system->graph;
    if (!rag_is_process(graph, process))
        return fail(error, GORDIAN_STATUS_INPUT, "there is no process %u", process);
    if (!graph->attributes) {
        graph->attributes =
            memory_alloc(&graph->memory, graph->process_room * sizeof *graph->attributes);
        if (!graph->attributes)
            return fail_memory(error);
        for (uint32_t i = 0; i < graph->process_room; i++)
            graph->attributes[i] = (struct rag_attributes){.priority = 0, .cost = 1};
    }
    *attributes = &graph->attributes[process];
    return GORDIAN_OK;
}

gordian_status gordian_set_priority(gordian_system *system, uint32_t process, int64_t priority,
                                    gordian_error *error)
{
    struct rag_attributes *attributes = NULL;
    SYSTEM_SCOPE(system);
    TRY(attributes_of(system, process, &attributes, error));
    attributes->priority = priority;
    return GORDIAN_OK;
}

gordian_status gordian_set_cost(gordian_system *system, uint32_t process, int64_t cost,
                                gordian_error *error)
{
    struct rag_attributes *attributes = NULL;
    SYSTEM_SCOPE(system);
    TRY(attributes_of(system, process, &attributes, error));
    attributes->cost = cost;
    return GORDIAN_OK;
}

static struct rag_attributes attributes_now(const gordian_system *system, uint32_t process)
{
    const struct rag *graph = &system->graph;
    SYSTEM_SCOPE(system);
    return graph->attributes && rag_is_process(graph, process)
               ? graph->attributes[process]
               : (struct rag_attributes){.priority = 0, .cost = 1};
}

int64_t gordian_priority(const gordian_system *system, uint32_t process)
{
    return attributes_now(system, process).priority;
}

int64_t gordian_cost(const gordian_system *system, uint32_t process)
{
    return attributes_now(system, process).cost;
}

/* ---- names */

uint32_t gordian_find_process(const gordian_system *system, const char *name, size_t length)
{
    SYSTEM_SCOPE(system);
    return names_find(&system->graph.process_names, name, length);
}

uint32_t gordian_find_resource(const gordian_system *system, const char *name, size_t length)
{
    SYSTEM_SCOPE(system);
    return names_find(&system->graph.resource_names, name, length);
}

const char *gordian_process_name(const gordian_system *system, uint32_t process)
{
    SYSTEM_SCOPE(system);
    return rag_is_process(&system->graph, process)
               ? names_text(&system->graph.process_names, process)
               : NULL;
}

const char *gordian_resource_name(const gordian_system *system, uint32_t resource)
{
    SYSTEM_SCOPE(system);
    return rag_is_resource(&system->graph, resource)
               ? names_text(&system->graph.resource_names, resource)
               : NULL;
}

uint32_t gordian_process_limit(const gordian_system *system)
{
    SYSTEM_SCOPE(system);
    return system->graph.process_limit;
}

uint32_t gordian_resource_limit(const gordian_system *system)
{
    SYSTEM_SCOPE(system);
    return system->graph.resource_limit;
}
