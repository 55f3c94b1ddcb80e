/* Simulates a system with libgordian, so that every generated event is valid. */
#include "sources/gen/simulation.h"

#include "foundation/base/error.h"

#include <stdlib.h>

#define HAND_OVER_CANDIDATES 16 /* waiters considered for a hand-over */

/* ------------------------------------------------------------------ running processes */

static void move_to_place(struct simulation *sim, uint32_t process, uint32_t place)
{
    uint32_t other = sim->order[place], from = sim->place[process];
    sim->order[place] = process;
    sim->place[process] = place;
    sim->order[from] = other;
    sim->place[other] = from;
}

static void set_running(struct simulation *sim, uint32_t process, bool runs)
{
    bool ran = sim->place[process] < sim->running;
    if (runs && !ran)
        move_to_place(sim, process, sim->running++);
    else if (!runs && ran)
        move_to_place(sim, process, --sim->running);
}

static uint32_t draw_process(struct simulation *sim, uint32_t first, uint32_t count)
{
    return sim->order[first + random_below(&sim->random, count)];
}

/* ------------------------------------------------------------------ events */

void simulation_request(gordian_event *event, uint32_t process, uint32_t resource, uint64_t units)
{
    *event = gen_event(GORDIAN_OP_REQUEST, process, resource, units);
}

static int by_want_resource(const void *left, const void *right)
{
    const gordian_edge *a = left, *b = right;
    return a->resource < b->resource ? -1 : a->resource > b->resource;
}

size_t simulation_holdings(const struct simulation *sim, uint32_t process, gordian_edge *edges)
{
    size_t count = gordian_holdings(sim->system, process, edges, SIMULATION_HELD_MAX);
    if (count > SIMULATION_HELD_MAX)
        count = SIMULATION_HELD_MAX;
    /* The order that the system returns is not specified, and a seed must not depend on it. */
    qsort(edges, count, sizeof *edges, by_want_resource);
    return count;
}

/* Would the pending request of `process` fit after a release of `units` of `resource`? */
static bool would_fit(const struct simulation *sim, uint32_t process, uint32_t resource,
                      uint64_t units)
{
    gordian_edge wanted[SIMULATION_WANTS_MAX];
    size_t count = gordian_pending(sim->system, process, wanted, SIMULATION_WANTS_MAX);
    if (count > SIMULATION_WANTS_MAX)
        return false;
    for (size_t i = 0; i < count; i++) {
        uint64_t has = gordian_free_units(sim->system, wanted[i].resource);
        if (wanted[i].resource == resource)
            has += units;
        if (has < wanted[i].units)
            return false;
    }
    return count > 0;
}

void simulation_release(struct simulation *sim, gordian_event *event, uint32_t process,
                        uint32_t resource, uint64_t units)
{
    simulation_request(event, process, resource, units);
    event->op = GORDIAN_OP_RELEASE;
    if (!sim->options->hand_overs || !random_chance(&sim->random, sim->options->hand_overs))
        return;
    gordian_edge waiters[HAND_OVER_CANDIDATES];
    size_t count = gordian_waiters(sim->system, resource, waiters, HAND_OVER_CANDIDATES);
    if (count > HAND_OVER_CANDIDATES)
        count = HAND_OVER_CANDIDATES;
    if (!count)
        return;
    uint32_t to = waiters[random_below(&sim->random, count)].process;
    if (would_fit(sim, to, resource, units))
        event->to = to;
}

static gordian_status emit_event(struct simulation *sim, const gordian_event *event)
{
    sim->left--;
    if (sim->options->snapshot)
        return GORDIAN_OK; /* only the final state is written */
    return sim->sink->event(sim->sink->context, event, sim->error);
}

static gordian_status feed_event(struct simulation *sim, const gordian_event *event,
                                 gordian_result *result)
{
    TRY(gordian_feed(sim->system, event, result, sim->error));
    if (result->outcome == GORDIAN_OUTCOME_REFUSED) {
        char why[400];
        gordian_refusal_text(sim->system, event, result->refusal, why, sizeof why);
        return fail(sim->error, GORDIAN_STATUS_INPUT, "the generator emitted an invalid event: %s",
                    why);
    }
    size_t count;
    const uint32_t *served = gordian_served(sim->system, &count);
    for (size_t i = 0; i < count; i++)
        set_running(sim, served[i], true);
    set_running(sim, event->process, !gordian_is_waiting(sim->system, event->process));
    if ((event->op == GORDIAN_OP_CANCEL || event->op == GORDIAN_OP_EXIT) && sim->rules->ended)
        sim->rules->ended(sim, event->process, event->op);
    return GORDIAN_OK;
}

/* Applies and emits one event. If it causes a deadlock that must not stay, the requester
 * cancels. */
static gordian_status apply_event(struct simulation *sim, const gordian_event *event)
{
    gordian_result result;
    TRY(feed_event(sim, event, &result));
    bool stuck =
        result.outcome == GORDIAN_OUTCOME_DEADLOCK || result.outcome == GORDIAN_OUTCOME_DOOMED;
    bool undo = stuck && !random_chance(&sim->random, sim->options->deadlocks);
    /* The last event must not leave such a deadlock: then neither event is emitted. */
    bool hidden = undo && sim->left == 1;
    if (!hidden)
        TRY(emit_event(sim, event));
    if (!undo)
        return GORDIAN_OK;
    gordian_event cancel = {.op = GORDIAN_OP_CANCEL, .process = event->process, .to = GORDIAN_NONE};
    TRY(feed_event(sim, &cancel, &result));
    return hidden ? GORDIAN_OK : emit_event(sim, &cancel);
}

static gordian_status end_wait(struct simulation *sim, gordian_op op, uint32_t process)
{
    gordian_event event = {.op = op, .process = process, .to = GORDIAN_NONE};
    return apply_event(sim, &event);
}

static gordian_status step_simulation(struct simulation *sim)
{
    const struct gen_options *options = sim->options;
    const uint32_t count = options->processes;
    if (sim->running == 0 && !options->exits && !options->cancels) {
        sim->left = 0; /* all processes are deadlocked and no event is possible */
        return GORDIAN_OK;
    }
    if (sim->running == 0)
        return end_wait(sim, options->exits ? GORDIAN_OP_EXIT : GORDIAN_OP_CANCEL,
                        draw_process(sim, 0, count));
    if (options->exits && random_chance(&sim->random, options->exits)) {
        uint32_t process = draw_process(sim, 0, count);
        gordian_edge edge;
        /* A process with an edge appeared in an earlier event, so its exit is valid in a trace. */
        if (gordian_is_waiting(sim->system, process) ||
            gordian_holdings(sim->system, process, &edge, 1))
            return end_wait(sim, GORDIAN_OP_EXIT, process);
    }
    if (sim->running < count && options->cancels && random_chance(&sim->random, options->cancels))
        return end_wait(sim, GORDIAN_OP_CANCEL,
                        draw_process(sim, sim->running, count - sim->running));
    gordian_event event;
    sim->rules->next(sim, draw_process(sim, 0, sim->running), &event);
    return apply_event(sim, &event);
}

/* ------------------------------------------------------------------ snapshot */

static gordian_status dump_wait(struct simulation *sim, uint32_t process)
{
    gordian_edge edges[SIMULATION_WANTS_MAX];
    size_t count = gordian_pending(sim->system, process, edges, SIMULATION_WANTS_MAX);
    if (count == 0)
        return GORDIAN_OK;
    qsort(edges, count, sizeof *edges, by_want_resource);
    gordian_event event;
    simulation_request(&event, process, edges[0].resource, edges[0].units);
    event.op = GORDIAN_OP_WAIT;
    for (size_t i = 0; i < count; i++)
        sim->wants[i] = (gordian_want){edges[i].units, edges[i].resource};
    if (count > 1) {
        event.wants = sim->wants;
        event.want_count = count;
    }
    return sim->sink->event(sim->sink->context, &event, sim->error);
}

static gordian_status dump_edges(struct simulation *sim)
{
    for (uint32_t p = 0; p < sim->options->processes; p++) {
        gordian_edge edges[SIMULATION_HELD_MAX];
        size_t count = simulation_holdings(sim, p, edges);
        for (size_t i = 0; i < count; i++) {
            gordian_event event;
            simulation_request(&event, p, edges[i].resource, edges[i].units);
            event.op = GORDIAN_OP_HOLD;
            TRY(sim->sink->event(sim->sink->context, &event, sim->error));
        }
    }
    for (uint32_t p = 0; p < sim->options->processes; p++)
        TRY(dump_wait(sim, p));
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ running the simulation */

static gordian_status simulation_open(struct simulation *sim)
{
    const struct gen_options *options = sim->options;
    gordian_options wanted;
    gordian_options_init(&wanted);
    wanted.engine = "sparse";
    TRY(gordian_open(&sim->system, &wanted, sim->error));
    sim->order = memory_alloc(&sim->memory, options->processes * sizeof *sim->order);
    sim->place = memory_alloc(&sim->memory, options->processes * sizeof *sim->place);
    if (!sim->order || !sim->place)
        return fail_memory(sim->error);
    TRY(gordian_reserve(sim->system, options->processes, options->resources, sim->error));
    for (uint32_t q = 0; q < options->resources; q++)
        TRY(gordian_add_resource(sim->system, NULL, sim->units[q], NULL, sim->error));
    for (uint32_t p = 0; p < options->processes; p++) {
        sim->order[p] = sim->place[p] = p;
        TRY(gordian_add_process(sim->system, NULL, NULL, sim->error));
    }
    sim->running = options->processes;
    return GORDIAN_OK;
}

gordian_status simulation_run(const struct gen_options *options,
                              const struct simulation_rules *rules, void *own,
                              const uint64_t *units, struct gen_sink *sink, gordian_error *error)
{
    struct simulation sim = {.options = options,
                             .rules = rules,
                             .own = own,
                             .sink = sink,
                             .error = error,
                             .memory = memory_allocator(NULL),
                             .left = options->events,
                             .units = units};
    random_seed(&sim.random, options->seed);
    gordian_status status = simulation_open(&sim);
    THEN(status,
         sink->begin(sink->context, options->processes, options->resources, units, 1, error));
    while (sim.left && status == GORDIAN_OK)
        status = step_simulation(&sim);
    if (options->snapshot)
        THEN(status, dump_edges(&sim));
    gordian_close(sim.system);
    memory_free_all(&sim.memory, sim.order, sim.place);
    return status;
}
