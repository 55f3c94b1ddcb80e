/* What would deadlock? engine/what_if_ends.h describes the method. */
#include "engines/detect/engine/what_if_ends.h"

#include "engines/detect/shared.h"
#include "foundation/base/bits.h"
#include "foundation/base/error.h"

#include <string.h>

/* ------------------------------------------------------------------ ends */

/* Resources whose end has changed since they were last visited. An end changes at most twice: from
 * none to one, from one to several. */
struct ends_walk {
    const struct rag *graph;
    uint32_t *ends;
    uint32_t *stack;
    size_t depth;
};

/* Notes that `resource` leads to `end`. */
static void add_end(struct ends_walk *walk, uint32_t resource, uint32_t end)
{
    uint32_t known = walk->ends[resource];
    if (known == DETECT_SEVERAL || known == end)
        return;
    walk->ends[resource] = known == NONE ? end : DETECT_SEVERAL;
    walk->stack[walk->depth++] = resource;
}

/* Notes the same for everything that `process` holds. */
static void add_end_to_holdings(struct ends_walk *walk, uint32_t process, uint32_t end)
{
    struct rag_edge held;
    for (uint32_t ref = walk->graph->processes[process].held; ref != NONE; ref = held.next) {
        held = rag_held(walk->graph, ref);
        add_end(walk, held.resource, end);
    }
}

gordian_status what_if_ends(const struct rag *graph, uint32_t *ends, gordian_error *error)
{
    struct ends_walk walk = {.graph = graph, .ends = ends};
    size_t room = 2 * (size_t)graph->resource_limit + 1;
    walk.stack = memory_alloc(&graph->memory, room * sizeof *walk.stack);
    if (!walk.stack)
        return fail_memory(error);
    for (uint32_t q = 0; q < graph->resource_limit; q++)
        ends[q] = NONE;
    for (uint32_t p = 0; p < graph->process_limit; p++)
        if (rag_is_process(graph, p) && !rag_waits(graph, p)) {
            add_end_to_holdings(&walk, p, p);
            while (walk.depth) {
                uint32_t resource = walk.stack[--walk.depth];
                uint32_t end = walk.ends[resource];
                struct rag_edge waiter;
                for (uint32_t ref = walk.graph->resources[resource].queue_head; ref != NONE;
                     ref = waiter.next) {
                    waiter = rag_queued(walk.graph, ref);
                    add_end_to_holdings(&walk, waiter.process, end);
                }
            }
        }
    memory_free(&graph->memory, walk.stack);
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ reduction */

/* Processes that can finish do so and release everything; `free` is what is free in the end. */
struct reduction {
    const struct rag *graph;
    uint64_t *free;  /* by resource */
    uint64_t *done;  /* a bit for every process */
    uint32_t *stack; /* finished, but their holdings are not yet released */
    size_t depth;
};

static void reduction_close(struct reduction *reduction)
{
    if (!reduction->graph)
        return;
    memory_free_all(&reduction->graph->memory, reduction->free, reduction->done, reduction->stack);
    *reduction = (struct reduction){0};
}

static gordian_status reduction_open(struct reduction *reduction, const struct rag *graph,
                                     gordian_error *error)
{
    size_t processes = graph->process_limit, resources = graph->resource_limit;
    const gordian_allocator *memory = &graph->memory;
    reduction->graph = graph;
    reduction->free = memory_alloc(memory, (resources + 1) * sizeof *reduction->free);
    reduction->done = memory_alloc(memory, (bits_words(processes) + 1) * sizeof *reduction->done);
    reduction->stack = memory_alloc(memory, (processes + 1) * sizeof *reduction->stack);
    if (reduction->free && reduction->done && reduction->stack)
        return GORDIAN_OK;
    reduction_close(reduction);
    return fail_memory(error);
}

static bool request_fits(const struct reduction *reduction, uint32_t process)
{
    struct rag_edge want;
    for (uint32_t ref = process; ref != NONE; ref = want.next) {
        want = rag_wanted(reduction->graph, ref);
        if (want.units > reduction->free[want.resource])
            return false;
    }
    return true;
}

static void finish_in_reduction(struct reduction *reduction, uint32_t process)
{
    bits_set(reduction->done, process);
    reduction->stack[reduction->depth++] = process;
}

/* Waiters of `resource`, of which more is free now, may fit. */
static void look_at_queue(struct reduction *reduction, uint32_t resource)
{
    struct rag_edge waiter;
    for (uint32_t ref = reduction->graph->resources[resource].queue_head; ref != NONE;
         ref = waiter.next) {
        waiter = rag_queued(reduction->graph, ref);
        if (!bits_test(reduction->done, waiter.process) && request_fits(reduction, waiter.process))
            finish_in_reduction(reduction, waiter.process);
    }
}

/* Runs the whole reduction. `except` (or NONE) waits for something that never comes. */
static void reduce_graph(struct reduction *reduction, uint32_t except)
{
    const struct rag *graph = reduction->graph;
    memset(reduction->done, 0, bits_words(graph->process_limit) * sizeof *reduction->done);
    reduction->depth = 0;
    for (uint32_t q = 0; q < graph->resource_limit; q++)
        reduction->free[q] = rag_is_resource(graph, q) ? rag_free_units(graph, q) : 0;
    for (uint32_t p = 0; p < graph->process_limit; p++)
        if (p != except && rag_is_process(graph, p) && !rag_waits(graph, p))
            finish_in_reduction(reduction, p);
    while (reduction->depth) {
        uint32_t process = reduction->stack[--reduction->depth];
        struct rag_edge held;
        for (uint32_t ref = graph->processes[process].held; ref != NONE; ref = held.next) {
            held = rag_held(graph, ref);
            reduction->free[held.resource] += held.units;
            look_at_queue(reduction, held.resource);
        }
    }
}

/* ------------------------------------------------------------------ single questions */

/* State that several questions about the same state share. Each member is made when first needed.
 */
struct inquiry {
    const struct rag *graph;
    uint64_t hops;           /* steps along chains that are still cheaper than computing `ends` */
    uint32_t *ends;          /* or NULL */
    uint64_t *asked;         /* by resource: units of the request being judged; or NULL */
    struct reduction all;    /* all processes that can finish do */
    struct reduction others; /* the same without `process` */
    uint32_t process;
};

static void inquiry_close(struct inquiry *inquiry)
{
    memory_free_all(&inquiry->graph->memory, inquiry->ends, inquiry->asked);
    reduction_close(&inquiry->all);
    reduction_close(&inquiry->others);
}

static gordian_outcome outcome_by_end(uint32_t end, uint32_t process)
{
    if (end == NONE)
        return GORDIAN_OUTCOME_DOOMED;
    return end == process ? GORDIAN_OUTCOME_DEADLOCK : GORDIAN_OUTCOME_BLOCKED;
}

/* For single-unit systems: follows the chain from `resource`. Returns false if the chain is too
 * long or contains a cycle. */
static bool follow_chain(struct inquiry *inquiry, uint32_t resource, uint32_t *end)
{
    const struct rag *graph = inquiry->graph;
    while (inquiry->hops) {
        inquiry->hops--;
        uint32_t holder = graph->holder[resource];
        if (!rag_waits(graph, holder)) {
            *end = holder;
            return true;
        }
        resource = graph->wait[holder];
    }
    return false;
}

/* Judges a request for one unit of `resource`, of which none is free, in a system below the general
 * model. */
static gordian_status judge_by_end(struct inquiry *inquiry, uint32_t process, uint32_t resource,
                                   gordian_outcome *outcome, gordian_error *error)
{
    const struct rag *graph = inquiry->graph;
    uint32_t end = NONE;
    if (!inquiry->ends && graph->model == GORDIAN_MODEL_SINGLE_UNIT &&
        follow_chain(inquiry, resource, &end)) {
        *outcome = outcome_by_end(end, process);
        return GORDIAN_OK;
    }
    if (!inquiry->ends) {
        uint32_t *ends = memory_alloc(&graph->memory, graph->resource_limit * sizeof *ends);
        if (!ends)
            return fail_memory(error);
        inquiry->ends = ends;
        TRY(what_if_ends(graph, ends, error));
    }
    *outcome = outcome_by_end(inquiry->ends[resource], process);
    return GORDIAN_OK;
}

/* Prepares the two reductions for questions about `process`. */
static gordian_status reduce_for(struct inquiry *inquiry, uint32_t process, gordian_error *error)
{
    gordian_status status = GORDIAN_OK;
    if (!inquiry->all.graph) {
        status = reduction_open(&inquiry->all, inquiry->graph, error);
        if (status == GORDIAN_OK)
            reduce_graph(&inquiry->all, NONE);
    }
    if (status == GORDIAN_OK && !inquiry->others.graph) {
        status = reduction_open(&inquiry->others, inquiry->graph, error);
        inquiry->process = NONE;
    }
    if (status == GORDIAN_OK && inquiry->process != process) {
        reduce_graph(&inquiry->others, process);
        inquiry->process = process;
    }
    return status;
}

static gordian_outcome outcome_by_units(const struct inquiry *inquiry, uint32_t resource,
                                        uint64_t units)
{
    if (units > inquiry->all.free[resource])
        return GORDIAN_OUTCOME_DOOMED;
    return units > inquiry->others.free[resource] ? GORDIAN_OUTCOME_DEADLOCK
                                                  : GORDIAN_OUTCOME_BLOCKED;
}

static gordian_status judge_one(struct inquiry *inquiry, const gordian_event *request,
                                gordian_outcome *outcome, gordian_error *error)
{
    const struct rag *graph = inquiry->graph;
    uint32_t resource = request->resource;
    uint64_t units = request->units;
    if (!rag_is_resource(graph, resource) || units == 0 ||
        units > rag_total_units(graph, resource)) {
        *outcome = GORDIAN_OUTCOME_REFUSED;
        return GORDIAN_OK;
    }
    if (units <= rag_free_units(graph, resource)) {
        *outcome = GORDIAN_OUTCOME_GRANTED;
        return GORDIAN_OK;
    }
    if (units == 1 && graph->model != GORDIAN_MODEL_GENERAL)
        return judge_by_end(inquiry, request->process, resource, outcome, error);
    TRY(reduce_for(inquiry, request->process, error));
    *outcome = outcome_by_units(inquiry, resource, units);
    return GORDIAN_OK;
}

/* Adds up the wants of a request by resource. Returns how many were added: all unless one is
 * refused. */
static size_t add_wants(struct inquiry *inquiry, const gordian_event *request)
{
    const struct rag *graph = inquiry->graph;
    for (size_t i = 0; i < request->want_count; i++) {
        const gordian_want *want = &request->wants[i];
        if (!rag_is_resource(graph, want->resource) || want->units == 0)
            return i;
        uint64_t *asked = &inquiry->asked[want->resource];
        if (want->units > rag_total_units(graph, want->resource) - *asked)
            return i;
        *asked += want->units;
    }
    return request->want_count;
}

static bool wants_are_free(const struct inquiry *inquiry, const gordian_event *request)
{
    for (size_t i = 0; i < request->want_count; i++) {
        uint32_t resource = request->wants[i].resource;
        if (inquiry->asked[resource] > rag_free_units(inquiry->graph, resource))
            return false;
    }
    return true;
}

static gordian_status judge_wants(struct inquiry *inquiry, const gordian_event *request,
                                  gordian_outcome *outcome, gordian_error *error)
{
    const struct rag *graph = inquiry->graph;
    gordian_status status = GORDIAN_OK;
    if (!inquiry->asked) {
        inquiry->asked =
            memory_zeroed(&graph->memory, (graph->resource_limit + (size_t)1) * sizeof(uint64_t));
        if (!inquiry->asked)
            return fail_memory(error);
    }
    size_t added = add_wants(inquiry, request);
    if (added < request->want_count || added == 0)
        *outcome = GORDIAN_OUTCOME_REFUSED;
    else if (wants_are_free(inquiry, request))
        *outcome = GORDIAN_OUTCOME_GRANTED;
    else if (!(status = reduce_for(inquiry, request->process, error))) {
        gordian_outcome worst = GORDIAN_OUTCOME_BLOCKED;
        for (size_t i = 0; i < request->want_count; i++) {
            uint32_t resource = request->wants[i].resource;
            gordian_outcome one = outcome_by_units(inquiry, resource, inquiry->asked[resource]);
            worst = one > worst ? one : worst; /* blocked < deadlock < doomed */
        }
        *outcome = worst;
    }
    for (size_t i = 0; i < added; i++)
        inquiry->asked[request->wants[i].resource] = 0;
    return status;
}

static gordian_status judge_what_if(struct inquiry *inquiry, const gordian_event *request,
                                    gordian_outcome *outcome, gordian_error *error)
{
    if (request->op != GORDIAN_OP_REQUEST && request->op != GORDIAN_OP_WAIT)
        return fail(error, GORDIAN_STATUS_INPUT, "what if: only requests and waits are possible");
    if (!rag_is_process(inquiry->graph, request->process) ||
        rag_waits(inquiry->graph, request->process)) {
        *outcome = GORDIAN_OUTCOME_REFUSED;
        return GORDIAN_OK;
    }
    return request->wants ? judge_wants(inquiry, request, outcome, error)
                          : judge_one(inquiry, request, outcome, error);
}

/* Moves the resources of a request to the graph, where a shared system need not have them. */
static void lift_wants(gordian_system *system, const gordian_event *request)
{
    if (!system->shared)
        return;
    if (!request->wants)
        shared_lift(system, request->resource);
    for (size_t i = 0; request->wants && i < request->want_count; i++)
        shared_lift(system, request->wants[i].resource);
}

gordian_status gordian_what_if(gordian_system *system, const gordian_event *requests, size_t count,
                               gordian_outcome *outcomes, gordian_error *error)
{
    const struct rag *graph = &system->graph;
    SYSTEM_SCOPE(system);
    struct inquiry inquiry = {.graph = graph,
                              .hops = (uint64_t)graph->process_limit + graph->resource_limit};
    gordian_status status = GORDIAN_OK;
    for (size_t i = 0; i < count && status == GORDIAN_OK; i++) {
        lift_wants(system, &requests[i]);
        status = judge_what_if(&inquiry, &requests[i], &outcomes[i], error);
    }
    inquiry_close(&inquiry);
    return status;
}

/* ------------------------------------------------------------------ all pairs */

struct all_pairs {
    uint64_t *deadlock;
    size_t stride;
    uint64_t *doomed; /* or NULL */
};

static bool can_wait(const struct rag *graph, uint32_t resource)
{
    return rag_is_resource(graph, resource) && rag_free_units(graph, resource) == 0;
}

static gordian_status all_by_ends(gordian_system *system, const struct all_pairs *pairs,
                                  gordian_error *error)
{
    const struct rag *graph = &system->graph;
    uint32_t *ends = memory_alloc(&graph->memory, graph->resource_limit * sizeof *ends);
    if (!ends)
        return fail_memory(error);
    gordian_status status = system->engine->what_if_all
                                ? system->engine->what_if_all(system->state, ends, error)
                                : what_if_ends(graph, ends, error);
    for (uint32_t q = 0; q < graph->resource_limit && status == GORDIAN_OK; q++) {
        if (!can_wait(graph, q) || ends[q] == DETECT_SEVERAL)
            continue;
        if (ends[q] != NONE)
            bits_set(pairs->deadlock + ends[q] * pairs->stride, q);
        else if (pairs->doomed)
            bits_set(pairs->doomed, q);
    }
    memory_free(&graph->memory, ends);
    return status;
}

static gordian_status all_by_reduction(const struct rag *graph, const struct all_pairs *pairs,
                                       gordian_error *error)
{
    struct inquiry inquiry = {.graph = graph};
    gordian_status status = reduce_for(&inquiry, NONE, error);
    for (uint32_t q = 0; q < graph->resource_limit && status == GORDIAN_OK && pairs->doomed; q++)
        if (can_wait(graph, q) && inquiry.all.free[q] == 0)
            bits_set(pairs->doomed, q);
    for (uint32_t p = 0; p < graph->process_limit && status == GORDIAN_OK; p++) {
        if (!rag_is_process(graph, p) || rag_waits(graph, p) || graph->processes[p].held == NONE)
            continue; /* a process that holds nothing cannot close a cycle */
        status = reduce_for(&inquiry, p, error);
        if (status == GORDIAN_OK) {
            for (uint32_t q = 0; q < inquiry.graph->resource_limit; q++)
                if (can_wait(inquiry.graph, q) &&
                    outcome_by_units(&inquiry, q, 1) == GORDIAN_OUTCOME_DEADLOCK)
                    bits_set(pairs->deadlock + p * pairs->stride, q);
        }
    }
    inquiry_close(&inquiry);
    return status;
}

gordian_status gordian_what_if_all(gordian_system *system, uint64_t *deadlock, size_t stride,
                                   uint64_t *doomed, gordian_error *error)
{
    const struct rag *graph = &system->graph;
    SYSTEM_SCOPE(system);
    size_t words = bits_words(graph->resource_limit);
    if (stride < words)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "what if: rows of %zu words are too short: %zu are needed", stride, words);
    for (uint32_t p = 0; p < graph->process_limit; p++)
        memset(deadlock + p * stride, 0, words * sizeof *deadlock);
    if (doomed)
        memset(doomed, 0, words * sizeof *doomed);
    if (graph->resource_limit == 0 || graph->process_limit == 0)
        return GORDIAN_OK;
    struct all_pairs pairs = {.deadlock = deadlock, .stride = stride, .doomed = doomed};
    if (system->shared)
        shared_lift_all(system);
    gordian_status status = graph->model == GORDIAN_MODEL_GENERAL
                                ? all_by_reduction(graph, &pairs, error)
                                : all_by_ends(system, &pairs, error);
    if (system->shared)
        shared_drop_all(system);
    return status;
}
