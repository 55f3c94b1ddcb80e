/*
 * Awaits: a process waits for acts of other processes (messages, signals, arrivals).
 *
 * An await is a resource without a name. It has one unit for each process that can act, and that
 * process holds it; the awaiting process requests some of these units. An act releases units. Once
 * the request is granted the await is over and the resource is removed. No other process ever waits
 * for such a resource, so adding or removing one never creates or ends a deadlock elsewhere. The
 * only new case for engines: a waiting process can gain or lose such a unit (`lend` in
 * engine/engine.h).
 */
#include "engines/detect/system.h"
#include "foundation/base/error.h"
#include "foundation/base/sort.h"

static bool is_await_of_graph(const struct rag *graph, uint32_t resource)
{
    return graph->resources_more[resource].flags & RAG_AWAIT;
}

bool gordian_is_await(const gordian_system *system, uint32_t resource)
{
    SYSTEM_SCOPE(system);
    return rag_is_resource(&system->graph, resource) && is_await_of_graph(&system->graph, resource);
}

/* ---- ending */

bool system_reserve_await(gordian_system *system)
{
    const struct rag *graph = &system->graph;
    return memory_grow(&graph->memory, &system->awaiters, &system->awaiter_room,
                       (size_t)graph->resource_limit + 1, sizeof *system->awaiters);
}

void system_begin_await(gordian_system *system, uint32_t process, uint32_t resource)
{
    system->graph.resources_more[resource].flags |= RAG_AWAIT;
    system->awaiters[resource] = process;
    system->await_count++;
}

/* Records that a holder has lost a unit of an await. The waiter itself is no such holder: once
 * served, it holds what it awaited until the resource goes. */
static void note_drop(gordian_system *system, uint32_t holder, uint32_t resource, bool acted)
{
    uint32_t waiter = system->awaiters[resource];
    if (!system->keeps_drops || holder == waiter)
        return;
    if (memory_grow(&system->graph.memory, &system->drops, &system->drop_room,
                    system->drop_count + 1, sizeof *system->drops))
        system->drops[system->drop_count++] = (struct await_drop){holder, waiter, resource, acted};
    else
        system->drops_lost = true;
}

void system_note_act(gordian_system *system, uint32_t process, uint32_t resource)
{
    if (is_await_of_graph(&system->graph, resource))
        note_drop(system, process, resource, true);
}

/* Takes away the units of a holder. No process waits for them. */
static void drop_hold(gordian_system *system, uint32_t process, uint32_t resource, uint64_t units)
{
    rag_ungrant(&system->graph, process, resource, units);
    if (rag_waits(&system->graph, process))
        RUN_HOOK(system, lend, process, resource, -(int64_t)units);
    else
        RUN_HOOK(system, release, process, resource, units);
}

static void end_await(gordian_system *system, uint32_t resource)
{
    struct rag *graph = &system->graph;
    for (uint32_t ref; (ref = rag_first_holder(graph, resource)) != NONE;) {
        struct rag_edge edge = rag_holder(graph, ref);
        note_drop(system, edge.process, resource, false);
        drop_hold(system, edge.process, resource, edge.units);
    }
    graph->resources_more[resource].flags &= ~(uint32_t)RAG_AWAIT;
    rag_remove_resource(graph, resource);
    system->await_count--;
}

bool system_list_awaits(gordian_system *system, uint32_t process, size_t *count)
{
    const struct rag *graph = &system->graph;
    struct rag_edge edge;
    *count = 0;
    if (!rag_is_process(graph, process) || !rag_waits(graph, process))
        return true;
    for (uint32_t ref = process; ref != NONE; ref = edge.next) {
        edge = rag_wanted(graph, ref);
        if (!is_await_of_graph(graph, edge.resource))
            continue;
        if (!memory_grow(&graph->memory, &system->others, &system->other_room, *count + 1,
                         sizeof *system->others))
            return false;
        system->others[(*count)++] = edge.resource;
    }
    return true;
}

void system_end_awaits(gordian_system *system, size_t count)
{
    for (size_t i = 0; i < count; i++)
        end_await(system, system->others[i]);
}

/* Ends the awaits of served processes that no process waits for any more. */
void system_end_served(gordian_system *system, size_t first)
{
    struct rag *graph = &system->graph;
    for (size_t i = first; i < graph->served_count; i++) {
        uint32_t ref = graph->processes[graph->served[i]].held, next;
        for (; ref != NONE; ref = next) {
            struct rag_edge edge = rag_held(graph, ref);
            next = edge.next;
            if (is_await_of_graph(graph, edge.resource) &&
                graph->resources[edge.resource].queue_head == NONE)
                end_await(system, edge.resource);
        }
    }
}

/* ---- awaiting */

static gordian_refusal check_await(const gordian_system *system, uint32_t process, size_t count,
                                   uint64_t needed)
{
    const struct rag *graph = &system->graph;
    struct rag_edge edge;
    if (!rag_is_process(graph, process))
        return GORDIAN_REFUSAL_UNKNOWN_PROCESS;
    for (uint32_t ref = rag_waits(graph, process) ? process : NONE; ref != NONE; ref = edge.next) {
        edge = rag_wanted(graph, ref);
        if (!is_await_of_graph(graph, edge.resource))
            return GORDIAN_REFUSAL_IS_WAITING;
    }
    if (count == 0 || needed == 0)
        return GORDIAN_REFUSAL_NO_UNITS;
    for (size_t i = 0; i < count; i++)
        if (!rag_is_process(graph, system->others[i]))
            return GORDIAN_REFUSAL_UNKNOWN_PROCESS;
    return needed > count ? GORDIAN_REFUSAL_OVER_TOTAL : GORDIAN_REFUSAL_NONE;
}

static size_t pending_wants(const struct rag *graph, uint32_t process)
{
    size_t count = 0;
    if (!rag_waits(graph, process))
        return 0;
    for (uint32_t ref = process; ref != NONE; ref = rag_wanted(graph, ref).next)
        count++;
    return count;
}

/* Writes the present wants of a process, all of them awaits, and one more to system->wants. The
 * process then no longer waits. */
static size_t collect_wants(gordian_system *system, uint32_t process, gordian_want more)
{
    struct rag *graph = &system->graph;
    size_t count = 0;
    struct rag_edge edge;
    for (uint32_t ref = rag_waits(graph, process) ? process : NONE; ref != NONE; ref = edge.next) {
        edge = rag_wanted(graph, ref);
        system->wants[count++] = (gordian_want){.units = edge.units, .resource = edge.resource};
    }
    if (count) {
        system_give_up(system, process);
        RUN_HOOK(system, settle);
    }
    system->wants[count++] = more;
    sort_wants(system->wants, count);
    return count;
}

/* Reserves the memory for an await and adds its resource. On failure nothing has changed. */
static gordian_status open_await(gordian_system *system, uint32_t process, size_t count,
                                 uint32_t *resource, gordian_error *error)
{
    struct rag *graph = &system->graph;
    size_t wants = pending_wants(graph, process) + 1;
    if (!memory_grow(&graph->memory, &system->wants, &system->want_room, wants,
                     sizeof *system->wants) ||
        !rag_reserve_grant(graph, count) || !rag_reserve_block(graph, wants) ||
        !system_reserve_await(system))
        return fail_memory(error);
    return system_add_await(system, count, resource, error);
}

/* Begins an await. system->others lists the processes that can act. */
static gordian_status take_await(gordian_system *system, uint32_t process, size_t count,
                                 uint64_t needed, gordian_result *result, gordian_error *error)
{
    struct rag *graph = &system->graph;
    uint32_t resource;
    bool all = needed == count;
    count = sort_unique_u32(system->others, count);
    needed = all ? count : needed;
    gordian_refusal refusal = check_await(system, process, count, needed);
    if (refusal)
        return refuse_event(result, refusal);
    TRY(open_await(system, process, count, &resource, error));
    system_begin_await(system, process, resource);
    size_t wants =
        collect_wants(system, process, (gordian_want){.units = needed, .resource = resource});
    /* Give a unit to each process that can act. */
    for (size_t i = 0; i < count; i++) {
        uint32_t other = system->others[i];
        rag_grant(&system->graph, other, resource, 1);
        if (rag_waits(&system->graph, other))
            RUN_HOOK(system, lend, other, resource, 1);
        else
            RUN_HOOK(system, grant, other, resource, 1);
    }
    rag_block(graph, process, system->wants, wants);
    result->outcome = (uint8_t)system->hooks->block(system->state, process);
    return GORDIAN_OK;
}

gordian_status system_take_await(gordian_system *system, const gordian_event *event,
                                 gordian_result *result, gordian_error *error)
{
    size_t count = event->wants ? event->want_count : 0;
    if (!memory_grow(&system->graph.memory, &system->others, &system->other_room, count,
                     sizeof *system->others))
        return fail_memory(error);
    for (size_t i = 0; i < count; i++)
        system->others[i] = event->wants[i].resource;
    return take_await(system, event->process, count, event->units, result, error);
}

gordian_status gordian_await(gordian_system *system, uint32_t process, const uint32_t *others,
                             size_t count, size_t needed, gordian_outcome *outcome,
                             gordian_error *error)
{
    gordian_result result;
    SYSTEM_SCOPE(system);
    if (!memory_grow(&system->graph.memory, &system->asked, &system->asked_room, count + 1,
                     sizeof *system->asked))
        return fail_memory(error);
    for (size_t i = 0; i < count; i++)
        system->asked[i] = (gordian_want){.units = 1, .resource = others[i]};
    const gordian_event event = {.op = GORDIAN_OP_AWAIT,
                                 .process = process,
                                 .to = NONE,
                                 .units = needed,
                                 .wants = system->asked,
                                 .want_count = count};
    TRY(gordian_feed(system, &event, &result, error));
    if (outcome)
        *outcome = (gordian_outcome)result.outcome;
    return GORDIAN_OK;
}

/* ---- acting */

/* Lists in the cursors what `to`, or any process, awaits from a process. Returns false if out of
 * memory. */
static bool list_awaited(gordian_system *system, uint32_t process, uint32_t to, size_t *count)
{
    const struct rag *graph = &system->graph;
    struct rag_edge edge;
    *count = 0;
    for (uint32_t ref = graph->processes[process].held; ref != NONE; ref = edge.next) {
        edge = rag_held(graph, ref);
        if (!is_await_of_graph(graph, edge.resource))
            continue;
        uint32_t waiter = graph->resources[edge.resource].queue_head;
        if (to != NONE && (waiter == NONE || rag_queued(graph, waiter).process != to))
            continue;
        if (!memory_grow(&graph->memory, &system->cursors, &system->cursor_room, *count + 1,
                         sizeof *system->cursors))
            return false;
        system->cursors[(*count)++].resource = edge.resource;
    }
    return true;
}

gordian_status system_take_act(gordian_system *system, const gordian_event *event,
                               gordian_result *result, gordian_error *error)
{
    struct rag *graph = &system->graph;
    uint32_t process = event->process;
    size_t count, served = graph->served_count;
    if (!rag_is_process(graph, process))
        return refuse_event(result, GORDIAN_REFUSAL_UNKNOWN_PROCESS);
    if (rag_waits(graph, process))
        return refuse_event(result, GORDIAN_REFUSAL_IS_WAITING);
    if (!rag_reserve_served(graph) || !list_awaited(system, process, event->to, &count))
        return fail_memory(error);
    if (count == 0)
        return refuse_event(result, event->to == NONE ? GORDIAN_REFUSAL_NOT_HELD
                                                      : GORDIAN_REFUSAL_BAD_HAND_OVER);
    for (size_t i = 0; i < count; i++) {
        system_note_act(system, process, system->cursors[i].resource);
        drop_hold(system, process, system->cursors[i].resource, 1);
    }
    system_serve_queues(system, count, process);
    system_end_served(system, served);
    RUN_HOOK(system, settle);
    result->outcome = GORDIAN_OUTCOME_RELEASED;
    return GORDIAN_OK;
}

gordian_status gordian_act(gordian_system *system, uint32_t process, uint32_t to,
                           gordian_outcome *outcome, gordian_error *error)
{
    const gordian_event event = {.op = GORDIAN_OP_ACT, .process = process, .to = to};
    gordian_result result;
    TRY(gordian_feed(system, &event, &result, error));
    if (outcome)
        *outcome = (gordian_outcome)result.outcome;
    return GORDIAN_OK;
}
