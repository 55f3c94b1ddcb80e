/* The search for second tokens in nets that are not proved 1-safe (net_safety.h). */
#include "engines/compose/circuit/net_safety.h"

#include "foundation/base/bits.h"
#include "foundation/base/error.h"
#include "foundation/base/io/output.h"
#include "foundation/base/memory.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* States of the first search. A second token usually occurs near the initial state, so the searches
 * grow by this factor and rarely need all states. */
#define FIRST_STATES  (UINT64_C(1) << 14)
#define LAST_STATES   (UINT64_C(1) << 30)
#define STATES_FACTOR 16u

/* ------------------------------------------------------------------ ownership */

void safety_free(struct safety *safety)
{
    if (!safety)
        return;
    gordian_allocator memory = safety->memory;
    gordian_circuit_close(safety->circuit);
    labels_free(&safety->places);
    labels_free(&safety->transitions);
    memory_free_all(&memory, safety->alarms, safety);
}

gordian_status safety_attach(gordian_circuit *circuit, struct safety *safety, gordian_error *error)
{
    if (!memory_extend(&circuit->memory, circuit->safeties, circuit->safety_room,
                       circuit->safety_count))
        return fail_memory(error);
    circuit->safeties[circuit->safety_count++] = safety;
    return GORDIAN_OK;
}

static gordian_status copy_safety(struct safety *to, const struct safety *from,
                                  gordian_error *error)
{
    const gordian_circuit *circuit = from->circuit;
    TRY(labels_copy(&to->places, &from->places, NULL, error));
    TRY(labels_copy(&to->transitions, &from->transitions, NULL, error));
    if (circuit)
        TRY(gordian_circuit_join(&to->circuit, &circuit, 1, NULL, &to->memory, error));
    to->place_count = from->place_count;
    to->marks = from->marks;
    to->alarm_count = from->alarm_count;
    to->alarms = memory_alloc(&to->memory, (from->alarm_count + 1) * sizeof *to->alarms);
    if (!to->alarms)
        return fail_memory(error);
    memcpy(to->alarms, from->alarms, from->alarm_count * sizeof *to->alarms);
    return GORDIAN_OK;
}

gordian_status safety_inherit(gordian_circuit *circuit, const gordian_circuit *from, size_t first,
                              gordian_error *error)
{
    gordian_status status = GORDIAN_OK;
    for (size_t i = 0; i < from->safety_count && status == GORDIAN_OK; i++) {
        struct safety *copy = memory_zeroed(&circuit->memory, sizeof *copy);
        if (!copy)
            return fail_memory(error);
        copy->memory = copy->places.memory = copy->transitions.memory = circuit->memory;
        status = copy_safety(copy, from->safeties[i], error);
        copy->first = first + from->safeties[i]->first;
        THEN(status, safety_attach(circuit, copy, error));
        if (status != GORDIAN_OK)
            safety_free(copy);
    }
    return status;
}

/* ------------------------------------------------------------------ equivalence of the circuits */

/* Returns the alarm of a name; SIZE_MAX: it is a transition, or a name of the monitor. */
static size_t alarm_of(const struct safety *safety, const char *name)
{
    if (strspn(name, "!") < safety->marks || !isdigit((unsigned char)name[safety->marks]))
        return SIZE_MAX;
    return (size_t)strtoull(name + safety->marks, NULL, 10);
}

/* Returns the alarm that fires in a step of the monitored circuit; SIZE_MAX: none. */
static size_t fired_alarm(const struct safety *safety, const uint64_t *label)
{
    for (uint32_t n = 0; n < safety->circuit->name_count; n++) {
        size_t alarm = label_fires(label, n)
                           ? alarm_of(safety, gordian_circuit_name(safety->circuit, n))
                           : SIZE_MAX;
        if (alarm < safety->alarm_count)
            return alarm;
    }
    return SIZE_MAX;
}

static void set_name(const gordian_circuit *circuit, const char *name, uint64_t *label)
{
    uint32_t number = names_find(&circuit->names, name, strlen(name));
    memset(label, 0, circuit->label_words * sizeof *label);
    if (number != GORDIAN_NONE)
        bits_set(label, number);
}

/* The successor of a local state of the automaton if the name fires. */
static uint32_t next_state(const gordian_circuit *circuit, uint32_t factor, uint32_t name,
                           uint32_t state)
{
    const struct shape *shape = factor_shape(circuit, factor);
    for (uint32_t p = 0; p < shape->port_count; p++)
        for (size_t t = shape->first[state];
             circuit->factors[factor].names[p] == name && t < shape->first[state + 1]; t++)
            if (bits_test(shape->labels + t * shape->label_words, p))
                return shape->to[t];
    return state;
}

/* Replays a step of the monitored circuit in the circuit: sets its label, and the states of the
 * places. Other automata keep their initial states. */
static void fire_step(const gordian_circuit *circuit, const struct safety *safety,
                      const uint64_t *step, uint64_t *label, uint32_t *state)
{
    memset(label, 0, circuit->label_words * sizeof *label);
    for (uint32_t n = 0; n < safety->circuit->name_count; n++) {
        const char *text = gordian_circuit_name(safety->circuit, n);
        uint32_t name =
            label_fires(step, n) ? names_find(&circuit->names, text, strlen(text)) : GORDIAN_NONE;
        if (name == GORDIAN_NONE)
            continue;
        bits_set(label, name);
        for (size_t u = circuit->users_first[name]; u < circuit->users_first[name + 1]; u++) {
            uint32_t f = circuit->users[u];
            if (f >= safety->first && f - safety->first < safety->place_count)
                state[f] = next_state(circuit, f, name, state[f]);
        }
    }
}

/* ------------------------------------------------------------------ the result */

/* The net is not 1-safe, so the deadlocks found are invalid. */
static void drop_found(gordian_compose_result *result)
{
    compose_forget_deadlocks(result);
    result->stop = GORDIAN_COMPOSE_STOP_UNSAFE;
}

/* Describes a path to a second token. Takes ownership of `state` and `labels`. result->found has
 * capacity for it. */
static void report_unsafe(const struct safety *safety, size_t alarm,
                          gordian_compose_deadlock described, gordian_compose_result *result)
{
    const struct alarm *there = &safety->alarms[alarm];
    drop_found(result);
    result->found[0] = described;
    result->found_count = 1;
    snprintf(result->note, sizeof result->note,
             "'%.70s' puts a second token into the place '%.70s'",
             labels_text(&safety->transitions, there->transition),
             labels_text(&safety->places, there->place));
}

/* Converts a path of the monitored circuit to a path of the circuit. */
static gordian_status convert_path(const gordian_circuit *circuit, const struct safety *safety,
                                   const gordian_compose_deadlock *path,
                                   gordian_compose_result *result, gordian_error *error)
{
    size_t words = circuit->label_words, alarm = SIZE_MAX;
    gordian_compose_deadlock described;
    if (!result->found)
        result->found = memory_zeroed(&result->allocator, sizeof *result->found);
    if (!result->found || !compose_deadlock_alloc(result, circuit, path->step_count, &described))
        return fail_memory(error);
    described.step_count = 0;
    memset(described.state, 0, circuit->factor_count * sizeof *described.state);
    while (described.step_count < path->step_count && alarm == SIZE_MAX) {
        const uint64_t *step = path->labels + described.step_count * safety->circuit->label_words;
        uint64_t *label = described.labels + described.step_count++ * words;
        alarm = fired_alarm(safety, step);
        if (alarm == SIZE_MAX)
            fire_step(circuit, safety, step, label, described.state);
        else
            set_name(circuit, labels_text(&safety->transitions, safety->alarms[alarm].transition),
                     label);
    }
    report_unsafe(safety, alarm < safety->alarm_count ? alarm : 0, described, result);
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ searching */

static gordian_compose_options monitor_options(const gordian_compose_options *options)
{
    gordian_compose_options own = *options;
    own.engine = "cpu";
    own.full = own.reduce = own.count_transitions = false;
    own.order = NULL;
    own.max_deadlocks = 1;
    own.max_ns = 0; /* the caller's go_on checks the time */
    return own;
}

/* Searches more and more states. The caller frees *found. */
static gordian_status search_monitored(const struct safety *safety,
                                       const gordian_compose_options *options, bool thorough,
                                       gordian_compose_result *found, gordian_error *error)
{
    gordian_compose_options own = monitor_options(options);
    for (uint64_t most = FIRST_STATES;; most *= STATES_FACTOR) {
        bool last = most > LAST_STATES || (options->max_states && options->max_states <= most);
        own.max_states = last ? options->max_states : most;
        gordian_status status = gordian_compose(safety->circuit, &own, NULL, found, error);
        if (status != GORDIAN_OK || last || !thorough || found->deadlocks > 0 ||
            found->stop != GORDIAN_COMPOSE_STOP_STATES)
            return status;
        gordian_compose_result_free(found);
    }
}

static gordian_status search_net(const gordian_circuit *circuit, const struct safety *safety,
                                 const gordian_compose_options *options, bool thorough,
                                 gordian_compose_result *result, gordian_compose_stop *stop,
                                 gordian_error *error)
{
    gordian_compose_result found;
    *stop = GORDIAN_COMPOSE_STOP_MEMORY;
    if (!safety->circuit)
        return GORDIAN_OK;
    gordian_status status = search_monitored(safety, options, thorough, &found, error);
    if (status != GORDIAN_OK)
        return status;
    *stop = found.deadlocks > 0 ? GORDIAN_COMPOSE_STOP_UNSAFE : found.stop;
    if (found.found_count > 0 && found.found[0].labels)
        status = convert_path(circuit, safety, &found.found[0], result, error);
    else if (found.deadlocks > 0) /* interrupted before the path was known */
        drop_found(result);
    if (found.deadlocks > 0 && result->states == 0) {
        result->states = found.states;
        result->engine = found.engine;
    }
    gordian_compose_result_free(&found);
    return status;
}

gordian_status safety_search(const gordian_circuit *circuit, const gordian_compose_options *options,
                             bool thorough, gordian_compose_result *result,
                             gordian_compose_stop *stop, gordian_error *error)
{
    *stop = GORDIAN_COMPOSE_STOP_COMPLETE;
    for (size_t i = 0; i < circuit->safety_count && *stop != GORDIAN_COMPOSE_STOP_UNSAFE; i++) {
        gordian_compose_stop here;
        TRY(search_net(circuit, circuit->safeties[i], options, thorough, result, &here, error));
        if (here != GORDIAN_COMPOSE_STOP_COMPLETE)
            *stop = here;
    }
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ deadlocks found */

/* Returns an alarm that is active in the state: its place and the input places of its transition
 * have a token. SIZE_MAX: none. */
static size_t find_alarm(const gordian_circuit *circuit, const struct safety *safety,
                         const uint32_t *state)
{
    const gordian_circuit *monitored = safety->circuit;
    for (uint32_t n = 0; monitored && n < monitored->name_count; n++) {
        size_t alarm = alarm_of(safety, gordian_circuit_name(monitored, n));
        bool on = alarm < safety->alarm_count;
        for (size_t u = monitored->users_first[n]; on && u < monitored->users_first[n + 1]; u++) {
            size_t factor = monitored->users[u];
            char text[32] = "one";
            if (factor < safety->place_count)
                gordian_circuit_state_text(circuit, safety->first + factor,
                                           state[safety->first + factor], text, sizeof text);
            on = strcmp(text, "one") == 0;
        }
        if (on)
            return alarm;
    }
    return SIZE_MAX;
}

/* Extends the path to a state with an active alarm by the step that raises the alarm. */
static gordian_status extend_path(const gordian_circuit *circuit, const struct safety *safety,
                                  size_t alarm, gordian_compose_deadlock *path,
                                  gordian_compose_result *result, gordian_error *error)
{
    const gordian_allocator *memory = &result->allocator;
    size_t words = circuit->label_words;
    gordian_compose_deadlock longer = {.state = path->state};
    if (path->labels) {
        longer.step_count = path->step_count + 1;
        longer.labels = memory_alloc(memory, (longer.step_count * words + 1) * sizeof(uint64_t));
        if (!longer.labels)
            return fail_memory(error);
        memcpy(longer.labels, path->labels, path->step_count * words * sizeof(uint64_t));
        set_name(circuit, labels_text(&safety->transitions, safety->alarms[alarm].transition),
                 longer.labels + path->step_count * words);
    }
    path->state = NULL;
    report_unsafe(safety, alarm, longer, result);
    return GORDIAN_OK;
}

gordian_status safety_review(const gordian_circuit *circuit, gordian_compose_result *result,
                             gordian_error *error)
{
    for (size_t i = 0; i < result->found_count; i++)
        for (size_t k = 0; k < circuit->safety_count; k++) {
            const struct safety *safety = circuit->safeties[k];
            size_t alarm = find_alarm(circuit, safety, result->found[i].state);
            if (alarm != SIZE_MAX)
                return extend_path(circuit, safety, alarm, &result->found[i], result, error);
        }
    bool watched = true; /* otherwise an apparent deadlock need not be one */
    for (size_t k = 0; k < circuit->safety_count; k++)
        watched &= circuit->safeties[k]->circuit != NULL;
    if (!watched) {
        drop_found(result);
        result->stop = GORDIAN_COMPOSE_STOP_MEMORY;
        snprintf(result->note, sizeof result->note,
                 "the net is too large to check whether it is 1-safe");
    }
    if (result->stop != GORDIAN_COMPOSE_STOP_COMPLETE &&
        result->stop != GORDIAN_COMPOSE_STOP_UNSAFE)
        result->deadlocks = result->found_count;
    return GORDIAN_OK;
}
