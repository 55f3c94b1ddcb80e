/* `gordian compose --json`: one object a line; the last one has the counts. */
#include "base/error.h"
#include "cli/compose/compose.h"

#include <stdio.h>
#include <string.h>

/* [["a","b"],["c"]]: the names of each step; with more than one data value "a=0". */
static void write_steps(struct json *json, const char *key, const struct route *trace)
{
    const char *label = trace->text.buffer;
    json_open(json, key, '[');
    for (size_t i = 0; i < trace->steps; i++, label += strlen(label) + 1) {
        json_open(json, NULL, '[');
        for (const char *name = label; *name;) {
            char text[600];
            size_t length = strcspn(name, "|");
            snprintf(text, sizeof text, "%.*s", (int)length, name);
            json_text(json, text);
            name += length + (name[length] == '|');
        }
        json_shut(json);
    }
    json_shut(json);
}

static void write_locals(struct json *json, const struct circuit *circuit, const uint32_t *state)
{
    struct output text;
    if (!output_open(&text, -1))
        return;
    json_open(json, "in", '[');
    for (uint32_t f = 0; f < circuit->factor_count; f++) {
        text.used = 0;
        circuit_write_factor(circuit, f, &text);
        output_text(&text, ": ");
        circuit_write_state(circuit, f, state[f], &text);
        output_char(&text, '\0');
        if (!text.failure)
            json_text(json, text.buffer);
    }
    json_shut(json);
    output_close(&text);
}

static gordian_status explain(struct compose *compose, const struct circuit *circuit,
                              const struct compose_stage *stages, gordian_error *error)
{
    struct output text;
    struct json json;
    if (!output_open(&text, -1))
        return fail_memory(error);
    json_begin(&json, &compose->cli->out);
    json_open(&json, "explain", '{');
    json_key_u64(&json, "names", circuit->name_count);
    json_key_u64(&json, "data", circuit->data.domain_size);
    if (circuit->whole_fits)
        json_key_u64(&json, "combinations", circuit->whole);
    json_open(&json, "order", '[');
    for (size_t i = 0; i < circuit->factor_count; i++) {
        const struct shape *shape = factor_shape(circuit, stages[i].factor);
        text.used = 0;
        circuit_write_factor(circuit, stages[i].factor, &text);
        output_char(&text, '\0');
        json_open(&json, NULL, '{');
        json_key_u64(&json, "number", (uint64_t)stages[i].factor + 1);
        json_key_text(&json, "automaton", text.failure ? "" : text.buffer);
        json_key_u64(&json, "states", shape->state_count);
        json_key_u64(&json, "transitions", shape->transition_count);
        json_key_u64(&json, "open_names", stages[i].open_names);
        if (stages[i].states != UINT64_MAX) {
            json_key_u64(&json, "part_states", stages[i].states);
            json_key_u64(&json, "part_transitions", stages[i].transitions);
        }
        json_shut(&json);
    }
    json_end(&json);
    output_close(&text);
    return GORDIAN_OK;
}

static gordian_status statistics(struct compose *compose, const struct composed *composed,
                                 gordian_error *error)
{
    const struct circuit *circuit = composed->subject->circuit;
    const struct statistics *counted = &composed->statistics;
    struct json json;
    (void)error;
    json_begin(&json, &compose->cli->out);
    json_open(&json, "statistics", '{');
    json_key_u64(&json, "loops", counted->loops);
    json_key_u64(&json, "most_transitions", counted->branching);
    json_key_u64(&json, "most_names", counted->together);
    json_open(&json, "fired", '{');
    for (uint32_t n = 0; counted->fired && n < circuit->name_count; n++)
        json_name_u64(&json, names_text(&circuit->names, n), counted->fired[n]);
    json_end(&json);
    return GORDIAN_OK;
}

static gordian_status deadlock(struct compose *compose, const struct composed *composed,
                               size_t number, const struct compose_deadlock *described,
                               gordian_error *error)
{
    struct route trace;
    struct json json;
    if (!route_open(&trace) || !route_of(&trace, composed, described)) {
        route_close(&trace);
        return fail_memory(error);
    }
    json_begin(&json, &compose->cli->out);
    json_key_u64(&json, "deadlock", number);
    json_key_u64(&json, "state", described ? described->number : composed->nearest_state);
    write_steps(&json, "trace", &trace);
    if (described)
        write_locals(&json, composed->subject->circuit, described->state);
    json_end(&json);
    route_close(&trace);
    return GORDIAN_OK;
}

static gordian_status livelock(struct compose *compose, const struct composed *composed,
                               gordian_error *error)
{
    const struct livelock *found = &composed->livelock;
    const struct graph *graph = composed->product ? composed->product : composed->subject->graph;
    struct route way = {.steps = 0}, cycle = {.steps = 0};
    struct json json;
    bool fine = route_open(&way) && route_open(&cycle) &&
                route_of_arcs(&way, graph, found->path, found->path_count) &&
                route_of_arcs(&cycle, graph, found->cycle, found->cycle_count);
    if (fine) {
        json_begin(&json, &compose->cli->out);
        json_open(&json, "livelock", '{');
        json_key_u64(&json, "states", found->states);
        if (found->states > 0) {
            write_steps(&json, "trace", &way);
            write_steps(&json, "cycle", &cycle);
        }
        json_end(&json);
    }
    route_close(&way);
    route_close(&cycle);
    return fine ? GORDIAN_OK : fail_memory(error);
}

static void write_size(struct json *json, const char *key, const struct graph *graph)
{
    if (!graph)
        return;
    json_open(json, key, '{');
    json_key_u64(json, "states", graph->state_count);
    json_key_u64(json, "transitions", graph->arc_count);
    json_shut(json);
}

static const char *title_of(const struct subject *subject)
{
    return subject->circuit ? subject->circuit->title : subject->path;
}

static gordian_status summary(struct compose *compose, const struct composed *composed,
                              gordian_error *error)
{
    const struct compose_result *result = &composed->result;
    struct route trace;
    struct json json;
    bool described = composed->nearest || result->found_count > 0;
    if (!route_open(&trace) ||
        (described && !route_of(&trace, composed, composed_nearest(composed)))) {
        route_close(&trace);
        return fail_memory(error);
    }
    json_begin(&json, &compose->cli->out);
    json_key_text(&json, "main", title_of(composed->subject));
    json_key_u64(&json, "states", result->states);
    if (composed->counted)
        json_key_u64(&json, "transitions", result->transitions);
    json_key_u64(&json, "deadlocks", result->deadlocks);
    write_size(&json, "hidden", composed->hidden);
    write_size(&json, "minimal", composed->minimal);
    if (described)
        write_steps(&json, "trace", &trace);
    if (compose->livelock)
        json_key_u64(&json, "livelocks", composed->livelock.states);
    if (compose_stop_text(result->stop))
        json_key_text(&json, "stopped", compose_stop_text(result->stop));
    json_key_text(&json, "engine", result->engine);
    json_key_number(&json, "seconds", composed->seconds);
    if (compose->cli->verbose)
        json_key_u64(&json, "memory", result->memory);
    json_end(&json);
    route_close(&trace);
    return GORDIAN_OK;
}

static void write_side(struct json *json, const char *key, const struct composed *composed)
{
    const struct graph *graph = composed_graph(composed);
    json_open(json, key, '{');
    json_key_text(json, "main", title_of(composed->subject));
    json_key_u64(json, "states", graph->state_count);
    json_key_u64(json, "transitions", graph->arc_count);
    json_shut(json);
}

/* Who takes each step of the line of play. */
static gordian_status difference(struct compose *compose, const struct composed sides[2],
                                 const struct difference *found, gordian_error *error)
{
    struct json json;
    (void)error;
    json_begin(&json, &compose->cli->out);
    json_key_bool(&json, "equal", !found);
    write_side(&json, "left", &sides[0]);
    write_side(&json, "right", &sides[1]);
    if (found) {
        json_open(&json, "difference", '[');
        for (size_t i = 0; i < found->count; i++) {
            json_open(&json, NULL, '{');
            json_key_text(&json, "by", found->by_left[i] ? "left" : "right");
            json_key_text(&json, "fires", found->labels[i]);
            json_shut(&json);
        }
        json_shut(&json);
    }
    json_end(&json);
    return GORDIAN_OK;
}

const struct compose_reporter compose_json = {
    explain, statistics, deadlock, livelock, summary, difference,
};
