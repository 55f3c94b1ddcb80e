#include "sources/gen/life.h"

#include "foundation/base/error.h"

#include <stdlib.h>

#define HAND_OVER_LOOK 16 /* waiters considered for a hand-over */

/* ------------------------------------------------------------------ running processes */

static void move_life_to(struct life *life, uint32_t process, uint32_t place)
{
    uint32_t other = life->order[place], from = life->place[process];
    life->order[place] = process;
    life->place[process] = place;
    life->order[from] = other;
    life->place[other] = from;
}

static void set_running(struct life *life, uint32_t process, bool runs)
{
    bool ran = life->place[process] < life->running;
    if (runs && !ran)
        move_life_to(life, process, life->running++);
    else if (!runs && ran)
        move_life_to(life, process, --life->running);
}

static uint32_t draw_life_node(struct life *life, uint32_t first, uint32_t count)
{
    return life->order[first + random_below(&life->random, count)];
}

/* ------------------------------------------------------------------ events */

void life_request(gordian_event *event, uint32_t process, uint32_t resource, uint64_t units)
{
    *event = gen_event(GORDIAN_OP_REQUEST, process, resource, units);
}

static int by_want_resource(const void *left, const void *right)
{
    const gordian_edge *a = left, *b = right;
    return a->resource < b->resource ? -1 : a->resource > b->resource;
}

size_t life_holdings(const struct life *life, uint32_t process, gordian_edge *edges)
{
    size_t count = gordian_holdings(life->system, process, edges, LIFE_HELD_MAX);
    if (count > LIFE_HELD_MAX)
        count = LIFE_HELD_MAX;
    /* The order that the system returns is not specified, and a seed must not depend on it. */
    qsort(edges, count, sizeof *edges, by_want_resource);
    return count;
}

/* Would the pending request of `process` fit after a release of `units` of `resource`? */
static bool would_fit(const struct life *life, uint32_t process, uint32_t resource, uint64_t units)
{
    gordian_edge wanted[LIFE_WANTS_MAX];
    size_t count = gordian_pending(life->system, process, wanted, LIFE_WANTS_MAX);
    if (count > LIFE_WANTS_MAX)
        return false;
    for (size_t i = 0; i < count; i++) {
        uint64_t has = gordian_free_units(life->system, wanted[i].resource);
        if (wanted[i].resource == resource)
            has += units;
        if (has < wanted[i].units)
            return false;
    }
    return count > 0;
}

void life_release(struct life *life, gordian_event *event, uint32_t process, uint32_t resource,
                  uint64_t units)
{
    life_request(event, process, resource, units);
    event->op = GORDIAN_OP_RELEASE;
    if (!life->options->hand_overs || !random_chance(&life->random, life->options->hand_overs))
        return;
    gordian_edge waiters[HAND_OVER_LOOK];
    size_t count = gordian_waiters(life->system, resource, waiters, HAND_OVER_LOOK);
    if (count > HAND_OVER_LOOK)
        count = HAND_OVER_LOOK;
    if (!count)
        return;
    uint32_t to = waiters[random_below(&life->random, count)].process;
    if (would_fit(life, to, resource, units))
        event->to = to;
}

static gordian_status emit_event(struct life *life, const gordian_event *event)
{
    life->left--;
    if (life->options->snapshot)
        return GORDIAN_OK; /* only the final state is written */
    return life->sink->event(life->sink->context, event, life->error);
}

static gordian_status feed_event(struct life *life, const gordian_event *event,
                                 gordian_result *result)
{
    TRY(gordian_feed(life->system, event, result, life->error));
    if (result->outcome == GORDIAN_OUTCOME_REFUSED) {
        char why[400];
        gordian_refusal_text(life->system, event, result->refusal, why, sizeof why);
        return fail(life->error, GORDIAN_STATUS_INPUT,
                    "the generator made an event that is refused: %s", why);
    }
    size_t count;
    const uint32_t *served = gordian_served(life->system, &count);
    for (size_t i = 0; i < count; i++)
        set_running(life, served[i], true);
    set_running(life, event->process, !gordian_is_waiting(life->system, event->process));
    if ((event->op == GORDIAN_OP_CANCEL || event->op == GORDIAN_OP_EXIT) && life->rules->ended)
        life->rules->ended(life, event->process, event->op);
    return GORDIAN_OK;
}

/* Applies and emits one event. If it causes a deadlock that must not stay, the requester
 * cancels. */
static gordian_status apply_life_event(struct life *life, const gordian_event *event)
{
    gordian_result result;
    TRY(feed_event(life, event, &result));
    bool stuck =
        result.outcome == GORDIAN_OUTCOME_DEADLOCK || result.outcome == GORDIAN_OUTCOME_DOOMED;
    bool undo = stuck && !random_chance(&life->random, life->options->deadlocks);
    /* The last event must not leave such a deadlock: then neither event is emitted. */
    bool hidden = undo && life->left == 1;
    if (!hidden)
        TRY(emit_event(life, event));
    if (!undo)
        return GORDIAN_OK;
    gordian_event cancel = {.op = GORDIAN_OP_CANCEL, .process = event->process, .to = GORDIAN_NONE};
    TRY(feed_event(life, &cancel, &result));
    return hidden ? GORDIAN_OK : emit_event(life, &cancel);
}

static gordian_status end_life_wait(struct life *life, gordian_op op, uint32_t process)
{
    gordian_event event = {.op = op, .process = process, .to = GORDIAN_NONE};
    return apply_life_event(life, &event);
}

static gordian_status step_life(struct life *life)
{
    const struct gen_options *options = life->options;
    const uint32_t count = options->processes;
    if (life->running == 0 && !options->exits && !options->cancels) {
        life->left = 0; /* all processes are deadlocked and no event is possible */
        return GORDIAN_OK;
    }
    if (life->running == 0)
        return end_life_wait(life, options->exits ? GORDIAN_OP_EXIT : GORDIAN_OP_CANCEL,
                             draw_life_node(life, 0, count));
    if (options->exits && random_chance(&life->random, options->exits)) {
        uint32_t process = draw_life_node(life, 0, count);
        gordian_edge edge;
        /* A process with an edge appeared in an earlier event, so its exit is valid in a trace. */
        if (gordian_is_waiting(life->system, process) ||
            gordian_holdings(life->system, process, &edge, 1))
            return end_life_wait(life, GORDIAN_OP_EXIT, process);
    }
    if (life->running < count && options->cancels && random_chance(&life->random, options->cancels))
        return end_life_wait(life, GORDIAN_OP_CANCEL,
                             draw_life_node(life, life->running, count - life->running));
    gordian_event event;
    life->rules->next(life, draw_life_node(life, 0, life->running), &event);
    return apply_life_event(life, &event);
}

/* ------------------------------------------------------------------ snapshot */

static gordian_status dump_wait(struct life *life, uint32_t process)
{
    gordian_edge edges[LIFE_WANTS_MAX];
    size_t count = gordian_pending(life->system, process, edges, LIFE_WANTS_MAX);
    if (count == 0)
        return GORDIAN_OK;
    qsort(edges, count, sizeof *edges, by_want_resource);
    gordian_event event;
    life_request(&event, process, edges[0].resource, edges[0].units);
    event.op = GORDIAN_OP_WAIT;
    for (size_t i = 0; i < count; i++)
        life->wants[i] = (gordian_want){edges[i].units, edges[i].resource};
    if (count > 1) {
        event.wants = life->wants;
        event.want_count = count;
    }
    return life->sink->event(life->sink->context, &event, life->error);
}

static gordian_status dump_edges(struct life *life)
{
    for (uint32_t p = 0; p < life->options->processes; p++) {
        gordian_edge edges[LIFE_HELD_MAX];
        size_t count = life_holdings(life, p, edges);
        for (size_t i = 0; i < count; i++) {
            gordian_event event;
            life_request(&event, p, edges[i].resource, edges[i].units);
            event.op = GORDIAN_OP_HOLD;
            TRY(life->sink->event(life->sink->context, &event, life->error));
        }
    }
    for (uint32_t p = 0; p < life->options->processes; p++)
        TRY(dump_wait(life, p));
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ running the simulation */

static gordian_status life_open(struct life *life)
{
    const struct gen_options *options = life->options;
    gordian_options wanted;
    gordian_options_init(&wanted);
    wanted.engine = "sparse";
    TRY(gordian_open(&life->system, &wanted, life->error));
    life->order = memory_alloc(&life->memory, options->processes * sizeof *life->order);
    life->place = memory_alloc(&life->memory, options->processes * sizeof *life->place);
    if (!life->order || !life->place)
        return fail_memory(life->error);
    TRY(gordian_reserve(life->system, options->processes, options->resources, life->error));
    for (uint32_t q = 0; q < options->resources; q++)
        TRY(gordian_add_resource(life->system, NULL, life->units[q], NULL, life->error));
    for (uint32_t p = 0; p < options->processes; p++) {
        life->order[p] = life->place[p] = p;
        TRY(gordian_add_process(life->system, NULL, NULL, life->error));
    }
    life->running = options->processes;
    return GORDIAN_OK;
}

gordian_status life_run(const struct gen_options *options, const struct life_rules *rules,
                        void *own, const uint64_t *units, struct gen_sink *sink,
                        gordian_error *error)
{
    struct life life = {.options = options,
                        .rules = rules,
                        .own = own,
                        .sink = sink,
                        .error = error,
                        .memory = memory_allocator(NULL),
                        .left = options->events,
                        .units = units};
    random_seed(&life.random, options->seed);
    gordian_status status = life_open(&life);
    THEN(status,
         sink->begin(sink->context, options->processes, options->resources, units, 1, error));
    while (life.left && status == GORDIAN_OK)
        status = step_life(&life);
    if (options->snapshot)
        THEN(status, dump_edges(&life));
    gordian_close(life.system);
    memory_free_all(&life.memory, life.order, life.place);
    return status;
}
