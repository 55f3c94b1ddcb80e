#include "duel.h"

#include "witness.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Parts are found in cubic time: not in larger systems. */
#define PARTS_MAX 100

bool duel_disagree(struct duel *duel, size_t engine, const char *format, ...)
{
    va_list arguments;
    int used = snprintf(duel->message, sizeof duel->message,
                        "engine %s: ", duel->options.engines[engine]->about.name);
    va_start(arguments, format);
    vsnprintf(duel->message + used, sizeof duel->message - (size_t)used, format, arguments);
    va_end(arguments);
    return false;
}

static bool failed(struct duel *duel, size_t engine, const char *call, gordian_status status,
                   const gordian_error *error)
{
    return duel_disagree(duel, engine, "%s: %s: %s", call, gordian_status_text(status),
                         status == GORDIAN_STATUS_END ? "" : error->message);
}

/* ------------------------------------------------------------------ who is deadlocked */

bool compare_deadlocked(struct duel *duel, size_t engine)
{
    struct naive *naive = &duel->naive;
    const uint32_t *list;
    size_t count;
    gordian_error error;
    gordian_status status = gordian_deadlocked(duel->systems[engine], &list, &count, &error);
    if (status != GORDIAN_OK)
        return failed(duel, engine, "gordian_deadlocked", status, &error);
    naive_judge(naive);
    size_t at = 0;
    for (uint32_t p = 0; p < naive->process_room; p++) {
        bool said = at < count && list[at] == p;
        if (said != naive->dead[p])
            return duel_disagree(duel, engine, "process %" PRIu32 " is deadlocked: %s, model: %s",
                                 p, said ? "yes" : "no", naive->dead[p] ? "yes" : "no");
        at += said;
    }
    if (at != count)
        return duel_disagree(duel, engine, "%zu deadlocked, model: %zu", count, at);
    return true;
}

/* ------------------------------------------------------------------ edges */

/* `count` edges answered, the first ones in duel->edges: are they those of one process, or of one
 * resource (the other one NONE), each once, and is none missing (`total`)? */
static bool compare_edges(struct duel *duel, size_t engine, const char *what, size_t count,
                          size_t total, uint32_t process, uint32_t resource, bool waits)
{
    const struct naive *naive = &duel->naive;
    if (count != total)
        return duel_disagree(duel, engine, "%s of %s%" PRIu32 ": %zu edges, model: %zu", what,
                             process != GORDIAN_NONE ? "p" : "r",
                             process != GORDIAN_NONE ? process : resource, count, total);
    for (size_t i = 0; i < count; i++) {
        const gordian_edge *edge = &duel->edges[i];
        uint32_t p = edge->process, q = edge->resource;
        bool right = naive_is_process(naive, p) && naive_is_resource(naive, q) &&
                     edge->waits == waits && (process == GORDIAN_NONE || p == process) &&
                     (resource == GORDIAN_NONE || q == resource);
        uint64_t units = !right ? 0 : waits ? naive_wanted(naive, p, q) : naive_held(naive, p, q);
        for (size_t j = 0; j < i && right; j++)
            right = duel->edges[j].process != p || duel->edges[j].resource != q;
        if (!right || units == 0 || units != edge->units)
            return duel_disagree(duel, engine,
                                 "%s: p%" PRIu32 " r%" PRIu32 " %s %" PRIu64 ", model: %" PRIu64,
                                 what, p, q, edge->waits ? "waits" : "holds", edge->units, units);
    }
    return true;
}

static int compare_ids(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a < b ? -1 : a > b;
}

/* The holders of what the process still lacks. */
static bool compare_waits_for(struct duel *duel, size_t engine, uint32_t process)
{
    const struct naive *naive = &duel->naive;
    const struct naive_process *state = &naive->processes[process];
    const uint32_t *list;
    size_t count;
    gordian_error error;
    gordian_status status =
        gordian_waits_for(duel->systems[engine], process, &list, &count, &error);
    if (status != GORDIAN_OK)
        return failed(duel, engine, "gordian_waits_for", status, &error);
    for (size_t i = 1; i < count; i++)
        if (list[i - 1] >= list[i])
            return duel_disagree(duel, engine, "gordian_waits_for does not ascend");
    size_t expected = 0;
    for (uint32_t p = 0; p < naive->process_room; p++) {
        bool holds = false;
        for (uint32_t i = 0; i < state->want_count; i++) {
            uint32_t q = state->wants[i].resource;
            holds |=
                state->wants[i].units > naive->resources[q].free && naive_held(naive, p, q) > 0;
        }
        expected += holds;
        if (holds && (count == 0 || !bsearch(&p, list, count, sizeof *list, compare_ids)))
            return duel_disagree(duel, engine, "p%" PRIu32 " does not wait for p%" PRIu32, process,
                                 p);
    }
    if (count != expected)
        return duel_disagree(duel, engine, "p%" PRIu32 " waits for %zu, model: %zu", process, count,
                             expected);
    return true;
}

bool compare_process(struct duel *duel, size_t engine, uint32_t process)
{
    const struct naive *naive = &duel->naive;
    gordian_system *system = duel->systems[engine];
    bool known = naive_is_process(naive, process);
    if ((gordian_process_name(system, process) != NULL) != known)
        return duel_disagree(duel, engine, "p%" PRIu32 ": known or not?", process);
    if (!known)
        return true;
    const struct naive_process *state = &naive->processes[process];
    if (gordian_is_waiting(system, process) != (state->want_count > 0))
        return duel_disagree(duel, engine, "p%" PRIu32 ": waiting or not?", process);
    if (gordian_priority(system, process) != state->priority ||
        gordian_cost(system, process) != state->cost)
        return duel_disagree(duel, engine, "p%" PRIu32 ": another priority or cost", process);
    size_t count = gordian_holdings(system, process, duel->edges, duel->edge_room);
    if (!compare_edges(duel, engine, "holdings", count, state->held_kinds, process, GORDIAN_NONE,
                       false))
        return false;
    count = gordian_pending(system, process, duel->edges, duel->edge_room);
    if (!compare_edges(duel, engine, "pending", count, state->want_count, process, GORDIAN_NONE,
                       true))
        return false;
    return compare_waits_for(duel, engine, process);
}

bool compare_resource(struct duel *duel, size_t engine, uint32_t resource)
{
    const struct naive *naive = &duel->naive;
    const gordian_system *system = duel->systems[engine];
    bool known = naive_is_resource(naive, resource);
    if ((gordian_resource_name(system, resource) != NULL) != known)
        return duel_disagree(duel, engine, "r%" PRIu32 ": known or not?", resource);
    if (!known)
        return true;
    const struct naive_resource *state = &naive->resources[resource];
    if (gordian_units(system, resource) != state->total ||
        gordian_free_units(system, resource) != state->free)
        return duel_disagree(duel, engine,
                             "r%" PRIu32 ": %" PRIu64 " of %" PRIu64 " free, model: %" PRIu64
                             " of %" PRIu64,
                             resource, gordian_free_units(system, resource),
                             gordian_units(system, resource), state->free, state->total);
    size_t total = 0;
    for (uint32_t p = 0; p < naive->process_room; p++)
        total += naive_held(naive, p, resource) > 0;
    size_t count = gordian_holders(system, resource, duel->edges, duel->edge_room);
    if (!compare_edges(duel, engine, "holders", count, total, GORDIAN_NONE, resource, false))
        return false;
    count = gordian_waiters(system, resource, duel->edges, duel->edge_room);
    total = 0;
    for (uint32_t i = 0; i < naive->queue_count; i++) {
        if (naive_wanted(naive, naive->queue[i], resource) == 0)
            continue;
        if (total < count && duel->edges[total].process != naive->queue[i])
            return duel_disagree(duel, engine, "r%" PRIu32 ": waiters not in order of arrival",
                                 resource);
        total++;
    }
    return compare_edges(duel, engine, "waiters", count, total, GORDIAN_NONE, resource, true);
}

bool compare_whole_state(struct duel *duel, size_t engine)
{
    const struct naive *naive = &duel->naive;
    const gordian_system *system = duel->systems[engine];
    if (gordian_system_model(system) != naive->model)
        return duel_disagree(duel, engine, "the model is %s, model: %s",
                             gordian_model_text(gordian_system_model(system)),
                             gordian_model_text(naive->model));
    uint32_t limit = gordian_process_limit(system);
    if (limit < naive_process_limit(naive) || limit > naive->process_top)
        return duel_disagree(duel, engine, "process limit %" PRIu32 ", model: %" PRIu32, limit,
                             naive_process_limit(naive));
    limit = gordian_resource_limit(system);
    if (limit < naive_resource_limit(naive) || limit > naive->resource_top)
        return duel_disagree(duel, engine, "resource limit %" PRIu32 ", model: %" PRIu32, limit,
                             naive_resource_limit(naive));
    for (uint32_t p = 0; p < naive->process_room; p++)
        if (!compare_process(duel, engine, p))
            return false;
    for (uint32_t q = 0; q < naive->resource_room; q++)
        if (!compare_resource(duel, engine, q))
            return false;
    return true;
}

/* ------------------------------------------------------------------ witnesses */

bool compare_explanation(struct duel *duel, size_t engine, uint32_t process)
{
    struct naive *naive = &duel->naive;
    naive_judge(naive);
    gordian_witness witness;
    gordian_error error;
    gordian_status status = gordian_explain(duel->systems[engine], process, &witness, &error);
    bool dead = naive_is_process(naive, process) && naive->dead[process];
    if (!dead && status != GORDIAN_STATUS_INPUT)
        return duel_disagree(duel, engine, "explains p%" PRIu32 ", which can run: %s", process,
                             gordian_status_text(status));
    if (!dead)
        return true;
    if (status != GORDIAN_OK)
        return failed(duel, engine, "gordian_explain", status, &error);
    const char *why = witness_check(naive, process, &witness);
    if (why)
        return duel_disagree(duel, engine, "witness of p%" PRIu32 ": %s", process, why);
    return true;
}

static bool compare_report(struct duel *duel, size_t engine, gordian_snapshot *snapshot)
{
    struct naive *naive = &duel->naive;
    gordian_report report;
    gordian_error error;
    gordian_status status = gordian_snapshot_check(snapshot, &report, &error);
    if (status != GORDIAN_OK)
        return failed(duel, engine, "gordian_snapshot_check", status, &error);
    bool small = naive->process_room <= PARTS_MAX;
    if (small)
        witness_parts(naive, duel->part_of);
    const char *why = witness_report(naive, &report, small ? duel->part_of : NULL);
    if (why)
        return duel_disagree(duel, engine, "snapshot: %s", why);
    for (size_t i = 0; i < report.part_count; i++) {
        const gordian_edge *edges;
        size_t count;
        status = gordian_snapshot_edges(snapshot, &report.parts[i], &edges, &count, &error);
        if (status != GORDIAN_OK)
            return failed(duel, engine, "gordian_snapshot_edges", status, &error);
        why = witness_part_edges(naive, &report.parts[i], edges, count);
        if (why)
            return duel_disagree(duel, engine, "snapshot, edges of part %zu: %s", i, why);
    }
    return true;
}

bool compare_snapshot(struct duel *duel, size_t engine)
{
    gordian_snapshot *snapshot;
    gordian_error error;
    gordian_status status = gordian_snapshot_take(&snapshot, duel->systems[engine], &error);
    if (status != GORDIAN_OK)
        return failed(duel, engine, "gordian_snapshot_take", status, &error);
    bool same = compare_report(duel, engine, snapshot);
    gordian_snapshot_close(snapshot);
    return same;
}

/* ------------------------------------------------------------------ matrices */

/* One row of bits against its definition, by word and by element. */
static bool compare_row(struct duel *duel, size_t engine, gordian_matrix matrix, const char *name,
                        uint32_t row, uint32_t columns, uint64_t bits)
{
    const gordian_system *system = duel->systems[engine];
    const uint64_t *words;
    size_t count;
    gordian_error error;
    gordian_status status = gordian_matrix_row(system, matrix, row, &words, &count, &error);
    if (status != GORDIAN_OK)
        return failed(duel, engine, "gordian_matrix_row", status, &error);
    uint64_t got = count > 0 ? words[0] : 0;
    uint32_t column = columns > 0 ? (uint32_t)random_below(&duel->random, columns) : 0;
    uint64_t element = bits >> column & 1;
    if (got == bits && columns > 0)
        status = gordian_matrix_get(system, matrix, row, column, &element, &error);
    if (status != GORDIAN_OK)
        return failed(duel, engine, "gordian_matrix_get", status, &error);
    if (got != bits || element != (bits >> column & 1))
        return duel_disagree(duel, engine,
                             "%s[%" PRIu32 "] is %" PRIx64 ", by definition: %" PRIx64, name, row,
                             got, bits);
    return true;
}

static bool compare_grants(struct duel *duel, size_t engine, uint32_t resource)
{
    const struct naive *naive = &duel->naive;
    for (uint32_t p = 0; p < naive_process_limit(naive); p++) {
        uint64_t units;
        gordian_error error;
        gordian_status status = gordian_matrix_get(duel->systems[engine], GORDIAN_MATRIX_AG,
                                                   resource, p, &units, &error);
        if (status != GORDIAN_OK)
            return failed(duel, engine, "gordian_matrix_get", status, &error);
        if (units != naive_held(naive, p, resource))
            return duel_disagree(duel, engine,
                                 "AG[%" PRIu32 "][%" PRIu32 "] is %" PRIu64 ", model: %" PRIu64,
                                 resource, p, units, naive_held(naive, p, resource));
    }
    return true;
}

bool compare_matrices(struct duel *duel, size_t engine)
{
    const struct naive *naive = &duel->naive;
    struct witness_matrices defined;
    uint32_t processes = naive_process_limit(naive), resources = naive_resource_limit(naive);
    bool single = naive->model == GORDIAN_MODEL_SINGLE_UNIT;
    witness_matrices(naive, &defined);
    for (uint32_t q = 0; q < resources; q++) {
        if (!naive->resources[q].known)
            continue;
        if (!compare_grants(duel, engine, q) ||
            !compare_row(duel, engine, GORDIAN_MATRIX_RP, "RP", q, processes, defined.rp[q]))
            return false;
        if (single &&
            (!compare_row(duel, engine, GORDIAN_MATRIX_SINK, "Sink", q, processes,
                          defined.sink[q]) ||
             !compare_row(duel, engine, GORDIAN_MATRIX_RR, "RR", q, resources, defined.rr[q])))
            return false;
    }
    for (uint32_t p = 0; p < processes; p++) {
        uint64_t waits = 0;
        for (uint32_t q = 0; q < resources; q++)
            waits |= (uint64_t)(naive_wanted(naive, p, q) > 0) << q;
        if (naive->processes[p].known &&
            !compare_row(duel, engine, GORDIAN_MATRIX_AR, "AR", p, resources, waits))
            return false;
    }
    return true;
}
