/* `gordian compose --json`: one object per line; the last one is the summary. */
#include "cli/compose/compose.h"
#include "foundation/base/error.h"

#include <stdio.h>
#include <string.h>

/* [["a","b"],["c"]]: the names of each step; "a=0" if there are several data values. */
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

static void write_locals(struct json *json, const gordian_circuit *circuit, size_t count,
                         const uint32_t *state)
{
    struct output text;
    if (!output_open(&text, OUTPUT_MEMORY))
        return;
    json_open(json, "in", '[');
    for (size_t a = 0; a < count; a++) {
        text.used = 0;
        if (!text_of_automaton(&text, circuit, a))
            break;
        text.used--; /* its NUL */
        output_text(&text, ": ");
        if (text_of_state(&text, circuit, a, state[a]))
            json_text(json, text.buffer);
    }
    json_shut(json);
    output_close(&text);
}

static gordian_status write_explanation(struct compose *compose, const struct subject *subject,
                                        const gordian_compose_stage *stages, gordian_error *error)
{
    struct output text;
    struct json json;
    if (!output_open(&text, OUTPUT_MEMORY))
        return fail_memory(error);
    json_begin(&json, &compose->cli->out);
    json_open(&json, "explain", '{');
    json_key_u64(&json, "names", subject->info.name_count);
    json_key_u64(&json, "data", subject->info.datum_count);
    if (subject->info.combinations != UINT64_MAX)
        json_key_u64(&json, "combinations", subject->info.combinations);
    json_open(&json, "order", '[');
    for (size_t i = 0; i < subject->info.automaton_count; i++) {
        gordian_automaton_info info = {0};
        gordian_circuit_automaton(subject->circuit, stages[i].automaton, &info);
        text.used = 0;
        json_open(&json, NULL, '{');
        json_key_u64(&json, "number", (uint64_t)stages[i].automaton + 1);
        json_key_text(&json, "automaton",
                      text_of_automaton(&text, subject->circuit, stages[i].automaton) ? text.buffer
                                                                                      : "");
        json_key_u64(&json, "states", info.state_count);
        json_key_u64(&json, "transitions", info.transition_count);
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

static gordian_status write_statistics(struct compose *compose, const struct composed *composed,
                                       gordian_error *error)
{
    const gordian_circuit *circuit = composed->subject->circuit;
    const struct statistics *counted = &composed->statistics;
    struct json json;
    (void)error;
    json_begin(&json, &compose->cli->out);
    json_open(&json, "statistics", '{');
    json_key_u64(&json, "loops", counted->loops);
    json_key_u64(&json, "most_transitions", counted->branching);
    json_key_u64(&json, "most_names", counted->together);
    json_open(&json, "fired", '{');
    for (uint32_t n = 0; counted->fired && n < counted->names; n++)
        json_name_u64(&json, gordian_circuit_name(circuit, n), counted->fired[n]);
    json_shut(&json);
    if (composed->result.phase_count) {
        json_key_u64(&json, "workers", composed->result.workers);
        json_open(&json, "phases", '[');
        for (size_t i = 0; i < composed->result.phase_count; i++) {
            const gordian_compose_phase *phase = &composed->result.phases[i];
            json_open(&json, NULL, '{');
            json_key_text(&json, "phase", phase->name);
            json_key_u64(&json, "ns", phase->ns);
            json_key_u64(&json, "idle_ns", phase->idle_ns);
            json_key_u64(&json, "fired", phase->fired);
            json_key_u64(&json, "found", phase->found);
            json_key_u64(&json, "sent", phase->sent);
            json_key_u64(&json, "rounds", phase->rounds);
            json_shut(&json);
        }
        json_shut(&json);
    }
    json_end(&json);
    return GORDIAN_OK;
}

static gordian_status write_deadlock(struct compose *compose, const struct composed *composed,
                                     size_t number, const gordian_compose_deadlock *described,
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
    if (!described || described->number != UINT64_MAX)
        json_key_u64(&json, "state", described ? described->number : composed->deadlocks.state);
    if (!described || described->labels)
        write_steps(&json, "trace", &trace);
    if (described)
        write_locals(&json, composed->subject->circuit, composed->subject->info.automaton_count,
                     described->state);
    json_end(&json);
    route_close(&trace);
    return GORDIAN_OK;
}

static gordian_status write_unsafe(struct compose *compose, const struct composed *composed,
                                   gordian_error *error)
{
    const gordian_compose_deadlock *way = composed_nearest(composed);
    struct route trace;
    struct json json;
    bool described = way && way->labels;
    if (!route_open(&trace) || (described && !route_of(&trace, composed, way))) {
        route_close(&trace);
        return fail_memory(error);
    }
    json_begin(&json, &compose->cli->out);
    json_key_text(&json, "main", subject_title(composed->subject));
    json_key_text(&json, "stopped", compose_stop_text(composed->result.stop));
    json_key_text(&json, "message", composed->result.note);
    if (described)
        write_steps(&json, "trace", &trace);
    json_end(&json);
    route_close(&trace);
    return GORDIAN_OK;
}

/* "trace" and "cycle": a path, and the cycle that follows it (a lasso). */
struct lasso {
    struct route way, cycle;
};

static bool lasso_open(struct lasso *lasso, const struct composed *composed,
                       const gordian_graph_arc *path, size_t path_count,
                       const gordian_graph_arc *cycle, size_t cycle_count)
{
    const gordian_graph *graph = composed->product ? composed->product : composed->subject->graph;
    *lasso = (struct lasso){0};
    return route_open(&lasso->way) && route_open(&lasso->cycle) &&
           route_of_arcs(&lasso->way, graph, path, path_count) &&
           route_of_arcs(&lasso->cycle, graph, cycle, cycle_count);
}

static void lasso_close(struct lasso *lasso)
{
    route_close(&lasso->way);
    route_close(&lasso->cycle);
}

static void write_lasso(struct json *json, const struct lasso *lasso)
{
    write_steps(json, "trace", &lasso->way);
    write_steps(json, "cycle", &lasso->cycle);
}

static gordian_status write_livelock(struct compose *compose, const struct composed *composed,
                                     gordian_error *error)
{
    const gordian_livelock *found = &composed->livelock;
    struct lasso lasso;
    struct json json;
    bool fine = lasso_open(&lasso, composed, found->path, found->path_count, found->cycle,
                           found->cycle_count);
    if (fine) {
        json_begin(&json, &compose->cli->out);
        json_open(&json, "livelock", '{');
        json_key_u64(&json, "states", found->states);
        if (found->states > 0)
            write_lasso(&json, &lasso);
        json_end(&json);
    }
    lasso_close(&lasso);
    return fine ? GORDIAN_OK : fail_memory(error);
}

/* "cost", and the costs of the steps, with all digits. */
static void write_costs(struct json *json, const gordian_question *question,
                        const gordian_check *check)
{
    char text[32];
    json_key_text(json, "semiring", compose_semiring_text(question->semiring));
    json_key_bool(json, "found", check->holds);
    if (!check->holds)
        return;
    snprintf(text, sizeof text, "%.15g", check->cost);
    json_key_json(json, "cost", text);
    json_open(json, "costs", '[');
    for (size_t i = 0; i < check->path_count; i++) {
        snprintf(text, sizeof text, "%.15g", check->costs[i]);
        json_key_json(json, NULL, text);
    }
    json_shut(json);
}

static gordian_status write_check(struct compose *compose, const struct composed *composed,
                                  gordian_error *error)
{
    const gordian_check *check = &composed->check;
    const gordian_question *question = &compose->question;
    struct lasso lasso;
    struct json json;
    bool fine = lasso_open(&lasso, composed, check->path, check->path_count, check->cycle,
                           check->cycle_count);
    if (fine) {
        json_begin(&json, &compose->cli->out);
        json_key_text(&json,
                      question->semiring ? "best"
                      : question->linear ? "ltl"
                                         : "check",
                      question->formula);
        if (question->linear)
            json_key_text(&json, "fair", compose_fairness_text(question->fairness));
        if (question->semiring)
            write_costs(&json, question, check);
        else
            json_key_bool(&json, "holds", check->holds);
        if (!question->linear && !question->semiring)
            json_key_u64(&json, "in", check->states);
        write_lasso(&json, &lasso);
        if (question->linear)
            json_key_bool(&json, "dead_end", check->dead_end);
        json_end(&json);
    }
    lasso_close(&lasso);
    return fine ? GORDIAN_OK : fail_memory(error);
}

static void write_size(struct json *json, const char *key, const gordian_graph *graph)
{
    if (!graph)
        return;
    json_open(json, key, '{');
    json_key_u64(json, "states", gordian_graph_states(graph));
    json_key_u64(json, "transitions", gordian_graph_transitions(graph));
    json_shut(json);
}

static gordian_status write_summary(struct compose *compose, const struct composed *composed,
                                    gordian_error *error)
{
    const gordian_compose_result *result = &composed->result;
    struct route trace;
    struct json json;
    const gordian_compose_deadlock *nearest = composed_nearest(composed);
    bool described = composed_describes(composed) && (!nearest || nearest->labels);
    if (!route_open(&trace) || (described && !route_of(&trace, composed, nearest))) {
        route_close(&trace);
        return fail_memory(error);
    }
    json_begin(&json, &compose->cli->out);
    json_key_text(&json, "main", subject_title(composed->subject));
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
    else if (composed->subject->cut)
        json_key_text(&json, "stopped", "file-cut");
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
    const gordian_graph *graph = composed_graph(composed);
    json_open(json, key, '{');
    json_key_text(json, "main", subject_title(composed->subject));
    json_key_u64(json, "states", gordian_graph_states(graph));
    json_key_u64(json, "transitions", gordian_graph_transitions(graph));
    json_shut(json);
}

/* Reports which side makes each step of the distinguishing play. */
static gordian_status write_difference(struct compose *compose, const struct composed sides[2],
                                       const gordian_difference *found, gordian_error *error)
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
    write_explanation, write_statistics, write_deadlock, write_unsafe,
    write_livelock,    write_check,      write_summary,  write_difference,
};
