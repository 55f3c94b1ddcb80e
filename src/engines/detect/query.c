/* Queries of a system's state. */
#include "engines/detect/shared.h"
#include "foundation/base/bits.h"
#include "foundation/base/error.h"

#include <stdio.h>
#include <string.h>

const uint32_t *gordian_served(const gordian_system *system, size_t *count)
{
    *count = system->graph.served_count;
    return system->graph.served;
}

bool gordian_is_waiting(const gordian_system *system, uint32_t process)
{
    SYSTEM_SCOPE(system);
    return rag_is_process(&system->graph, process) && rag_waits(&system->graph, process);
}

uint64_t gordian_units(const gordian_system *system, uint32_t resource)
{
    const struct rag *graph = &system->graph;
    SYSTEM_SCOPE(system);
    return rag_is_resource(graph, resource) ? rag_total_units(graph, resource) : 0;
}

uint64_t gordian_free_units(const gordian_system *system, uint32_t resource)
{
    const struct rag *graph = &system->graph;
    SYSTEM_SCOPE(system);
    return rag_is_resource(graph, resource) && !shared_is_held(system, resource)
               ? rag_free_units(graph, resource)
               : 0;
}

/* ---- edges */

/* Walks one of the graph's four kinds of lists (see engines/rag/rag.h). */
typedef struct rag_edge (*edge_reader)(const struct rag *rag, uint32_t ref);

static size_t list_graph_edges(const struct rag *graph, uint32_t ref, edge_reader read, bool waits,
                               gordian_edge *edges, size_t room)
{
    size_t count = 0;
    struct rag_edge edge;
    for (; ref != NONE; ref = edge.next, count++) {
        edge = read(graph, ref);
        if (count < room)
            edges[count] = (gordian_edge){.units = edge.units,
                                          .process = edge.process,
                                          .resource = edge.resource,
                                          .waits = waits};
    }
    return count;
}

/* Prepares a shared system for a query: moves what the query needs to the graph. */
static gordian_system *for_asking(const gordian_system *system)
{
    return (gordian_system *)system;
}

size_t gordian_holdings(const gordian_system *system, uint32_t process, gordian_edge *edges,
                        size_t room)
{
    const struct rag *graph = &system->graph;
    SYSTEM_SCOPE(system);
    if (system->shared)
        shared_lift_held(for_asking(system), process);
    uint32_t ref = rag_is_process(graph, process) ? graph->processes[process].held : NONE;
    return list_graph_edges(graph, ref, rag_held, false, edges, room);
}

size_t gordian_pending(const gordian_system *system, uint32_t process, gordian_edge *edges,
                       size_t room)
{
    const struct rag *graph = &system->graph;
    SYSTEM_SCOPE(system);
    uint32_t ref = rag_is_process(graph, process) && rag_waits(graph, process) ? process : NONE;
    return list_graph_edges(graph, ref, rag_wanted, true, edges, room);
}

size_t gordian_holders(const gordian_system *system, uint32_t resource, gordian_edge *edges,
                       size_t room)
{
    const struct rag *graph = &system->graph;
    SYSTEM_SCOPE(system);
    if (system->shared)
        shared_lift(for_asking(system), resource);
    uint32_t ref = rag_is_resource(graph, resource) ? rag_first_holder(graph, resource) : NONE;
    return list_graph_edges(graph, ref, rag_holder, false, edges, room);
}

size_t gordian_waiters(const gordian_system *system, uint32_t resource, gordian_edge *edges,
                       size_t room)
{
    const struct rag *graph = &system->graph;
    SYSTEM_SCOPE(system);
    uint32_t ref = rag_is_resource(graph, resource) ? graph->resources[resource].queue_head : NONE;
    return list_graph_edges(graph, ref, rag_queued, true, edges, room);
}

/* ---- sets of processes */

/* Provides `sets` consecutive zeroed bit sets, each with a bit for every process. */
static gordian_status process_sets(gordian_system *system, size_t sets, uint64_t **marks,
                                   gordian_error *error)
{
    size_t words = bits_words(system->graph.process_limit) * sets;
    if (!memory_grow(&system->graph.memory, &system->marks, &system->mark_room, words + 1,
                     sizeof *system->marks))
        return fail_memory(error);
    memset(system->marks, 0, words * sizeof *system->marks);
    *marks = system->marks;
    return GORDIAN_OK;
}

/* Writes the members of a set, in ascending order, to the list that the caller gets. */
static gordian_status list_set(gordian_system *system, const uint64_t *set,
                               const uint32_t **processes, size_t *count, gordian_error *error)
{
    size_t words = bits_words(system->graph.process_limit), members = 0;
    for (size_t i = 0; i < words; i++)
        members += (size_t)__builtin_popcountll(set[i]);
    if (!memory_grow(&system->graph.memory, &system->processes, &system->process_room, members + 1,
                     sizeof *system->processes))
        return fail_memory(error);
    size_t at = 0;
    for (size_t i = 0; i < words; i++)
        for (uint64_t word = set[i]; word; word &= word - 1)
            system->processes[at++] = (uint32_t)(i * 64 + (size_t)__builtin_ctzll(word));
    *processes = system->processes;
    *count = members;
    return GORDIAN_OK;
}

gordian_status gordian_waits_for(gordian_system *system, uint32_t process,
                                 const uint32_t **processes, size_t *count, gordian_error *error)
{
    const struct rag *graph = &system->graph;
    SYSTEM_SCOPE(system);
    if (!rag_is_process(graph, process))
        return fail(error, GORDIAN_STATUS_INPUT, "there is no process %u", process);
    uint64_t *set = NULL;
    TRY(process_sets(system, 1, &set, error));
    struct rag_edge want, hold;
    for (uint32_t ref = rag_waits(graph, process) ? process : NONE; ref != NONE; ref = want.next) {
        want = rag_wanted(graph, ref);
        if (rag_free_units(graph, want.resource) >= want.units)
            continue; /* This much of the request is available. */
        for (uint32_t h = rag_first_holder(graph, want.resource); h != NONE; h = hold.next) {
            hold = rag_holder(graph, h);
            bits_set(set, hold.process);
        }
    }
    return list_set(system, set, processes, count, error);
}

gordian_status system_dead(gordian_system *system, uint64_t **set, gordian_error *error)
{
    TRY(process_sets(system, 1, set, error));
    return system->hooks->deadlocked(system->state, *set, error);
}

gordian_status gordian_deadlocked(gordian_system *system, const uint32_t **processes, size_t *count,
                                  gordian_error *error)
{
    uint64_t *set;
    SYSTEM_SCOPE(system);
    TRY(system_dead(system, &set, error));
    return list_set(system, set, processes, count, error);
}

/* ---- matrices */

/* Finds a row of a matrix and its number of columns. *words is NULL for a row of counts. */
static gordian_status find_row(const gordian_system *system, gordian_matrix matrix, uint32_t row,
                               const uint64_t **words, uint32_t *columns, gordian_error *error)
{
    const struct rag *graph = &system->graph;
    if (!system->engine->matrix_row)
        return fail(error, GORDIAN_STATUS_UNAVAILABLE, "engine '%s' keeps no matrices",
                    system->engine->about.name);
    if ((unsigned)matrix > GORDIAN_MATRIX_RP)
        return fail(error, GORDIAN_STATUS_UNAVAILABLE, "there is no such matrix");
    bool of_processes = matrix == GORDIAN_MATRIX_AR;
    uint32_t rows = of_processes ? graph->process_limit : graph->resource_limit;
    if (row >= rows)
        return fail(error, GORDIAN_STATUS_INPUT, "the matrix has %u rows: no row %u", rows, row);
    bool across_resources = of_processes || matrix == GORDIAN_MATRIX_RR;
    *columns = across_resources ? graph->resource_limit : graph->process_limit;
    return system->engine->matrix_row(system->state, matrix, row, words, error);
}

gordian_status gordian_matrix_get(const gordian_system *system, gordian_matrix matrix, uint32_t row,
                                  uint32_t column, uint64_t *value, gordian_error *error)
{
    const uint64_t *words = NULL;
    uint32_t columns = 0;
    TRY(find_row(system, matrix, row, &words, &columns, error));
    if (column >= columns)
        return fail(error, GORDIAN_STATUS_INPUT, "the matrix has %u columns: no column %u", columns,
                    column);
    if (words)
        *value = bits_test(words, column);
    else if (rag_is_resource(&system->graph, row) && rag_is_process(&system->graph, column))
        *value = rag_held_units(&system->graph, column, row);
    else
        *value = 0;
    return GORDIAN_OK;
}

gordian_status gordian_matrix_row(const gordian_system *system, gordian_matrix matrix, uint32_t row,
                                  const uint64_t **words, size_t *count, gordian_error *error)
{
    uint32_t columns = 0;
    TRY(find_row(system, matrix, row, words, &columns, error));
    if (!*words)
        return fail(error, GORDIAN_STATUS_UNAVAILABLE,
                    "a multi-unit system stores grants as numbers, not as a row of bits");
    *count = bits_words(columns);
    return GORDIAN_OK;
}

/* ---- words */

const char *gordian_outcome_text(gordian_outcome outcome)
{
    static const char *const texts[] = {
        [GORDIAN_OUTCOME_GRANTED] = "granted",   [GORDIAN_OUTCOME_BLOCKED] = "blocked",
        [GORDIAN_OUTCOME_DEADLOCK] = "deadlock", [GORDIAN_OUTCOME_DOOMED] = "doomed",
        [GORDIAN_OUTCOME_RELEASED] = "released", [GORDIAN_OUTCOME_CANCELLED] = "cancelled",
        [GORDIAN_OUTCOME_EXITED] = "exited",     [GORDIAN_OUTCOME_REFUSED] = "error",
    };
    size_t index = (size_t)outcome;
    return index < sizeof texts / sizeof *texts && texts[index] ? texts[index] : "unknown";
}

const char *gordian_op_text(gordian_op op)
{
    static const char *const texts[] = {
        [GORDIAN_OP_REQUEST] = "request", [GORDIAN_OP_RELEASE] = "release",
        [GORDIAN_OP_CANCEL] = "cancel",   [GORDIAN_OP_EXIT] = "exit",
        [GORDIAN_OP_HOLD] = "hold",       [GORDIAN_OP_WAIT] = "wait",
        [GORDIAN_OP_AWAIT] = "await",     [GORDIAN_OP_ACT] = "act",
    };
    size_t index = (size_t)op;
    return index < sizeof texts / sizeof *texts && texts[index] ? texts[index] : "unknown";
}

/* Returns the resource that a refusal is about: the event's own, or the first of its wants at
 * fault. */
static uint32_t resource_at_fault(const gordian_system *system, const gordian_event *event,
                                  gordian_refusal refusal)
{
    const struct rag *graph = &system->graph;
    for (size_t i = 0; event->wants && i < event->want_count; i++) {
        uint32_t resource = event->wants[i].resource;
        uint64_t sum = 0;
        bool over = false;
        /* Do not search very long requests for a resource that is named twice. */
        size_t from = event->want_count > 64 ? i : 0;
        size_t to = event->want_count > 64 ? i + 1 : event->want_count;
        for (size_t j = from; j < to; j++)
            if (event->wants[j].resource == resource)
                over |= __builtin_add_overflow(sum, event->wants[j].units, &sum);
        if (refusal == GORDIAN_REFUSAL_UNKNOWN_RESOURCE
                ? !rag_is_resource(graph, resource)
                : rag_is_resource(graph, resource) &&
                      (over || sum > rag_total_units(graph, resource)))
            return resource;
    }
    return event->wants && event->want_count ? event->wants[0].resource : event->resource;
}

/* Writes the refusal of an await or an act. These name no resource. */
static void put_act_refusal(const gordian_system *system, const gordian_event *event,
                            gordian_refusal refusal, char *buffer, size_t size)
{
    const char *process = gordian_process_name(system, event->process);
    const char *to = gordian_process_name(system, event->to);
    process = process ? process : "?";
    if (refusal == GORDIAN_REFUSAL_OVER_TOTAL)
        snprintf(buffer, size, "process '%s' awaits more acts than it names processes", process);
    else if (refusal == GORDIAN_REFUSAL_NO_UNITS)
        snprintf(buffer, size, "process '%s' awaits nothing", process);
    else if (refusal == GORDIAN_REFUSAL_IS_WAITING)
        snprintf(buffer, size, "process '%s' waits: it may only cancel or exit", process);
    else if (refusal == GORDIAN_REFUSAL_NOT_HELD)
        snprintf(buffer, size, "no process awaits process '%s'", process);
    else if (refusal == GORDIAN_REFUSAL_BAD_HAND_OVER)
        snprintf(buffer, size, "process '%s' does not await process '%s'", to ? to : "?", process);
    else
        snprintf(buffer, size, "process '%s', or a process that it names, is not known", process);
}

static void put_refusal(const gordian_system *system, const gordian_event *event,
                        gordian_refusal refusal, char *buffer, size_t size)
{
    uint32_t at_fault = resource_at_fault(system, event, refusal);
    const char *process = gordian_process_name(system, event->process);
    const char *resource = gordian_resource_name(system, at_fault);
    const char *to = gordian_process_name(system, event->to);
    process = process ? process : "?";
    resource = resource ? resource : "?";
    switch (refusal) {
    case GORDIAN_REFUSAL_NONE:
        snprintf(buffer, size, "fine");
        break;
    case GORDIAN_REFUSAL_UNKNOWN_PROCESS:
        snprintf(buffer, size, "process '%s' is not known", process);
        break;
    case GORDIAN_REFUSAL_UNKNOWN_RESOURCE:
        snprintf(buffer, size, "resource '%s' is not known", resource);
        break;
    case GORDIAN_REFUSAL_NO_UNITS:
        snprintf(buffer, size, "process '%s' requests nothing", process);
        break;
    case GORDIAN_REFUSAL_OVER_TOTAL:
        snprintf(buffer, size, "resource '%s' has only %llu in all", resource,
                 (unsigned long long)gordian_units(system, at_fault));
        break;
    case GORDIAN_REFUSAL_IS_WAITING:
        snprintf(buffer, size, "process '%s' waits: it may only cancel or exit", process);
        break;
    case GORDIAN_REFUSAL_NOT_WAITING:
        snprintf(buffer, size, "process '%s' does not wait: there is nothing to cancel", process);
        break;
    case GORDIAN_REFUSAL_NOT_HELD:
        snprintf(buffer, size, "process '%s' holds %llu of '%s', not %llu", process,
                 (unsigned long long)rag_held_units(&system->graph, event->process, at_fault),
                 resource, (unsigned long long)event->units);
        break;
    case GORDIAN_REFUSAL_BAD_HAND_OVER:
        snprintf(buffer, size, "process '%s' does not wait for '%s', or its request does not fit",
                 to ? to : "?", resource);
        break;
    case GORDIAN_REFUSAL_NOT_FREE:
        snprintf(buffer, size, "only %llu of '%s' is free",
                 (unsigned long long)gordian_free_units(system, at_fault), resource);
        break;
    }
}

const char *gordian_refusal_text(const gordian_system *system, const gordian_event *event,
                                 gordian_refusal refusal, char *buffer, size_t size)
{
    SYSTEM_SCOPE(system);
    (event->op == GORDIAN_OP_AWAIT || event->op == GORDIAN_OP_ACT ? put_act_refusal : put_refusal)(
        system, event, refusal, buffer, size);
    return buffer;
}
