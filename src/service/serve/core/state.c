/* Exports the state of a system as a trace and as JSON. */
#include "service/serve/core/state.h"

#include "engines/avoid/bank.h"
#include "foundation/base/bits.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"
#include "service/serve/core/point_in_time.h"

#include <stdlib.h>
#include <string.h>

/* A query of the state. */
struct state {
    struct served *served;
    struct output *out;
    uint32_t label; /* its number; GORDIAN_NONE: all processes, unless `none` */
    bool none;      /* nothing has this label */
    gordian_error *error;
};

static struct state state_of(struct served *served, const char *label, struct output *out,
                             gordian_error *error)
{
    struct state state = {.served = served, .out = out, .label = GORDIAN_NONE, .error = error};
    if (label && *label) {
        state.label = tags_find(&served->tags, label);
        state.none = state.label == GORDIAN_NONE;
    }
    return state;
}

static bool is_selected(const struct state *state, uint32_t process)
{
    char buffer[GORDIAN_NAME_MAX + 1];
    if (state->none || !served_process_name(state->served, process, buffer))
        return false;
    return state->label == GORDIAN_NONE ||
           tags_has(&state->served->tags, TAGS_PROCESS, process, state->label);
}

static bool is_resource(const struct state *state, uint32_t resource)
{
    char buffer[GORDIAN_NAME_MAX + 1];
    return !served_is_await(state->served, resource) &&
           served_resource_name(state->served, resource, buffer);
}

/* ------------------------------------------------------------------ a trace */

static void write_state_labels(const struct state *state, enum tags_of of, uint32_t id,
                               const char *name)
{
    const struct tags *tags = &state->served->tags;
    uint32_t count = tags_count(tags, of, id);
    if (count == 0)
        return;
    output_format(state->out, "# label %s %s", of == TAGS_PROCESS ? "process" : "resource", name);
    for (uint32_t i = 0; i < count; i++)
        output_format(state->out, " %s", tags_text(tags, of, id, i));
    output_char(state->out, '\n');
}

static void write_state_want(const struct state *state, uint32_t resource, uint64_t units)
{
    char buffer[GORDIAN_NAME_MAX + 1];
    output_format(state->out, " %s=%llu", served_resource_label(state->served, resource, buffer),
                  (unsigned long long)units);
}

/* Writes priority and cost, or the claims of a bank. */
static void write_state_attributes(const struct state *state, uint32_t process)
{
    const struct served *served = state->served;
    if (served->bank) {
        const struct ledger_row *row = &served->bank->ledger.rows[process];
        for (uint32_t i = 0; i < row->count; i++)
            write_state_want(state, row->claims[i].resource,
                             row->claims[i].need + row->claims[i].held);
        return;
    }
    if (gordian_priority(served->system, process) != 0)
        output_format(state->out, " priority=%lld",
                      (long long)gordian_priority(served->system, process));
    if (gordian_cost(served->system, process) != 1)
        output_format(state->out, " cost=%lld", (long long)gordian_cost(served->system, process));
}

static int compare_by_resource(const void *left, const void *right)
{
    const gordian_edge *a = left, *b = right;
    return (a->resource > b->resource) - (a->resource < b->resource);
}

/* Holds, sorted: the order does not depend on the history. */
static gordian_status sorted_holds(const struct state *state, uint32_t process,
                                   const gordian_edge **edges, size_t *count)
{
    struct served *served = state->served;
    TRY(served_edges(served, SERVED_HELD, process, edges, count, state->error));
    if (*count > 1)
        qsort(served->edges, *count, sizeof *served->edges, compare_by_resource);
    return GORDIAN_OK;
}

static gordian_status write_holds(const struct state *state, uint32_t process, const char *name)
{
    const gordian_edge *edges;
    size_t count;
    TRY(sorted_holds(state, process, &edges, &count));
    for (size_t i = 0; i < count; i++) {
        if (served_is_await(state->served, edges[i].resource))
            continue;
        output_format(state->out, "%s %s", state->served->bank ? "request" : "hold", name);
        write_state_want(state, edges[i].resource, edges[i].units);
        output_char(state->out, '\n');
    }
    return GORDIAN_OK;
}

static gordian_status write_state_processes(const struct state *state)
{
    char buffer[GORDIAN_NAME_MAX + 1];
    uint32_t limit = served_process_limit(state->served);
    for (uint32_t p = 0; p < limit; p++) {
        if (!is_selected(state, p))
            continue;
        const char *name = served_process_name(state->served, p, buffer);
        output_format(state->out, "process %s", name);
        write_state_attributes(state, p);
        output_char(state->out, '\n');
        write_state_labels(state, TAGS_PROCESS, p, name);
    }
    for (uint32_t p = 0; p < limit; p++)
        if (is_selected(state, p))
            TRY(write_holds(state, p, served_process_name(state->served, p, buffer)));
    return GORDIAN_OK;
}

/* Writes "await P K of ...": how many acts are needed, and the processes that can act. */
static gordian_status write_state_await(const struct state *state, const char *name,
                                        const gordian_edge *wait)
{
    char buffer[GORDIAN_NAME_MAX + 1];
    const gordian_edge *holds;
    size_t count;
    uint64_t needed = served_still_needed(state->served, wait);
    if (needed == 0)
        return GORDIAN_OK;
    TRY(served_edges(state->served, SERVED_HOLDERS, wait->resource, &holds, &count, state->error));
    output_format(state->out, "await %s %llu of", name, (unsigned long long)needed);
    for (size_t i = 0; i < count; i++)
        if (holds[i].process != wait->process)
            output_format(state->out, " %s",
                          served_process_label(state->served, holds[i].process, buffer));
    output_char(state->out, '\n');
    return GORDIAN_OK;
}

static gordian_status write_wait(const struct state *state, uint32_t process)
{
    char buffer[GORDIAN_NAME_MAX + 1];
    const gordian_edge *edges;
    size_t count;
    struct served *served = state->served;
    const char *name = served_process_name(served, process, buffer);
    TRY(served_edges(served, SERVED_WANTED, process, &edges, &count, state->error));
    if (count > 0 && served->processes[process].awaits) {
        gordian_allocator memory = memory_allocator(NULL);
        gordian_status status = GORDIAN_OK;
        gordian_edge *copy = memory_alloc(&memory, count * sizeof *copy);
        if (!copy)
            return fail_memory(state->error);
        memcpy(copy, edges, count * sizeof *copy); /* the next call overwrites the edges */
        for (size_t i = 0; i < count; i++)
            THEN(status, write_state_await(state, name, &copy[i]));
        memory_free(&memory, copy);
        return status;
    }
    if (count == 0)
        return GORDIAN_OK;
    output_format(state->out, "%s %s", served->bank ? "request" : "wait", name);
    for (size_t i = 0; i < count; i++)
        write_state_want(state, edges[i].resource, edges[i].units);
    output_char(state->out, '\n');
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ waits in order of arrival */

struct waiter {
    uint64_t since;
    uint32_t place; /* in the longest queue that it is in */
    uint32_t process;
};

static int compare_arrival(const void *left, const void *right)
{
    const struct waiter *a = left, *b = right;
    if (a->since != b->since)
        return a->since < b->since ? -1 : 1;
    if (a->place != b->place)
        return a->place < b->place ? -1 : 1;
    return (a->process > b->process) - (a->process < b->process);
}

static gordian_status write_waits(const struct state *state)
{
    gordian_allocator memory = memory_allocator(NULL);
    const struct served *served = state->served;
    uint32_t limit = served_process_limit(served), count = 0;
    uint32_t *places = memory_zeroed(&memory, ((size_t)limit + 1) * sizeof *places);
    struct waiter *list = memory_alloc(&memory, ((size_t)served->waiting + 1) * sizeof *list);
    gordian_status status = places && list ? GORDIAN_OK : fail_memory(state->error);
    for (uint32_t q = 0; q < served_resource_limit(served) && status == GORDIAN_OK; q++) {
        const gordian_edge *edges = NULL;
        size_t waiters = 0;
        if (is_resource(state, q))
            status = served_edges(state->served, SERVED_WAITERS, q, &edges, &waiters, state->error);
        for (size_t i = 0; i < waiters; i++)
            if (places[edges[i].process] < i)
                places[edges[i].process] = (uint32_t)i;
    }
    for (uint32_t p = 0; p < limit && status == GORDIAN_OK && count < served->waiting; p++)
        if (served->processes[p].since && is_selected(state, p))
            list[count++] = (struct waiter){served->processes[p].since, places[p], p};
    if (count > 0)
        qsort(list, count, sizeof *list, compare_arrival);
    for (uint32_t i = 0; i < count && status == GORDIAN_OK; i++)
        status = write_wait(state, list[i].process);
    memory_free_all(&memory, places, list);
    return status;
}

gordian_status state_trace(struct served *served, const char *label, struct output *out,
                           gordian_error *error)
{
    const struct state state = state_of(served, label, out, error);
    char buffer[GORDIAN_NAME_MAX + 1];
    for (uint32_t q = 0; q < served_resource_limit(state.served); q++) {
        if (!is_resource(&state, q))
            continue;
        const char *name = served_resource_name(state.served, q, buffer);
        output_format(state.out, "resource %s %llu\n", name,
                      (unsigned long long)served_units(state.served, q));
        write_state_labels(&state, TAGS_RESOURCE, q, name);
    }
    TRY(write_state_processes(&state));
    return write_waits(&state);
}

/* ------------------------------------------------------------------ JSON */

static gordian_status json_edges(const struct state *state, struct json *json, uint32_t process,
                                 enum served_side side)
{
    const gordian_edge *edges;
    size_t count;
    TRY(side == SERVED_HELD
            ? sorted_holds(state, process, &edges, &count)
            : served_edges(state->served, side, process, &edges, &count, state->error));
    for (size_t i = 0; i < count; i++)
        service_graph_edge(json, state->served, &edges[i]);
    return GORDIAN_OK;
}

gordian_status state_json(const struct service *service, struct served *served, const char *label,
                          struct json *json, gordian_error *error)
{
    const struct state state = state_of(served, label, NULL, error);
    gordian_allocator memory = memory_allocator(NULL);
    size_t words;
    gordian_status status = GORDIAN_OK;
    uint64_t *dead = served_deadlocked_bits(served, &words);
    if (!dead)
        return fail_memory(error);
    json_open(json, "processes", '[');
    for (uint32_t p = 0; p < served_process_limit(served); p++)
        if (is_selected(&state, p))
            service_process_node(json, service, served, p, bits_test(dead, p));
    json_shut(json);
    json_open(json, "resources", '[');
    for (uint32_t q = 0; q < served_resource_limit(served); q++)
        if (is_resource(&state, q) || served_is_await(served, q))
            service_resource_node(json, served, q);
    json_shut(json);
    json_open(json, "edges", '[');
    for (uint32_t p = 0; p < served_process_limit(served) && status == GORDIAN_OK; p++) {
        if (!is_selected(&state, p))
            continue;
        status = json_edges(&state, json, p, SERVED_WANTED);
        THEN(status, json_edges(&state, json, p, SERVED_HELD));
    }
    json_shut(json);
    memory_free(&memory, dead);
    return status;
}
