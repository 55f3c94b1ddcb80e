/* Builds snapshots from holds and waits. engines/detect/check/check.c checks them. */
#include "engines/detect/check/snapshot.h"

#include "engines/detect/check/background_device.h"
#include "engines/detect/shared.h"
#include "foundation/base/error.h"
#include "foundation/base/machine.h"
#include "foundation/base/sort.h"

#include <inttypes.h>
#include <string.h>

gordian_status gordian_snapshot_open(gordian_snapshot **out, const gordian_allocator *allocator,
                                     gordian_error *error)
{
    gordian_allocator memory = memory_allocator(allocator);
    gordian_snapshot *snapshot = memory_zeroed(&memory, sizeof *snapshot);
    *out = snapshot;
    if (!snapshot)
        return fail_memory(error);
    snapshot->memory = memory;
    return GORDIAN_OK;
}

void gordian_snapshot_close(gordian_snapshot *snapshot)
{
    if (!snapshot)
        return;
    gordian_allocator memory = snapshot->memory;
    background_device_end(snapshot->device);
    check_result_free(&snapshot->result, &memory);
    memory_free_all(&memory, snapshot->wait, snapshot->wait_units, snapshot->holder,
                    snapshot->units, snapshot->holds.edges, snapshot->waits.edges);
    hash_free(&snapshot->wait_table, &memory);
    memory_free(&memory, snapshot);
}

/* The snapshot is about to change: discards its result. */
static void forget_judgement(gordian_snapshot *snapshot)
{
    if (!snapshot->judged)
        return;
    check_result_free(&snapshot->result, &snapshot->memory);
    snapshot->judged = false;
}

static gordian_status fail_too_large(gordian_error *error, const char *what)
{
    return fail(error, GORDIAN_STATUS_INPUT, "a snapshot takes at most %" PRIu32 " %s",
                SNAPSHOT_MAX, what);
}

/* ------------------------------------------------------------------ nodes */

static bool grow_processes(gordian_snapshot *snapshot, uint32_t wanted)
{
    const struct memory_column columns[] = {{&snapshot->wait, sizeof *snapshot->wait},
                                            {&snapshot->wait_units, sizeof *snapshot->wait_units}};
    return memory_grow_columns(&snapshot->memory, columns, snapshot->wait_units ? 2 : 1,
                               &snapshot->process_room, wanted);
}

static bool grow_resources(gordian_snapshot *snapshot, uint32_t wanted)
{
    const struct memory_column columns[] = {{&snapshot->holder, sizeof *snapshot->holder},
                                            {&snapshot->units, sizeof *snapshot->units}};
    return memory_grow_columns(&snapshot->memory, columns, snapshot->units ? 2 : 1,
                               &snapshot->resource_room, wanted);
}

gordian_status gordian_snapshot_add_process(gordian_snapshot *snapshot, uint32_t *id,
                                            gordian_error *error)
{
    uint32_t process = snapshot->process_count;
    if (process >= SNAPSHOT_MAX)
        return fail_too_large(error, "processes");
    if (!grow_processes(snapshot, process + 1))
        return fail_memory(error);
    forget_judgement(snapshot);
    snapshot->wait[process] = NONE;
    snapshot->process_count = process + 1;
    if (id)
        *id = process;
    return GORDIAN_OK;
}

bool snapshot_enlarge(gordian_snapshot *snapshot, uint64_t processes, uint64_t resources)
{
    uint64_t process_count = snapshot->process_count + processes;
    uint64_t resource_count = snapshot->resource_count + resources;
    if (process_count > SNAPSHOT_MAX || resource_count > SNAPSHOT_MAX || snapshot->units ||
        snapshot->wait_units || !grow_processes(snapshot, (uint32_t)process_count) ||
        !grow_resources(snapshot, (uint32_t)resource_count))
        return false;
    snapshot->process_count = (uint32_t)process_count;
    snapshot->resource_count = (uint32_t)resource_count;
    return true;
}

void snapshot_prepare(gordian_snapshot *snapshot, uint32_t processes, uint32_t resources)
{
    if (grow_processes(snapshot, processes))
        memory_expect_random(&snapshot->memory, snapshot->wait, processes * sizeof(uint32_t));
    if (grow_resources(snapshot, resources))
        memory_expect_random(&snapshot->memory, snapshot->holder, resources * sizeof(uint32_t));
}

void snapshot_clear(gordian_snapshot *snapshot)
{
    snapshot->process_count = snapshot->resource_count = 0;
}

unsigned snapshot_threads(const gordian_snapshot *snapshot, unsigned wanted, uint64_t most)
{
    struct machine machine;
    if (most < 2 || wanted == 1 || !memory_is_shared(&snapshot->memory))
        return 1;
    if (wanted == 0) {
        machine_describe(&machine);
        wanted = machine.cores ? machine.cores : 1;
    }
    return wanted < most ? wanted : (unsigned)most;
}

/* Gives every resource a record of its units. */
static bool need_units(gordian_snapshot *snapshot)
{
    if (snapshot->units)
        return true;
    size_t size = sizeof *snapshot->units * snapshot->resource_room;
    struct snapshot_units *units = memory_alloc(&snapshot->memory, size);
    if (!units)
        return false;
    for (uint32_t q = 0; q < snapshot->resource_count; q++) {
        uint64_t held = snapshot->holder[q] != NONE;
        units[q] = (struct snapshot_units){.total = 1, .held = held, .first = held};
    }
    snapshot->units = units;
    return true;
}

/* Also accepts zero units: a removed resource of a system has none. */
static gordian_status add_any_resource(gordian_snapshot *snapshot, uint64_t units, uint32_t *id,
                                       gordian_error *error)
{
    uint32_t resource = snapshot->resource_count;
    if (resource >= SNAPSHOT_MAX)
        return fail_too_large(error, "resources");
    if (!grow_resources(snapshot, resource + 1) || (units != 1 && !need_units(snapshot)))
        return fail_memory(error);
    forget_judgement(snapshot);
    snapshot->holder[resource] = NONE;
    if (snapshot->units)
        snapshot->units[resource] = (struct snapshot_units){.total = units};
    snapshot->several |= units > 1;
    snapshot->resource_count = resource + 1;
    if (id)
        *id = resource;
    return GORDIAN_OK;
}

gordian_status gordian_snapshot_add_resource(gordian_snapshot *snapshot, uint64_t units,
                                             uint32_t *id, gordian_error *error)
{
    if (units == 0)
        return fail(error, GORDIAN_STATUS_INPUT, "a resource needs at least one unit");
    return add_any_resource(snapshot, units, id, error);
}

/* ------------------------------------------------------------------ edges */

static gordian_status check_edge(const gordian_snapshot *snapshot, uint32_t process,
                                 uint32_t resource, uint64_t units, gordian_error *error)
{
    if (process >= snapshot->process_count)
        return fail(error, GORDIAN_STATUS_INPUT, "there is no process %" PRIu32, process);
    if (resource >= snapshot->resource_count)
        return fail(error, GORDIAN_STATUS_INPUT, "there is no resource %" PRIu32, resource);
    if (units == 0)
        return fail(error, GORDIAN_STATUS_INPUT, "an edge needs at least one unit");
    return GORDIAN_OK;
}

static gordian_status add_further_edge(gordian_snapshot *snapshot, struct snapshot_edges *edges,
                                       uint32_t process, uint32_t resource, uint64_t units,
                                       gordian_error *error)
{
    if (edges->count >= SNAPSHOT_MAX)
        return fail_too_large(error, "further edges of a kind");
    if (!memory_grow32(&snapshot->memory, &edges->edges, &edges->room, edges->count + 1,
                       sizeof *edges->edges))
        return fail_memory(error);
    edges->edges[edges->count++] = (struct snapshot_edge){units, process, resource};
    return GORDIAN_OK;
}

gordian_status gordian_snapshot_hold(gordian_snapshot *snapshot, uint32_t process,
                                     uint32_t resource, uint64_t units, gordian_error *error)
{
    gordian_status status = check_edge(snapshot, process, resource, units, error);
    if (status != GORDIAN_OK)
        return status;
    uint32_t holder = snapshot->holder[resource];
    struct snapshot_units *of = snapshot->units ? &snapshot->units[resource] : NULL;
    uint64_t total = of ? of->total : 1, held = of ? of->held : holder != NONE;
    if (units > total - held)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "resource %" PRIu32 " has %" PRIu64 " units, %" PRIu64
                    " of them held: process %" PRIu32 " cannot hold %" PRIu64 " more",
                    resource, total, held, process, units);
    if (holder != NONE && holder != process)
        status = add_further_edge(snapshot, &snapshot->holds, process, resource, units, error);
    if (status != GORDIAN_OK)
        return status;
    forget_judgement(snapshot);
    if (holder == NONE)
        snapshot->holder[resource] = process;
    if (of) {
        of->held += units;
        if (snapshot->holder[resource] == process)
            of->first += units;
        snapshot->wide |= units > 1 || of->first > 1;
    }
    return GORDIAN_OK;
}

static uint64_t hash_wait(uint32_t process, uint32_t resource)
{
    return hash_word((uint64_t)process << 32 | resource);
}

static void rehash_waits(const void *context, struct hash *table)
{
    const struct snapshot_edges *waits = context;
    for (uint32_t i = 0; i < waits->count; i++)
        hash_put(table, hash_wait(waits->edges[i].process, waits->edges[i].resource), i);
}

/* Returns a wait beyond the first, or NULL. */
static struct snapshot_edge *find_further_wait(const gordian_snapshot *snapshot, uint32_t process,
                                               uint32_t resource)
{
    struct hash_probe probe = hash_probe(&snapshot->wait_table, hash_wait(process, resource));
    while (hash_meet(&snapshot->wait_table, &probe)) {
        struct snapshot_edge *edge = &snapshot->waits.edges[probe.number];
        if (edge->process == process && edge->resource == resource)
            return edge;
    }
    return NULL;
}

/* Gives every first wait a number of units. */
static bool need_wait_units(gordian_snapshot *snapshot)
{
    if (snapshot->wait_units)
        return true;
    size_t size = sizeof *snapshot->wait_units * snapshot->process_room;
    uint64_t *units = memory_alloc(&snapshot->memory, size);
    if (!units)
        return false;
    for (uint32_t p = 0; p < snapshot->process_count; p++)
        units[p] = 1;
    snapshot->wait_units = units;
    return true;
}

/* Checks a wait for `resource`, of which the same request already wants `before` units. */
static gordian_status check_wait(const gordian_snapshot *snapshot, uint32_t process,
                                 uint32_t resource, uint64_t before, uint64_t units,
                                 gordian_error *error)
{
    uint64_t total = snapshot_total(snapshot, resource);
    if (units <= total && before <= total - units)
        return GORDIAN_OK;
    if (before == 0)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "process %" PRIu32 " waits for %" PRIu64 " units of resource %" PRIu32
                    ", which has %" PRIu64,
                    process, units, resource, total);
    return fail(error, GORDIAN_STATUS_INPUT,
                "process %" PRIu32 " waits for %" PRIu64 " and %" PRIu64
                " units of resource %" PRIu32 ", which has %" PRIu64,
                process, before, units, resource, total);
}

static gordian_status first_wait(gordian_snapshot *snapshot, uint32_t process, uint32_t resource,
                                 uint64_t units, gordian_error *error)
{
    bool new = snapshot->wait[process] == NONE;
    uint64_t before = new ? 0 : snapshot_first_wait(snapshot, process);
    TRY(check_wait(snapshot, process, resource, before, units, error));
    if (before + units > 1 && !need_wait_units(snapshot))
        return fail_memory(error);
    snapshot->wait[process] = resource;
    if (snapshot->wait_units)
        snapshot->wait_units[process] = before + units;
    snapshot->wide |= before + units > 1;
    return GORDIAN_OK;
}

static gordian_status further_wait(gordian_snapshot *snapshot, uint32_t process, uint32_t resource,
                                   uint64_t units, gordian_error *error)
{
    struct snapshot_edges *waits = &snapshot->waits;
    struct snapshot_edge *edge = find_further_wait(snapshot, process, resource);
    uint64_t before = edge ? edge->units : 0;
    TRY(check_wait(snapshot, process, resource, before, units, error));
    if (edge) {
        edge->units += units;
    } else {
        if (!hash_reserve(&snapshot->wait_table, &snapshot->memory, waits->count + 1,
                          waits->count + 1, rehash_waits, waits))
            return fail_memory(error);
        TRY(add_further_edge(snapshot, waits, process, resource, units, error));
        hash_put(&snapshot->wait_table, hash_wait(process, resource), waits->count - 1);
    }
    snapshot->wide |= before + units > 1;
    return GORDIAN_OK;
}

gordian_status gordian_snapshot_wait(gordian_snapshot *snapshot, uint32_t process,
                                     uint32_t resource, uint64_t units, gordian_error *error)
{
    TRY(check_edge(snapshot, process, resource, units, error));
    gordian_status status = GORDIAN_OK;
    uint32_t first = snapshot->wait[process];
    if (first == NONE || first == resource)
        status = first_wait(snapshot, process, resource, units, error);
    else
        status = further_wait(snapshot, process, resource, units, error);
    if (status == GORDIAN_OK)
        forget_judgement(snapshot);
    return status;
}

/* ------------------------------------------------------------------ systems */

static gordian_status copy_graph_nodes(gordian_snapshot *snapshot, const struct rag *graph,
                                       gordian_error *error)
{
    for (uint32_t p = 0; p < graph->process_limit; p++)
        TRY(gordian_snapshot_add_process(snapshot, NULL, error));
    for (uint32_t q = 0; q < graph->resource_limit; q++) {
        uint64_t units = rag_is_resource(graph, q) ? rag_total_units(graph, q) : 0;
        TRY(add_any_resource(snapshot, units, NULL, error));
    }
    return GORDIAN_OK;
}

static gordian_status copy_graph_edges(gordian_snapshot *snapshot, const struct rag *graph,
                                       gordian_error *error)
{
    for (uint32_t q = 0; q < graph->resource_limit; q++) {
        if (!rag_is_resource(graph, q))
            continue;
        struct rag_edge edge;
        for (uint32_t ref = rag_first_holder(graph, q); ref != NONE; ref = edge.next) {
            edge = rag_holder(graph, ref);
            TRY(gordian_snapshot_hold(snapshot, edge.process, q, edge.units, error));
        }
    }
    for (uint32_t p = 0; p < graph->process_limit; p++) {
        if (!rag_is_process(graph, p) || !rag_waits(graph, p))
            continue;
        struct rag_edge edge;
        for (uint32_t ref = p; ref != NONE; ref = edge.next) {
            edge = rag_wanted(graph, ref);
            TRY(gordian_snapshot_wait(snapshot, p, edge.resource, edge.units, error));
        }
    }
    return GORDIAN_OK;
}

gordian_status system_snapshot(gordian_snapshot **out, const gordian_system *system,
                               gordian_error *error)
{
    const struct rag *graph = system_graph(system);
    TRY(gordian_snapshot_open(out, &graph->memory, error));
    gordian_status status = copy_graph_nodes(*out, graph, error);
    THEN(status, copy_graph_edges(*out, graph, error));
    if (status != GORDIAN_OK) {
        gordian_snapshot_close(*out);
        *out = NULL;
    }
    return status;
}

gordian_status gordian_snapshot_take(gordian_snapshot **out, const gordian_system *system,
                                     gordian_error *error)
{
    gordian_system *asked =
        (gordian_system *)system; /* the graph of a shared system needs more for it */
    SYSTEM_SCOPE(system);
    if (system->shared)
        shared_lift_all(asked);
    gordian_status status = system_snapshot(out, system, error);
    if (system->shared)
        shared_drop_all(asked);
    return status;
}

/* ------------------------------------------------------------------ awaits */

gordian_status gordian_snapshot_await(gordian_snapshot *snapshot, uint32_t process,
                                      const uint32_t *others, size_t count, size_t needed,
                                      uint32_t *resource, gordian_error *error)
{
    if (process >= snapshot->process_count)
        return fail(error, GORDIAN_STATUS_INPUT, "there is no process %" PRIu32, process);
    for (size_t i = 0; i < count; i++)
        if (others[i] >= snapshot->process_count)
            return fail(error, GORDIAN_STATUS_INPUT, "there is no process %" PRIu32, others[i]);
    if (needed == 0 || needed > count)
        return fail(error, GORDIAN_STATUS_INPUT, "cannot await %zu acts of %zu processes", needed,
                    count);
    uint32_t *sorted = memory_alloc(&snapshot->memory, count * sizeof *sorted), await;
    if (!sorted)
        return fail_memory(error);
    memcpy(sorted, others, count * sizeof *sorted);
    size_t different = sort_unique_u32(sorted, count); /* the list may have duplicates */
    needed = needed == count ? different : needed;
    gordian_status status = GORDIAN_OK;
    if (needed > different)
        status = fail(error, GORDIAN_STATUS_INPUT, "cannot await %zu acts of %zu processes", needed,
                      different);
    THEN(status, gordian_snapshot_add_resource(snapshot, different, &await, error));
    for (size_t i = 0; i < different && status == GORDIAN_OK; i++)
        status = gordian_snapshot_hold(snapshot, sorted[i], await, 1, error);
    THEN(status, gordian_snapshot_wait(snapshot, process, await, needed, error));
    memory_free(&snapshot->memory, sorted);
    if (status == GORDIAN_OK && resource)
        *resource = await;
    return status;
}
