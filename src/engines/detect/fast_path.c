/*
 * The fast path: one unit of one resource, in a single-unit system whose engine (`sparse`) has no
 * hook other than the one for blocks. Most events of most systems are of this kind. Everything
 * else, and everything that is wrong, goes to the slow path (events.c).
 *
 * In such a system every edge is an embedded one. Which end of a list an edge is at cannot be
 * predicted, so the changes below select a store address instead of branching: mispredicted
 * branches take most of an event's time.
 */
#include "engines/detect/engine/path.h"
#include "engines/detect/one_unit.h"
#include "engines/detect/system.h"

/* Both outcomes are equally likely: select, do not branch. */
#define EITHER(condition) __builtin_expect_with_probability((condition), 1, 0.5)

/* The graph's arrays during a run of events. None of them moves during a run. */
struct run {
    gordian_system *system;
    struct rag *graph;
    uint32_t *wait, *holder;
    struct rag_process *processes;
    struct rag_resource *resources;
    uint32_t process_limit, resource_limit;
    bool until_stuck;
};

enum done {
    DONE_NOT, /* nothing has changed: take the slow path */
    DONE,
    DONE_LAST, /* done, and the caller has to see the result */
};

static inline void plain_grant(const struct run *run, struct rag_process *p, uint32_t process,
                               struct rag_resource *r, uint32_t resource)
{
    uint32_t first = p->held;
    uint32_t *back =
        EITHER(first == NONE) ? &run->graph->nowhere : &run->resources[first].held_prev;
    run->holder[resource] = process;
    r->held_next = first;
    r->held_prev = NONE;
    *back = resource;
    p->held = resource;
}

static inline void plain_ungrant(const struct run *run, struct rag_process *p,
                                 struct rag_resource *r, uint32_t resource)
{
    uint32_t next = r->held_next, prev = r->held_prev;
    uint32_t *to = EITHER(prev == NONE) ? &p->held : &run->resources[prev].held_next;
    uint32_t *back = EITHER(next == NONE) ? &run->graph->nowhere : &run->resources[next].held_prev;
    *to = next;
    *back = prev;
    run->holder[resource] = NONE;
}

static inline void put_outcome(gordian_result *result, gordian_outcome outcome, uint32_t served)
{
    *result = (gordian_result){.outcome = (uint8_t)outcome, .served_count = served};
}

/* The request has to wait. */
static ALWAYS_INLINE enum done plain_wait(const struct run *run, const gordian_event *event,
                                          uint32_t holder, gordian_result *result)
{
    uint32_t process = event->process, resource = event->resource;
    struct rag_process *p = &run->processes[process];
    struct rag_resource *r = &run->resources[resource];
    uint32_t tail = r->queue_tail;
    uint32_t *to = EITHER(tail == NONE) ? &r->queue_head : &run->processes[tail].queue_next;
    run->wait[process] = resource;
    p->queue_next = NONE;
    p->queue_prev = tail;
    *to = process;
    r->queue_tail = process;
    run->graph->processes_more[process].arrival = run->graph->clock++;
    run->graph->waiting++;
    if (path_is_short(run->wait, run->holder, holder, process) && !path_has_height(process)) {
        put_outcome(result, GORDIAN_OUTCOME_BLOCKED, 0);
        return DONE;
    }
    put_outcome(result, run->system->hooks->block(run->system->state, process), 0);
    return run->until_stuck && result_is_stuck(result) ? DONE_LAST : DONE;
}

static ALWAYS_INLINE enum done plain_release(const struct run *run, const gordian_event *event,
                                             gordian_result *result)
{
    struct rag *graph = run->graph;
    uint32_t process = event->process, resource = event->resource;
    struct rag_resource *r = &run->resources[resource];
    uint32_t next = r->queue_head;
    if (next == NONE) {
        plain_ungrant(run, &run->processes[process], r, resource);
        put_outcome(result, GORDIAN_OUTCOME_RELEASED, 0);
        return DONE;
    }
    if (RARELY(graph->served_count == graph->served_room))
        return DONE_NOT;
    put_outcome(result, GORDIAN_OUTCOME_RELEASED, 1);
    plain_ungrant(run, &run->processes[process], r, resource);
    /* `resource`, just released, passes to `next`, its first waiter. */
    struct rag_process *waiter = &run->processes[next];
    uint32_t second = waiter->queue_next;
    uint32_t *back = EITHER(second == NONE) ? &r->queue_tail : &run->processes[second].queue_prev;
    r->queue_head = second;
    *back = NONE; /* `next` is the first waiter now, or there is no last one. */
    run->wait[next] = NONE;
    graph->waiting--;
    plain_grant(run, waiter, next, r, resource);
    graph->served[graph->served_count++] = next;
    if (RARELY(waiter->path != NONE) && run->system->hooks->awake)
        run->system->hooks->awake(run->system->state, next);
    return DONE;
}

static ALWAYS_INLINE enum done plain_event(const struct run *run, const gordian_event *event,
                                           gordian_result *result)
{
    uint32_t process = event->process, resource = event->resource;
    if (RARELY((process >= run->process_limit) | (resource >= run->resource_limit)))
        return DONE_NOT;
    uint32_t holder = run->holder[resource];
    switch (one_unit_decide(event, event->op == GORDIAN_OP_REQUEST, run->wait[process] != NONE,
                            holder)) {
    case ONE_UNIT_GRANT:
        plain_grant(run, &run->processes[process], process, &run->resources[resource], resource);
        put_outcome(result, GORDIAN_OUTCOME_GRANTED, 0);
        return DONE;
    case ONE_UNIT_WAIT:
        return plain_wait(run, event, holder, result);
    case ONE_UNIT_RELEASE:
        return plain_release(run, event, result);
    case ONE_UNIT_OTHER:
        break;
    }
    return DONE_NOT;
}

/* Prefetch the records of events this far ahead: about the time of a cache miss. A wrong address
 * does no harm. */
#define AHEAD 16

/* Smaller graphs fit the caches: prefetching would only cost time. */
#define FAR (1u << 14)

size_t plain_feed(gordian_system *system, const gordian_event *events, size_t count,
                  gordian_result *results, bool until_stuck)
{
    const struct detect_engine *hooks = system->hooks;
    struct rag *graph = &system->graph;
    if (graph->model != GORDIAN_MODEL_SINGLE_UNIT || hooks->grant || hooks->release ||
        hooks->serve || hooks->settle)
        return 0;
    struct run run = {.system = system,
                      .graph = graph,
                      .wait = graph->wait,
                      .holder = graph->holder,
                      .processes = graph->processes,
                      .resources = graph->resources,
                      .process_limit = graph->process_limit,
                      .resource_limit = graph->resource_limit,
                      .until_stuck = until_stuck};
    enum done done;
    size_t i = 0;
    if (run.process_limit + run.resource_limit > FAR)
        for (; i + AHEAD < count; i++) {
            __builtin_prefetch(&run.processes[events[i + AHEAD].process], 1);
            __builtin_prefetch(&run.resources[events[i + AHEAD].resource], 1);
            if ((done = plain_event(&run, &events[i], &results[i])) != DONE)
                return i + (done == DONE_LAST);
        }
    for (; i < count; i++)
        if ((done = plain_event(&run, &events[i], &results[i])) != DONE)
            return i + (done == DONE_LAST);
    return count;
}
