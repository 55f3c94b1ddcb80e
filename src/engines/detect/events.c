/*
 * Events: check the event, apply it to the wait-for graph, let the engine judge the result.
 *
 * An event is refused or fails before anything changes; everything it may need is reserved first.
 * The common case, one unit of a one-unit resource, takes few steps.
 */
#include "engines/detect/one_unit.h"
#include "engines/detect/shared.h"
#include "engines/rag/links.h"
#include "foundation/base/error.h"
#include "foundation/base/sort.h"

static gordian_status answer_with(gordian_result *result, gordian_outcome outcome)
{
    result->outcome = (uint8_t)outcome;
    return GORDIAN_OK;
}

/* ---- requests */

/* Sorts wants by resource and merges wants for the same resource. Units become 0 if the sum
 * overflows: it is then more than any total. */
static size_t merge_wants(gordian_want *wants, size_t count)
{
    sort_wants(wants, count);
    size_t kept = 0;
    for (size_t i = 1; i < count; i++) {
        if (wants[i].resource != wants[kept].resource)
            wants[++kept] = wants[i];
        else if (__builtin_add_overflow(wants[kept].units, wants[i].units, &wants[kept].units))
            return 0;
    }
    return kept + 1;
}

/* Returns whether events may not name this resource. An await is a resource for the engines only:
 * no event requests, holds or releases it by name. */
static bool is_unknown(const struct rag *graph, uint32_t resource)
{
    return !rag_is_resource(graph, resource) || graph->resources_more[resource].flags & RAG_AWAIT;
}

static bool has_one_unit(const struct rag *graph, uint32_t resource)
{
    return (graph->resources_more[resource].flags & (RAG_ONE | RAG_AWAIT)) == RAG_ONE;
}

static gordian_refusal check_want(const struct rag *graph, uint32_t resource, uint64_t units)
{
    if (is_unknown(graph, resource))
        return GORDIAN_REFUSAL_UNKNOWN_RESOURCE;
    if (units == 0)
        return GORDIAN_REFUSAL_NO_UNITS;
    if (units > rag_total_units(graph, resource))
        return GORDIAN_REFUSAL_OVER_TOTAL;
    return GORDIAN_REFUSAL_NONE;
}

/* Copies the wants of an event to the system's own list, sorted and merged. */
static gordian_status copy_event_wants(gordian_system *system, const gordian_event *event,
                                       size_t *count, gordian_refusal *refusal,
                                       gordian_error *error)
{
    const struct rag *graph = &system->graph;
    if (!memory_grow(&graph->memory, &system->wants, &system->want_room, event->want_count,
                     sizeof *system->wants))
        return fail_memory(error);
    for (size_t i = 0; i < event->want_count; i++) {
        *refusal = check_want(graph, event->wants[i].resource, event->wants[i].units);
        if (*refusal)
            return GORDIAN_OK;
        system->wants[i] = event->wants[i];
    }
    *count = merge_wants(system->wants, event->want_count);
    if (*count == 0)
        *refusal = GORDIAN_REFUSAL_OVER_TOTAL;
    for (size_t i = 0; i < *count && !*refusal; i++)
        *refusal = check_want(graph, system->wants[i].resource, system->wants[i].units);
    return GORDIAN_OK;
}

static gordian_outcome judge_block(gordian_system *system, uint32_t process)
{
    return system->hooks->block(system->state, process);
}

static gordian_status grant_wants(gordian_system *system, uint32_t process,
                                  const gordian_want *wants, size_t count, gordian_result *result,
                                  gordian_error *error)
{
    if (!rag_reserve_grant(&system->graph, count))
        return fail_memory(error);
    for (size_t i = 0; i < count; i++) {
        rag_grant(&system->graph, process, wants[i].resource, wants[i].units);
        RUN_HOOK(system, grant, process, wants[i].resource, wants[i].units);
    }
    return answer_with(result, GORDIAN_OUTCOME_GRANTED);
}

/* Handles every request other than one unit of a one-unit resource. */
static gordian_status request_wants(gordian_system *system, uint32_t process,
                                    const gordian_want *wants, size_t count, gordian_result *result,
                                    gordian_error *error)
{
    struct rag *graph = &system->graph;
    bool fits = true;
    for (size_t i = 0; i < count && fits; i++)
        fits = rag_free_units(graph, wants[i].resource) >= wants[i].units;
    if (fits)
        return grant_wants(system, process, wants, count, result, error);
    /* Serving this request later lists its wants in system->wants: reserve that memory now. */
    if (!memory_grow(&graph->memory, &system->wants, &system->want_room, count,
                     sizeof *system->wants) ||
        !rag_reserve_block(graph, count))
        return fail_memory(error);
    if (count > 1 || wants[0].units > 1)
        TRY(system_grow_model(system, GORDIAN_MODEL_GENERAL, error));

    /* `wants` is system->wants itself, or the caller's single want. */
    rag_block(graph, process, count > 1 ? system->wants : wants, count);
    return answer_with(result, judge_block(system, process));
}

static gordian_status apply_request(gordian_system *system, const gordian_event *event,
                                    gordian_result *result, gordian_error *error)
{
    struct rag *graph = &system->graph;
    uint32_t process = event->process, resource = event->resource;
    if (__builtin_expect(!rag_is_process(graph, process), 0))
        return refuse_event(result, GORDIAN_REFUSAL_UNKNOWN_PROCESS);
    if (__builtin_expect(rag_waits(graph, process), 0))
        return refuse_event(result, GORDIAN_REFUSAL_IS_WAITING);
    bool one = !event->wants && rag_is_resource(graph, resource) && has_one_unit(graph, resource);
    switch (one_unit_decide(event, true, false, one ? graph->holder[resource] : RAG_REMOVED)) {
    case ONE_UNIT_GRANT:
        grant_one(graph, process, resource);
        RUN_HOOK(system, grant, process, resource, 1);
        return answer_with(result, GORDIAN_OUTCOME_GRANTED);
    case ONE_UNIT_WAIT:
        block_one(graph, process, resource, 1);
        return answer_with(result, judge_block(system, process));
    case ONE_UNIT_RELEASE:
    case ONE_UNIT_OTHER:
        break;
    }
    if (!event->wants) {
        gordian_refusal refusal = check_want(graph, resource, event->units);
        gordian_want want = {.units = event->units, .resource = resource};
        return refusal ? refuse_event(result, refusal)
                       : request_wants(system, process, &want, 1, result, error);
    }
    if (event->want_count == 0)
        return refuse_event(result, GORDIAN_REFUSAL_NO_UNITS);
    size_t count = 0;
    gordian_refusal refusal = GORDIAN_REFUSAL_NONE;
    TRY(copy_event_wants(system, event, &count, &refusal, error));
    return refusal ? refuse_event(result, refusal)
                   : request_wants(system, process, system->wants, count, result, error);
}

/* Applies a `hold` line of a snapshot: the process holds units without a request, ahead of all
 * waiters. */
static gordian_status apply_hold(gordian_system *system, const gordian_event *event,
                                 gordian_result *result, gordian_error *error)
{
    struct rag *graph = &system->graph;
    if (!rag_is_process(graph, event->process))
        return refuse_event(result, GORDIAN_REFUSAL_UNKNOWN_PROCESS);
    if (rag_waits(graph, event->process))
        return refuse_event(result, GORDIAN_REFUSAL_IS_WAITING);
    gordian_refusal refusal = check_want(graph, event->resource, event->units);
    if (refusal)
        return refuse_event(result, refusal);
    if (rag_free_units(graph, event->resource) < event->units)
        return refuse_event(result, GORDIAN_REFUSAL_NOT_FREE);
    gordian_want want = {.units = event->units, .resource = event->resource};
    return grant_wants(system, event->process, &want, 1, result, error);
}

/* ---- serving */

/* Few processes have a path, so this test costs much less than calling the hook every time. */
static inline void notify_awake(gordian_system *system, uint32_t process)
{
    if (__builtin_expect(system->graph.processes[process].path != NONE, 0) && system->hooks->awake)
        system->hooks->awake(system->state, process);
}

/* Serves the whole pending request of `process`. All memory is reserved. */
static void serve_process(gordian_system *system, uint32_t process, uint32_t from)
{
    struct rag *graph = &system->graph;
    size_t count = 0;
    struct rag_edge edge;
    for (uint32_t ref = process; ref != NONE; ref = edge.next) {
        edge = rag_wanted(graph, ref);
        system->wants[count++] = (gordian_want){.units = edge.units, .resource = edge.resource};
    }
    rag_unblock(graph, process);
    for (size_t i = 0; i < count; i++)
        rag_grant(graph, process, system->wants[i].resource, system->wants[i].units);
    graph->served[graph->served_count++] = process;
    notify_awake(system, process);
    RUN_HOOK(system, serve, process, from, system->wants, count);
}

/* Serves the waiters of `resource` in order of arrival while units are free. */
static void serve_queue(gordian_system *system, uint32_t resource, uint32_t from)
{
    struct rag *graph = &system->graph;
    uint32_t ref = graph->resources[resource].queue_head;
    while (ref != NONE && rag_free_units(graph, resource) > 0) {
        struct rag_edge edge = rag_queued(graph, ref);
        if (rag_fits(graph, edge.process))
            serve_process(system, edge.process, from);
        ref = edge.next;
    }
}

static void sink_cursor(struct queue_cursor *heap, size_t count, size_t at)
{
    struct queue_cursor moving = heap[at];
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && heap[child + 1].arrival < heap[child].arrival)
            child++;
        if (heap[child].arrival >= moving.arrival)
            break;
        heap[at] = heap[child];
    }
    heap[at] = moving;
}

/* Advances the first cursor. Drops it if its queue ends or nothing of its resource is free. */
static size_t advance_cursor(const struct rag *graph, struct queue_cursor *heap, size_t count)
{
    uint32_t next = rag_queued(graph, heap[0].ref).next;
    if (next == NONE || rag_free_units(graph, heap[0].resource) == 0) {
        heap[0] = heap[--count];
    } else {
        heap[0].ref = next;
        heap[0].arrival = graph->processes_more[rag_queued(graph, next).process].arrival;
    }
    if (count)
        sink_cursor(heap, count, 0);
    return count;
}

/* Serves several queues at once, in order of arrival over all of them, with a heap of one cursor
 * for each queue. `cursors` holds the released resources. */
void system_serve_queues(gordian_system *system, size_t count, uint32_t from)
{
    struct rag *graph = &system->graph;
    struct queue_cursor *heap = system->cursors;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t ref = graph->resources[heap[i].resource].queue_head;
        if (ref == NONE)
            continue;
        uint64_t arrival = graph->processes_more[rag_queued(graph, ref).process].arrival;
        heap[kept++] = (struct queue_cursor){arrival, ref, heap[i].resource};
    }
    for (size_t i = kept / 2; i-- > 0;)
        sink_cursor(heap, kept, i);
    while (kept) {
        uint64_t arrival = heap[0].arrival;
        uint32_t process = rag_queued(graph, heap[0].ref).process;
        /* Advance every cursor at this process first: serving the process removes its edges. */
        while (kept && heap[0].arrival == arrival)
            kept = advance_cursor(graph, heap, kept);
        if (rag_fits(graph, process))
            serve_process(system, process, from);
    }
}

/* ---- releasing */

/* Returns whether the pending request of `process` fits once `units` more of `resource` are free.
 */
static bool hand_over_fits(const struct rag *graph, uint32_t process, uint32_t resource,
                           uint64_t units)
{
    bool wants_it = false;
    struct rag_edge edge;
    for (uint32_t ref = process; ref != NONE; ref = edge.next) {
        edge = rag_wanted(graph, ref);
        uint64_t available = rag_free_units(graph, edge.resource);
        if (edge.resource == resource) {
            wants_it = true;
            available += units;
        }
        if (available < edge.units)
            return false;
    }
    return wants_it;
}

static gordian_refusal check_release(const struct rag *graph, const gordian_event *event)
{
    if (!rag_is_process(graph, event->process))
        return GORDIAN_REFUSAL_UNKNOWN_PROCESS;
    if (is_unknown(graph, event->resource))
        return GORDIAN_REFUSAL_UNKNOWN_RESOURCE;
    if (event->units == 0)
        return GORDIAN_REFUSAL_NO_UNITS;
    if (rag_waits(graph, event->process))
        return GORDIAN_REFUSAL_IS_WAITING;
    if (rag_held_units(graph, event->process, event->resource) < event->units)
        return GORDIAN_REFUSAL_NOT_HELD;
    if (event->to == NONE)
        return GORDIAN_REFUSAL_NONE;
    if (!rag_is_process(graph, event->to) || !rag_waits(graph, event->to) ||
        !hand_over_fits(graph, event->to, event->resource, event->units))
        return GORDIAN_REFUSAL_BAD_HAND_OVER;
    return GORDIAN_REFUSAL_NONE;
}

static gordian_status release_any(gordian_system *system, const gordian_event *event,
                                  gordian_result *result)
{
    struct rag *graph = &system->graph;
    gordian_refusal refusal = check_release(graph, event);
    if (refusal)
        return refuse_event(result, refusal);
    rag_ungrant(graph, event->process, event->resource, event->units);
    RUN_HOOK(system, release, event->process, event->resource, event->units);
    if (event->to != NONE)
        serve_process(system, event->to, event->process);
    serve_queue(system, event->resource, event->process);
    RUN_HOOK(system, settle);
    return answer_with(result, GORDIAN_OUTCOME_RELEASED);
}

static gordian_status apply_release(gordian_system *system, const gordian_event *event,
                                    gordian_result *result, gordian_error *error)
{
    struct rag *graph = &system->graph;
    uint32_t process = event->process, resource = event->resource;
    if (graph->served_count + graph->waiting > graph->served_room && !rag_reserve_served(graph))
        return fail_memory(error);
    if (!rag_is_process(graph, process) || !rag_is_resource(graph, resource))
        return release_any(system, event, result);
    uint32_t next = graph->resources[resource].queue_head;
    if (!has_one_unit(graph, resource) || event->units != 1 || graph->holder[resource] != process ||
        event->to != NONE || rag_waits(graph, process) ||
        (next != NONE && (next & RAG_POOLED || graph->processes_more[next].wait_more != NONE)))
        return release_any(system, event, result);

    ungrant_one(graph, process, resource);
    RUN_HOOK(system, release, process, resource, 1);
    if (next != NONE) {
        /* Serve the first waiter, for one unit of a one-unit resource. */
        unblock_one(graph, next);
        grant_one(graph, next, resource);
        graph->served[graph->served_count++] = next;
        notify_awake(system, next);
        if (system->hooks->serve) {
            gordian_want want = {.units = 1, .resource = resource};
            system->hooks->serve(system->state, next, process, &want, 1);
        }
    }
    RUN_HOOK(system, settle);
    return answer_with(result, GORDIAN_OUTCOME_RELEASED);
}

void system_give_up(gordian_system *system, uint32_t process)
{
    system->graph.opened = NONE;
    RUN_HOOK(system, cancel, process);
    rag_unblock(&system->graph, process);
}

static gordian_status apply_cancel(gordian_system *system, const gordian_event *event,
                                   gordian_result *result, gordian_error *error)
{
    struct rag *graph = &system->graph;
    system->graph.opened = NONE;
    if (!rag_is_process(graph, event->process))
        return refuse_event(result, GORDIAN_REFUSAL_UNKNOWN_PROCESS);
    if (!rag_waits(graph, event->process))
        return refuse_event(result, GORDIAN_REFUSAL_NOT_WAITING);
    size_t awaits = 0;
    if (system->await_count && !system_list_awaits(system, event->process, &awaits))
        return fail_memory(error);
    system_give_up(system, event->process);
    system_end_awaits(system, awaits);
    RUN_HOOK(system, settle);
    return answer_with(result, GORDIAN_OUTCOME_CANCELLED);
}

/* Releases everything that `process` holds and lists the resources in the cursors. */
static size_t return_all(gordian_system *system, uint32_t process)
{
    struct rag *graph = &system->graph;
    size_t count = 0;
    for (uint32_t ref; (ref = graph->processes[process].held) != NONE;) {
        struct rag_edge edge = rag_held(graph, ref);
        system_note_act(system, process, edge.resource);
        rag_ungrant(graph, process, edge.resource, edge.units);
        RUN_HOOK(system, release, process, edge.resource, edge.units);
        system->cursors[count++].resource = edge.resource;
    }
    return count;
}

static gordian_status exit_process(gordian_system *system, const gordian_event *event,
                                   gordian_result *result, gordian_error *error)
{
    struct rag *graph = &system->graph;
    uint32_t process = event->process;
    system->graph.opened = NONE;
    if (!rag_is_process(graph, process))
        return refuse_event(result, GORDIAN_REFUSAL_UNKNOWN_PROCESS);
    size_t held = 0;
    for (uint32_t ref = graph->processes[process].held; ref != NONE;
         ref = rag_held(graph, ref).next)
        held++;
    if (!rag_reserve_served(graph) ||
        !memory_grow(&graph->memory, &system->cursors, &system->cursor_room, held,
                     sizeof *system->cursors))
        return fail_memory(error);
    size_t awaits = 0, served = graph->served_count;
    if (system->await_count && !system_list_awaits(system, process, &awaits))
        return fail_memory(error);
    if (rag_waits(graph, process))
        system_give_up(system, process);
    system_end_awaits(system, awaits);
    system_serve_queues(system, return_all(system, process), process);
    if (system->await_count)
        system_end_served(system, served);
    RUN_HOOK(system, settle);
    graph->processes_more[process].born =
        graph->clock++; /* The name may be used again, by a younger process. */
    return answer_with(result, GORDIAN_OUTCOME_EXITED);
}

/* ---- feeding */

static inline gordian_status feed_one(gordian_system *system, const gordian_event *event,
                                      gordian_result *result, gordian_error *error)
{
    size_t served = system->graph.served_count;
    *result = (gordian_result){0};
    gordian_status status;
    switch (event->op) {
    case GORDIAN_OP_REQUEST:
    case GORDIAN_OP_WAIT:
        return apply_request(system, event, result, error); /* This one serves no process. */
    case GORDIAN_OP_RELEASE:
        status = apply_release(system, event, result, error);
        if (system->await_count)
            system_end_served(system, served);
        break;
    case GORDIAN_OP_CANCEL:
        return apply_cancel(system, event, result, error);
    case GORDIAN_OP_EXIT:
        status = exit_process(system, event, result, error);
        break;
    case GORDIAN_OP_HOLD:
        return apply_hold(system, event, result, error);
    case GORDIAN_OP_AWAIT:
        return system_take_await(system, event, result, error);
    case GORDIAN_OP_ACT:
        status = system_take_act(system, event, result, error);
        break;
    default:
        return fail(error, GORDIAN_STATUS_INPUT, "there is no event of kind %d", (int)event->op);
    }
    result->served_count = (uint32_t)(system->graph.served_count - served);
    return status;
}

gordian_status system_feed(gordian_system *system, const gordian_event *event,
                           gordian_result *result, gordian_error *error)
{
    system->graph.served_count = 0;
    if (plain_feed(system, event, 1, result, false))
        return GORDIAN_OK;
    return feed_one(system, event, result, error);
}

size_t system_feed_run(gordian_system *system, const gordian_event *events, size_t count,
                       gordian_result *results)
{
    size_t taken = 0;
    system->graph.served_count = 0;
    for (;;) {
        taken += plain_feed(system, events + taken, count - taken, results + taken, true);
        if (taken == count || (taken > 0 && result_is_stuck(&results[taken - 1])))
            return taken;
        gordian_result *result = &results[taken];
        if (feed_one(system, &events[taken], result, NULL) != GORDIAN_OK ||
            result->outcome == GORDIAN_OUTCOME_REFUSED)
            return taken;
        taken++;
        if (result_is_stuck(result))
            return taken;
    }
}

gordian_status gordian_feed(gordian_system *system, const gordian_event *event,
                            gordian_result *result, gordian_error *error)
{
    gordian_result ignored;
    size_t taken;
    if (!result)
        result = &ignored;
    return system->shared ? shared_feed(system, event, 1, result, &taken, error)
                          : system_feed(system, event, result, error);
}

gordian_status gordian_feed_batch(gordian_system *system, const gordian_event *events, size_t count,
                                  gordian_result *results, size_t *done, gordian_error *error)
{
    gordian_status status = GORDIAN_OK;
    size_t taken = 0;
    if (system->shared)
        status = shared_feed(system, events, count, results, &taken, error);
    else
        system->graph.served_count = 0;
    while (status == GORDIAN_OK && taken < count) {
        taken += plain_feed(system, events + taken, count - taken, results + taken, false);
        if (taken == count)
            break;
        status = feed_one(system, &events[taken], &results[taken], error);
        taken += status == GORDIAN_OK;
    }
    if (done)
        *done = taken;
    return status;
}

static gordian_status feed_short(gordian_system *system, gordian_event event,
                                 gordian_outcome *outcome, gordian_error *error)
{
    gordian_result result;
    event.to = NONE;
    TRY(gordian_feed(system, &event, &result, error));
    if (outcome)
        *outcome = (gordian_outcome)result.outcome;
    return GORDIAN_OK;
}

static inline gordian_status short_outcome(gordian_outcome *outcome, gordian_outcome is)
{
    if (outcome)
        *outcome = is;
    return GORDIAN_OK;
}

gordian_status gordian_request(gordian_system *system, uint32_t process, uint32_t resource,
                               uint64_t units, gordian_outcome *outcome, gordian_error *error)
{
    if (system->shared && units == 1 && shared_take(system->shared, process, resource))
        return short_outcome(outcome, GORDIAN_OUTCOME_GRANTED);
    return feed_short(
        system,
        (gordian_event){
            .op = GORDIAN_OP_REQUEST, .process = process, .resource = resource, .units = units},
        outcome, error);
}

gordian_status gordian_release(gordian_system *system, uint32_t process, uint32_t resource,
                               uint64_t units, gordian_outcome *outcome, gordian_error *error)
{
    if (system->shared && units == 1 && shared_give(system->shared, process, resource))
        return short_outcome(outcome, GORDIAN_OUTCOME_RELEASED);
    return feed_short(
        system,
        (gordian_event){
            .op = GORDIAN_OP_RELEASE, .process = process, .resource = resource, .units = units},
        outcome, error);
}

gordian_status gordian_cancel(gordian_system *system, uint32_t process, gordian_outcome *outcome,
                              gordian_error *error)
{
    return feed_short(system, (gordian_event){.op = GORDIAN_OP_CANCEL, .process = process}, outcome,
                      error);
}

gordian_status gordian_exit(gordian_system *system, uint32_t process, gordian_outcome *outcome,
                            gordian_error *error)
{
    return feed_short(system, (gordian_event){.op = GORDIAN_OP_EXIT, .process = process}, outcome,
                      error);
}
