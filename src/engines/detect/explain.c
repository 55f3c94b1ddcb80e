/*
 * Witnesses: why a process can never run again.
 *
 * In a single-unit system the witness of a process on a cycle is the cycle. Otherwise it is a set
 * of dead processes that block each other whatever all other processes do. The dead processes that
 * can be reached from the process (holders of what it waits for, and so on) are such a set. Those
 * of them from which the process can be reached are often a smaller one.
 */
#include "engines/detect/ahead.h"
#include "foundation/base/bits.h"
#include "foundation/base/error.h"

#include <string.h>

/* Up to this many processes and resources the whole graph is searched anyway. */
#define EXPLAIN_SMALL 2048

struct inquiry {
    gordian_system *system;
    const struct rag *graph;
    uint32_t process;
    uint64_t *dead;      /* set of processes that can never run again */
    uint64_t *ahead;     /* set of processes that can be reached from the process */
    uint64_t *members;   /* set of processes: the witness */
    uint64_t *looked_at; /* set of resources that were visited */
    uint64_t *free;      /* by resource: free units if all but the members finish */
    uint32_t *queue;     /* processes that are not visited yet */
    size_t queued;
};

static gordian_status open_inquiry(struct inquiry *inquiry, gordian_system *system,
                                   uint32_t process, gordian_error *error)
{
    const struct rag *graph = &system->graph;
    size_t words = bits_words(graph->process_limit), flags = bits_words(graph->resource_limit);
    size_t all = 3 * words + flags + graph->resource_limit + 1;
    if (!memory_grow(&graph->memory, &system->marks, &system->mark_room, all,
                     sizeof *system->marks) ||
        !memory_grow(&graph->memory, &system->processes, &system->process_room,
                     graph->process_limit, sizeof *system->processes))
        return fail_memory(error);
    memset(system->marks, 0, all * sizeof *system->marks);
    *inquiry = (struct inquiry){.system = system,
                                .graph = graph,
                                .process = process,
                                .dead = system->marks,
                                .ahead = system->marks + words,
                                .members = system->marks + 2 * words,
                                .looked_at = system->marks + 3 * words,
                                .free = system->marks + 3 * words + flags,
                                .queue = system->processes};
    return system->hooks->deadlocked(system->state, inquiry->dead, error);
}

static gordian_status append_witness_edge(gordian_system *system, gordian_witness *witness,
                                          struct rag_edge edge, bool waits, gordian_error *error)
{
    if (!memory_grow(&system->graph.memory, &system->edges, &system->edge_room, witness->count + 1,
                     sizeof *system->edges))
        return fail_memory(error);
    system->edges[witness->count++] = (gordian_edge){
        .units = edge.units, .process = edge.process, .resource = edge.resource, .waits = waits};
    return GORDIAN_OK;
}

/* ---- cycles */

/* Follows the waits of this process and looks at no other. */
static bool is_on_cycle(const struct rag *graph, uint32_t process)
{
    uint32_t at = process;
    for (uint32_t hops = 0; hops < graph->process_limit; hops++) {
        uint32_t resource = graph->wait[at];
        if (resource == NONE || graph->holder[resource] == NONE)
            return false;
        at = graph->holder[resource];
        if (at == process)
            return true;
    }
    return false;
}

static gordian_status list_cycle(gordian_system *system, uint32_t process, size_t limit,
                                 gordian_witness *witness, gordian_error *error)
{
    const struct rag *graph = &system->graph;
    uint32_t at = process;
    witness->cycle = true;
    do {
        struct rag_edge want = rag_wanted(graph, at);
        struct rag_edge hold = rag_holder(graph, want.resource);
        gordian_status status = append_witness_edge(system, witness, want, true, error);
        THEN(status, append_witness_edge(system, witness, hold, false, error));
        if (status != GORDIAN_OK)
            return status;
        at = hold.process;
    } while (at != process && witness->count < limit);
    return GORDIAN_OK;
}

/* ---- irreducible parts */

static void enqueue_process(struct inquiry *inquiry, uint64_t *set, uint32_t process)
{
    if (!bits_test(inquiry->dead, process) || bits_test(set, process))
        return;
    bits_set(set, process);
    inquiry->queue[inquiry->queued++] = process;
}

/* Returns true on the first visit of this resource. */
static bool visit_resource_once(struct inquiry *inquiry, uint32_t resource)
{
    if (bits_test(inquiry->looked_at, resource))
        return false;
    bits_set(inquiry->looked_at, resource);
    return true;
}

static void start_round(struct inquiry *inquiry, uint64_t *set)
{
    memset(inquiry->looked_at, 0, bits_words(inquiry->graph->resource_limit) * sizeof(uint64_t));
    inquiry->queued = 0;
    enqueue_process(inquiry, set, inquiry->process);
}

/* Collects the dead holders of what the process waits for, the dead holders of what those wait for,
 * and so on. */
static void find_ahead(struct inquiry *inquiry)
{
    const struct rag *graph = inquiry->graph;
    start_round(inquiry, inquiry->ahead);
    for (size_t i = 0; i < inquiry->queued; i++) {
        struct rag_edge want, hold;
        for (uint32_t w = inquiry->queue[i]; w != NONE; w = want.next) {
            want = rag_wanted(graph, w);
            if (!visit_resource_once(inquiry, want.resource))
                continue;
            for (uint32_t h = rag_first_holder(graph, want.resource); h != NONE; h = hold.next) {
                hold = rag_holder(graph, h);
                enqueue_process(inquiry, inquiry->ahead, hold.process);
            }
        }
    }
}

/* Finds the members: the processes ahead from which the process can be reached. */
static void find_members(struct inquiry *inquiry)
{
    const struct rag *graph = inquiry->graph;
    start_round(inquiry, inquiry->members);
    for (size_t i = 0; i < inquiry->queued; i++) {
        struct rag_edge hold, want;
        for (uint32_t h = graph->processes[inquiry->queue[i]].held; h != NONE; h = hold.next) {
            hold = rag_held(graph, h);
            if (!visit_resource_once(inquiry, hold.resource))
                continue;
            for (uint32_t w = graph->resources[hold.resource].queue_head; w != NONE;
                 w = want.next) {
                want = rag_queued(graph, w);
                if (bits_test(inquiry->ahead, want.process))
                    enqueue_process(inquiry, inquiry->members, want.process);
            }
        }
    }
}

static void move_holdings(struct inquiry *inquiry, uint32_t process, int64_t sign)
{
    struct rag_edge hold;
    for (uint32_t h = inquiry->graph->processes[process].held; h != NONE; h = hold.next) {
        hold = rag_held(inquiry->graph, h);
        inquiry->free[hold.resource] += hold.units * (uint64_t)sign;
    }
}

static bool request_fits_free(const struct inquiry *inquiry, uint32_t process)
{
    struct rag_edge want;
    for (uint32_t w = process; w != NONE; w = want.next) {
        want = rag_wanted(inquiry->graph, w);
        if (want.units > inquiry->free[want.resource])
            return false;
    }
    return true;
}

/* Drops the members that could finish if all other processes did. Returns whether the process is
 * still a member. */
static bool reduce_members(struct inquiry *inquiry)
{
    const struct rag *graph = inquiry->graph;
    for (uint32_t q = 0; q < graph->resource_limit; q++)
        inquiry->free[q] = rag_is_resource(graph, q) ? rag_total_units(graph, q) : 0;
    for (size_t i = 0; i < inquiry->queued; i++)
        move_holdings(inquiry, inquiry->queue[i], -1);
    size_t before;
    do {
        before = inquiry->queued;
        size_t kept = 0;
        for (size_t i = 0; i < before; i++) {
            uint32_t member = inquiry->queue[i];
            if (request_fits_free(inquiry, member)) {
                move_holdings(inquiry, member, 1);
                bits_clear(inquiry->members, member);
            } else {
                inquiry->queue[kept++] = member;
            }
        }
        inquiry->queued = kept;
    } while (inquiry->queued < before);
    return bits_test(inquiry->members, inquiry->process);
}

static gordian_status list_part(struct inquiry *inquiry, const uint64_t *members,
                                gordian_witness *witness, gordian_error *error)
{
    const struct rag *graph = inquiry->graph;
    gordian_status status = GORDIAN_OK;
    memset(inquiry->looked_at, 0, bits_words(graph->resource_limit) * sizeof(uint64_t));
    for (uint32_t p = 0; p < graph->process_limit; p++) {
        struct rag_edge want, hold;
        for (uint32_t w = bits_test(members, p) ? p : NONE; w != NONE; w = want.next) {
            want = rag_wanted(graph, w);
            status = append_witness_edge(inquiry->system, witness, want, true, error);
            if (status != GORDIAN_OK)
                return status;
            if (!visit_resource_once(inquiry, want.resource))
                continue;
            for (uint32_t h = rag_first_holder(graph, want.resource); h != NONE; h = hold.next) {
                hold = rag_holder(graph, h);
                if (bits_test(members, hold.process))
                    status = append_witness_edge(inquiry->system, witness, hold, false, error);
                if (status != GORDIAN_OK)
                    return status;
            }
        }
    }
    return GORDIAN_OK;
}

static gordian_status can_still_run(const gordian_system *system, uint32_t process,
                                    gordian_error *error)
{
    return fail(error, GORDIAN_STATUS_INPUT, "process '%s' can still run",
                gordian_process_name(system, process));
}

/* Searches the whole graph. */
static gordian_status explain_all(gordian_system *system, uint32_t process,
                                  gordian_witness *witness, gordian_error *error)
{
    struct inquiry inquiry = {0};
    TRY(open_inquiry(&inquiry, system, process, error));
    if (!bits_test(inquiry.dead, process))
        return can_still_run(system, process, error);
    gordian_witness found = {0};
    find_ahead(&inquiry);
    find_members(&inquiry);
    bool small = reduce_members(&inquiry);
    gordian_status status =
        list_part(&inquiry, small ? inquiry.members : inquiry.ahead, &found, error);
    found.edges = system->edges;
    if (status == GORDIAN_OK)
        *witness = found;
    return status;
}

static gordian_status explain_cycle(gordian_system *system, uint32_t process, size_t limit,
                                    gordian_witness *witness, gordian_error *error)
{
    gordian_witness found = {0};
    gordian_status status = list_cycle(system, process, limit, &found, error);
    found.edges = system->edges;
    if (status == GORDIAN_OK)
        *witness = found;
    return status;
}

gordian_status gordian_explain(gordian_system *system, uint32_t process, gordian_witness *witness,
                               gordian_error *error)
{
    const struct rag *graph = &system->graph;
    uint32_t all = graph->process_limit;
    SYSTEM_SCOPE(system);
    if (!rag_is_process(graph, process))
        return fail(error, GORDIAN_STATUS_INPUT, "there is no process %u", process);
    /* A process on a cycle is deadlocked. Finding all deadlocked processes would take much longer.
     */
    if (graph->model == GORDIAN_MODEL_SINGLE_UNIT && is_on_cycle(graph, process))
        return explain_cycle(system, process, SIZE_MAX, witness, error);
    /* In a large system search only what lies ahead of the process, if possible. */
    if (all + graph->resource_limit > EXPLAIN_SMALL) {
        gordian_status status = ahead_explain(system, process, all / 8, witness, NULL);
        if (status == GORDIAN_STATUS_INPUT)
            return can_still_run(system, process, error);
        if (status != GORDIAN_STATUS_END)
            return status == GORDIAN_STATUS_MEMORY ? fail_memory(error) : status;
    }
    return explain_all(system, process, witness, error);
}

/* ---- cycles whose closer is known */

uint32_t system_closed_by(const gordian_system *system, uint32_t process)
{
    const struct rag *graph = &system->graph;
    return graph->model == GORDIAN_MODEL_SINGLE_UNIT && system->hooks->closed_by &&
                   rag_is_process(graph, process) && rag_waits(graph, process)
               ? system->hooks->closed_by(system->state, process)
               : NONE;
}

uint32_t system_opened(const gordian_system *system)
{
    return system->hooks->closed_by ? system->graph.opened : NONE;
}

uint32_t system_next_ahead(const gordian_system *system, uint32_t process)
{
    const struct rag *graph = &system->graph;
    uint32_t resource = rag_wanted(graph, process).resource;
    return rag_holder(graph, rag_first_holder(graph, resource)).process;
}

gordian_status system_explain_some(gordian_system *system, uint32_t process, size_t limit,
                                   gordian_witness *witness, gordian_error *error)
{
    if (system_closed_by(system, process) == process)
        return explain_cycle(system, process, limit, witness, error);
    return gordian_explain(system, process, witness, error);
}
