#include "witness.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ sets that cannot be reduced */

/* What is free of every resource once all but the members have finished. */
static uint64_t *free_without(const struct naive *naive, const bool *member)
{
    uint64_t *available = naive_zeroed(naive->resource_room, sizeof *available);
    for (uint32_t q = 0; q < naive->resource_room; q++)
        available[q] = naive->resources[q].total;
    for (uint32_t p = 0; p < naive->process_room; p++)
        for (uint32_t q = 0; member[p] && q < naive->resource_room; q++)
            available[q] -= naive_held(naive, p, q);
    return available;
}

static bool lacks(const struct naive *naive, uint32_t process, uint32_t resource,
                  const uint64_t *available)
{
    return naive_wanted(naive, process, resource) > available[resource];
}

static bool lacks_something(const struct naive *naive, uint32_t process, const uint64_t *available)
{
    const struct naive_process *p = &naive->processes[process];
    for (uint32_t i = 0; i < p->want_count; i++)
        if (p->wants[i].units > available[p->wants[i].resource])
            return true;
    return false;
}

bool witness_irreducible(const struct naive *naive, const bool *member)
{
    uint64_t *available = free_without(naive, member);
    bool stuck = true;
    uint32_t members = 0;
    for (uint32_t p = 0; p < naive->process_room; p++) {
        members += member[p];
        stuck &= !member[p] || (naive->processes[p].known && lacks_something(naive, p, available));
    }
    free(available);
    return stuck && members > 0;
}

/* Takes out of the set whoever can finish once all outside have, again and again. */
static void reduce_within(const struct naive *naive, bool *member)
{
    for (bool changed = true; changed;) {
        uint64_t *available = free_without(naive, member);
        changed = false;
        for (uint32_t p = 0; p < naive->process_room; p++)
            if (member[p] && !lacks_something(naive, p, available)) {
                member[p] = false;
                changed = true;
            }
        free(available);
    }
}

/* reach[a * n + b]: a lacks, directly or not, what b holds, in a set that cannot be reduced. */
static bool *reach_within(const struct naive *naive, const bool *member)
{
    uint32_t n = naive->process_room;
    bool *reach = naive_zeroed((size_t)n * n, sizeof *reach);
    uint64_t *available = free_without(naive, member);
    for (uint32_t a = 0; a < n; a++) {
        const struct naive_process *process = &naive->processes[a];
        for (uint32_t i = 0; member[a] && i < process->want_count; i++) {
            uint32_t q = process->wants[i].resource;
            for (uint32_t b = 0; lacks(naive, a, q, available) && b < n; b++)
                reach[(size_t)a * n + b] |= member[b] && naive_held(naive, b, q) > 0;
        }
    }
    for (uint32_t via = 0; via < n; via++)
        for (uint32_t a = 0; member[via] && a < n; a++)
            for (uint32_t b = 0; reach[(size_t)a * n + via] && b < n; b++)
                reach[(size_t)a * n + b] |= reach[(size_t)via * n + b];
    free(available);
    return reach;
}

/* Finds the parts within a set: all of it, if everybody in it waits for everybody, or the parts
 * within each of its pieces of which that is so. Uses the set up. */
static void split(const struct naive *naive, bool *member, uint32_t *part_of)
{
    uint32_t n = naive->process_room;
    reduce_within(naive, member);
    bool *reach = reach_within(naive, member);
    bool *done = naive_zeroed(n, sizeof *done);
    bool *piece = naive_zeroed(n, sizeof *piece);
    for (uint32_t p = 0; p < n; p++) {
        if (!member[p] || done[p] || !reach[(size_t)p * n + p])
            continue;
        bool whole = true;
        for (uint32_t other = 0; other < n; other++) {
            piece[other] = reach[(size_t)p * n + other] && reach[(size_t)other * n + p];
            done[other] |= piece[other];
            whole &= piece[other] || !member[other];
        }
        for (uint32_t other = 0; whole && other < n; other++)
            if (member[other])
                part_of[other] = p; /* the smallest: p ascends */
        if (!whole)
            split(naive, piece, part_of);
    }
    free(piece);
    free(done);
    free(reach);
}

void witness_parts(struct naive *naive, uint32_t *part_of)
{
    naive_judge(naive);
    for (uint32_t p = 0; p < naive->process_room; p++)
        part_of[p] = GORDIAN_NONE;
    if (naive->dead_count == 0)
        return;
    bool *member = naive_zeroed(naive->process_room, sizeof *member);
    memcpy(member, naive->dead, naive->process_room * sizeof *member);
    split(naive, member, part_of);
    free(member);
}

/* ------------------------------------------------------------------ edges */

static int compare_edges(const void *left, const void *right)
{
    const gordian_edge *a = left, *b = right;
    if (a->waits != b->waits)
        return a->waits < b->waits ? -1 : 1;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return a->resource < b->resource ? -1 : a->resource > b->resource;
}

static bool edges_are_distinct(const gordian_edge *edges, size_t count)
{
    gordian_edge *sorted = naive_zeroed(count, sizeof *sorted);
    if (count > 0)
        memcpy(sorted, edges, count * sizeof *edges);
    qsort(sorted, count, sizeof *sorted, compare_edges);
    bool distinct = true;
    for (size_t i = 1; i < count; i++)
        distinct &= compare_edges(&sorted[i - 1], &sorted[i]) != 0;
    free(sorted);
    return distinct;
}

static bool edge_exists(const struct naive *naive, const gordian_edge *edge)
{
    if (!naive_is_process(naive, edge->process) || !naive_is_resource(naive, edge->resource))
        return false;
    uint64_t units = edge->waits ? naive_wanted(naive, edge->process, edge->resource)
                                 : naive_held(naive, edge->process, edge->resource);
    return units > 0 && units == edge->units;
}

/* All waits of the members for these resources and their holdings of them, each once, and nothing
 * else. */
static const char *check_edges(const struct naive *naive, const bool *member, const bool *waited,
                               const gordian_edge *edges, size_t count)
{
    size_t expected = 0;
    for (uint32_t p = 0; p < naive->process_room; p++)
        for (uint32_t q = 0; member[p] && q < naive->resource_room; q++)
            if (waited[q])
                expected += (naive_held(naive, p, q) > 0) + (naive_wanted(naive, p, q) > 0);

    const char *why = NULL;
    for (size_t i = 0; i < count && !why; i++) {
        if (!edge_exists(naive, &edges[i]))
            why = "an edge does not exist, or has other units";
        else if (!member[edges[i].process])
            why = "an edge of one who is not a member";
        else if (!waited[edges[i].resource])
            why = "an edge of a resource no member waits for";
    }
    if (!why && !edges_are_distinct(edges, count))
        why = "an edge is there twice";
    if (!why && count != expected)
        why = "an edge is missing";
    return why;
}

/* All waits of the members, and their holdings of what is waited for. */
static const char *check_all_edges(const struct naive *naive, const bool *member,
                                   const gordian_edge *edges, size_t count)
{
    bool *waited = naive_zeroed(naive->resource_room, sizeof *waited);
    for (uint32_t p = 0; p < naive->process_room; p++)
        for (uint32_t i = 0; member[p] && i < naive->processes[p].want_count; i++)
            waited[naive->processes[p].wants[i].resource] = true;
    const char *why = check_edges(naive, member, waited, edges, count);
    free(waited);
    return why;
}

/* ------------------------------------------------------------------ explanations */

/* Single-unit: does the chain from `process` come back to it? */
static bool on_cycle(const struct naive *naive, uint32_t process)
{
    uint32_t at = process;
    for (uint32_t hops = 0; hops <= naive->process_room; hops++) {
        if (!naive_is_waiting(naive, at))
            return false;
        uint32_t resource = naive->processes[at].wants[0].resource;
        uint32_t holder = 0;
        while (holder < naive->process_room && naive_held(naive, holder, resource) == 0)
            holder++;
        if (holder == naive->process_room)
            return false;
        if (holder == process)
            return true;
        at = holder;
    }
    return false;
}

static const char *check_cycle(const struct naive *naive, uint32_t process,
                               const gordian_witness *witness)
{
    if (witness->count < 2 || witness->count % 2 != 0)
        return "a cycle has as many waits as holds";
    if (!edges_are_distinct(witness->edges, witness->count))
        return "an edge is there twice";
    uint32_t at = process;
    for (size_t i = 0; i < witness->count; i += 2) {
        const gordian_edge *wait = &witness->edges[i], *hold = &witness->edges[i + 1];
        if (!wait->waits || hold->waits)
            return "waits and holds do not alternate";
        if (!edge_exists(naive, wait) || !edge_exists(naive, hold))
            return "an edge does not exist, or has other units";
        if (wait->process != at || wait->resource != hold->resource)
            return "the edges are not a path";
        at = hold->process;
        if (at == process && i + 2 < witness->count)
            return "the cycle closes early";
    }
    return at == process ? NULL : "the path does not come back";
}

const char *witness_check(struct naive *naive, uint32_t process, const gordian_witness *witness)
{
    bool single = naive->model == GORDIAN_MODEL_SINGLE_UNIT;
    if (single && on_cycle(naive, process) && !witness->cycle)
        return "on a cycle, and not explained by it";
    bool *member = naive_zeroed(naive->process_room, sizeof *member);
    const char *why = NULL;
    for (size_t i = 0; i < witness->count && !why; i++) {
        if (!edge_exists(naive, &witness->edges[i]))
            why = "an edge does not exist, or has other units";
        else if (witness->edges[i].waits)
            member[witness->edges[i].process] = true;
    }
    if (!why && witness->cycle)
        why = check_cycle(naive, process, witness);
    else if (!why)
        why = check_all_edges(naive, member, witness->edges, witness->count);
    if (!why && !member[process])
        why = "does not contain the process";
    if (!why && !witness_irreducible(naive, member))
        why = "is not irreducible: a member can proceed";
    free(member);
    return why;
}

/* ------------------------------------------------------------------ reports */

static const char *check_part_cycle(const struct naive *naive, const gordian_part *part)
{
    if (part->process_count != part->resource_count)
        return "a cycle has as many processes as resources";
    for (size_t i = 0; i < part->process_count; i++) {
        uint32_t next = part->processes[(i + 1) % part->process_count];
        if (!naive_is_resource(naive, part->resources[i]) ||
            naive_wanted(naive, part->processes[i], part->resources[i]) == 0)
            return "a process of the cycle does not wait for its resource";
        if (naive_held(naive, next, part->resources[i]) == 0)
            return "the next process of the cycle does not hold the resource";
        if (i > 0 && part->processes[i] <= part->processes[0])
            return "the cycle does not start at its smallest process";
    }
    return NULL;
}

/* The resources must be those that members lack even when all others have finished, each once. */
static const char *check_part_lists(const struct naive *naive, const gordian_part *part,
                                    const bool *member)
{
    for (size_t i = 1; i < part->process_count; i++)
        if (part->processes[i - 1] >= part->processes[i])
            return "a part's processes do not ascend";
    uint64_t *available = free_without(naive, member);
    size_t lacked = 0, listed = 0;
    for (uint32_t q = 0; q < naive->resource_room; q++) {
        bool lacking = false;
        for (uint32_t p = 0; p < naive->process_room && !lacking; p++)
            lacking = member[p] && lacks(naive, p, q, available);
        lacked += lacking;
        for (size_t i = 0; lacking && i < part->resource_count; i++)
            listed += part->resources[i] == q;
    }
    free(available);
    return listed == lacked && part->resource_count == lacked
               ? NULL
               : "a part's resources are not what its members lack";
}

static const char *check_part(struct naive *naive, const gordian_part *part, bool *seen,
                              const uint32_t *part_of)
{
    bool *member = naive_zeroed(naive->process_room, sizeof *member);
    const char *why = part->process_count > 0 ? NULL : "a part without processes";
    uint32_t smallest = GORDIAN_NONE;
    for (size_t i = 0; i < part->process_count && !why; i++) {
        uint32_t p = part->processes[i];
        if (!naive_is_process(naive, p) || !naive->dead[p])
            why = "a part's process that is not deadlocked";
        else if (seen[p])
            why = "parts are not disjoint, or a process is in one twice";
        else
            seen[p] = member[p] = true;
        smallest = p < smallest ? p : smallest;
    }
    for (size_t i = 0; part_of && i < part->process_count && !why; i++)
        if (part_of[part->processes[i]] != smallest)
            why = "a part's process belongs to another part or to none";
    if (!why)
        why = part->cycle ? check_part_cycle(naive, part) : check_part_lists(naive, part, member);
    if (!why && !witness_irreducible(naive, member))
        why = "a part is not irreducible";
    free(member);
    return why;
}

const char *witness_report(struct naive *naive, const gordian_report *report,
                           const uint32_t *part_of)
{
    naive_judge(naive);
    if (report->model > naive->model)
        return "the report's model is above the system's";
    if (report->deadlocked_count != naive->dead_count)
        return "the report has another number of deadlocked processes";
    for (size_t i = 0; i < report->deadlocked_count; i++) {
        uint32_t p = report->deadlocked[i];
        if (!naive_is_process(naive, p) || !naive->dead[p])
            return "the report calls one deadlocked that is not";
        if (i > 0 && report->deadlocked[i - 1] >= p)
            return "the report's deadlocked processes do not ascend";
    }
    bool *seen = naive_zeroed(naive->process_room, sizeof *seen);
    const char *why = NULL;
    uint32_t before = 0;
    for (size_t i = 0; i < report->part_count && !why; i++) {
        const gordian_part *part = &report->parts[i];
        why = check_part(naive, part, seen, part_of);
        if (!why && report->model == GORDIAN_MODEL_SINGLE_UNIT && !part->cycle)
            why = "a part of a single-unit snapshot is not a cycle";
        if (!why && i > 0 && part->processes[0] <= before)
            why = "the parts are not in order of their smallest process";
        before = why ? before : part->processes[0];
    }
    for (uint32_t p = 0; part_of && !why && p < naive->process_room; p++)
        if (part_of[p] != GORDIAN_NONE && !seen[p])
            why = "a deadlock is missing";
    if (!why && report->part_count == 0 && naive->dead_count > 0)
        why = "processes are deadlocked, and no deadlock is reported";
    free(seen);
    return why;
}

const char *witness_part_edges(const struct naive *naive, const gordian_part *part,
                               const gordian_edge *edges, size_t count)
{
    bool *member = naive_zeroed(naive->process_room, sizeof *member);
    for (size_t i = 0; i < part->process_count; i++)
        member[part->processes[i]] = true;
    bool *waited = naive_zeroed(naive->resource_room, sizeof *waited);
    for (size_t i = 0; i < part->resource_count; i++)
        waited[part->resources[i]] = true;
    const char *why = check_edges(naive, member, waited, edges, count);
    free(member);
    free(waited);
    return why;
}

/* ------------------------------------------------------------------ victims */

static int64_t weigh(const struct naive *naive, uint32_t process, gordian_policy policy)
{
    int64_t weight = 0;
    switch (policy) {
    case GORDIAN_POLICY_YOUNGEST:
    case GORDIAN_POLICY_OLDEST:
        for (uint32_t p = 0; p < naive->process_room; p++)
            weight += naive->processes[p].known &&
                      naive->processes[p].born < naive->processes[process].born;
        return weight;
    case GORDIAN_POLICY_CHEAPEST:
        return naive->processes[process].cost;
    case GORDIAN_POLICY_LOWEST_PRIORITY:
        return naive->processes[process].priority;
    case GORDIAN_POLICY_FEWEST_HELD:
        for (uint32_t q = 0; q < naive->resource_room; q++) { /* as many as can be said */
            uint64_t held = naive_held(naive, process, q);
            weight = held > (uint64_t)(INT64_MAX - weight) ? INT64_MAX : weight + (int64_t)held;
        }
        return weight;
    }
    return 0;
}

uint32_t witness_victim(const struct naive *naive, const uint32_t *part_of, gordian_policy policy,
                        int64_t *weight)
{
    uint32_t best = GORDIAN_NONE;
    for (uint32_t p = 0; p < naive->process_room; p++) {
        if (part_of[p] == GORDIAN_NONE)
            continue;
        int64_t own = weigh(naive, p, policy);
        bool better = best == GORDIAN_NONE;
        if (!better && own != *weight)
            better = policy == GORDIAN_POLICY_YOUNGEST ? own > *weight : own < *weight;
        else if (!better)
            better = naive->processes[p].born > naive->processes[best].born;
        if (better) {
            best = p;
            *weight = own;
        }
    }
    return best;
}

/* ------------------------------------------------------------------ matrices */

/* A bit a process and a resource: who holds each resource, what each process waits for. */
struct graph_bits {
    uint32_t processes, resources;
    uint64_t holders[64], waits[64];
};

static void read_bits(const struct naive *naive, struct graph_bits *graph)
{
    memset(graph, 0, sizeof *graph);
    graph->processes = naive->process_room < 64 ? naive->process_room : 64;
    graph->resources = naive->resource_room < 64 ? naive->resource_room : 64;
    for (uint32_t p = 0; p < graph->processes; p++) {
        for (uint32_t q = 0; q < graph->resources; q++)
            graph->holders[q] |= (uint64_t)(naive_held(naive, p, q) > 0) << p;
        for (uint32_t i = 0; i < naive->processes[p].want_count; i++)
            graph->waits[p] |= UINT64_C(1) << naive->processes[p].wants[i].resource;
    }
}

void witness_matrices(const struct naive *naive, struct witness_matrices *matrices)
{
    struct graph_bits graph;
    read_bits(naive, &graph);
    memset(matrices, 0, sizeof *matrices);
    for (uint32_t q = 0; q < graph.resources; q++) {
        uint64_t rr = UINT64_C(1) << q, rp = 0;
        for (bool changed = true; changed;) {
            uint64_t old_rr = rr, old_rp = rp;
            for (uint32_t r = 0; r < graph.resources; r++)
                rp |= rr >> r & 1 ? graph.holders[r] : 0;
            for (uint32_t p = 0; p < graph.processes; p++)
                rr |= rp >> p & 1 ? graph.waits[p] : 0;
            changed = rr != old_rr || rp != old_rp;
        }
        matrices->rr[q] = rr;
        matrices->rp[q] = rp;
        for (uint32_t p = 0; p < graph.processes; p++)
            if (rp >> p & 1 && graph.waits[p] == 0)
                matrices->sink[q] |= UINT64_C(1) << p;
    }
}
