/* The edges of irreducible parts. They are gathered for all parts at the first request, so asking
 * for each of a million parts stays linear. */
#include "engines/detect/check/engine.h"
#include "engines/detect/check/snapshot.h"

#include <string.h>

/* Marks the members of every part. `part_of` is indexed by process and, after them, by resource;
 * `place` by process: its index in result->processes. */
static void mark_members(const gordian_snapshot *snapshot, const struct check_result *result,
                         uint32_t *part_of, uint32_t *place)
{
    uint32_t base = snapshot->process_count;
    memset(part_of, 0xff, sizeof *part_of * ((size_t)base + snapshot->resource_count));
    uint32_t next = 0;
    for (size_t i = 0; i < result->report.part_count; i++) {
        const gordian_part *part = &result->parts[i];
        for (size_t k = 0; k < part->process_count; k++) {
            part_of[part->processes[k]] = (uint32_t)i;
            place[part->processes[k]] = next++;
        }
        for (size_t k = 0; k < part->resource_count; k++)
            part_of[base + part->resources[k]] = (uint32_t)i;
    }
}

/* Edges being gathered. They are only counted while `edges` is NULL. */
struct gathering {
    const uint32_t *part_of;
    uint32_t process_count;
    gordian_edge *edges;
    size_t count;
};

static void gather_edges(struct gathering *to, uint32_t process, uint32_t resource, uint64_t units,
                         bool waits)
{
    uint32_t part = to->part_of[process];
    if (part == NONE || to->part_of[to->process_count + resource] != part)
        return;
    if (to->edges)
        to->edges[to->count] = (gordian_edge){units, process, resource, waits};
    to->count++;
}

static void gather_all_edges(struct gathering *to, const gordian_snapshot *snapshot)
{
    to->count = 0;
    for (uint32_t p = 0; p < snapshot->process_count; p++)
        if (snapshot->wait[p] != NONE)
            gather_edges(to, p, snapshot->wait[p], snapshot_first_wait(snapshot, p), true);
    for (uint32_t i = 0; i < snapshot->waits.count; i++) {
        const struct snapshot_edge *edge = &snapshot->waits.edges[i];
        gather_edges(to, edge->process, edge->resource, edge->units, true);
    }
    for (uint32_t q = 0; q < snapshot->resource_count; q++)
        if (snapshot->holder[q] != NONE)
            gather_edges(to, snapshot->holder[q], q, snapshot_first_hold(snapshot, q), false);
    for (uint32_t i = 0; i < snapshot->holds.count; i++) {
        const struct snapshot_edge *edge = &snapshot->holds.edges[i];
        gather_edges(to, edge->process, edge->resource, edge->units, false);
    }
}

/* Returns the sort key of a pass: the resource, or, with `place`, the process's place, waits first.
 */
static size_t sort_key(const gordian_edge *edge, const uint32_t *place)
{
    return place ? 2 * (size_t)place[edge->process] + !edge->waits : edge->resource;
}

/* One pass of a stable counting sort. `starts` has capacity for one key more. */
static void sort_edge_pass(const gordian_edge *from, gordian_edge *to, size_t count, size_t *starts,
                           size_t keys, const uint32_t *place)
{
    memset(starts, 0, sizeof *starts * (keys + 1));
    for (size_t i = 0; i < count; i++)
        starts[sort_key(&from[i], place) + 1]++;
    for (size_t key = 0; key < keys; key++)
        starts[key + 1] += starts[key];
    for (size_t i = 0; i < count; i++)
        to[starts[sort_key(&from[i], place)]++] = from[i];
}

/* Adds up what one process holds of one resource in several edges, and notes where each part
 * starts. */
static void merge_edges(struct check_result *result, size_t count, const uint32_t *part_of)
{
    gordian_edge *edges = result->edges;
    size_t kept = 0, part = 0;
    for (size_t i = 0; i < count; i++) {
        const gordian_edge *last = kept ? &edges[kept - 1] : NULL;
        if (last && last->process == edges[i].process && last->resource == edges[i].resource &&
            last->waits == edges[i].waits) {
            edges[kept - 1].units += edges[i].units;
            continue;
        }
        while (part <= part_of[edges[i].process])
            result->edge_starts[part++] = kept;
        edges[kept++] = edges[i];
    }
    while (part <= result->report.part_count)
        result->edge_starts[part++] = kept;
}

/* Temporary arrays, always freed at the end. */
struct workspace {
    uint32_t *part_of, *place;
    size_t *starts;
    gordian_edge *spare;
};

static bool gather_sorted(const gordian_snapshot *snapshot, struct check_result *result,
                          struct workspace *work)
{
    const gordian_allocator *memory = &snapshot->memory;
    struct gathering gathering = {work->part_of, snapshot->process_count, NULL, 0};
    gather_all_edges(&gathering, snapshot);
    size_t count = gathering.count, parts = result->report.part_count;
    result->edges = memory_alloc(memory, sizeof *result->edges * count);
    result->edge_starts = memory_alloc(memory, sizeof *result->edge_starts * (parts + 1));
    work->spare = memory_alloc(memory, sizeof *work->spare * count);
    if (!result->edges || !result->edge_starts || !work->spare)
        return false;
    gathering.edges = result->edges;
    gather_all_edges(&gathering, snapshot);
    sort_edge_pass(result->edges, work->spare, count, work->starts, snapshot->resource_count, NULL);
    sort_edge_pass(work->spare, result->edges, count, work->starts,
                   2 * (size_t)snapshot->process_count, work->place);
    merge_edges(result, count, work->part_of);
    return true;
}

bool check_part_edges(const gordian_snapshot *snapshot, struct check_result *result)
{
    const gordian_allocator *memory = &snapshot->memory;
    size_t processes = snapshot->process_count, resources = snapshot->resource_count;
    size_t keys = 2 * processes > resources ? 2 * processes : resources;
    struct workspace work = {0};
    work.part_of = memory_alloc(memory, sizeof *work.part_of * (processes + resources));
    work.place = memory_alloc(memory, sizeof *work.place * processes);
    work.starts = memory_alloc(memory, sizeof *work.starts * (keys + 1));
    bool fine = work.part_of && work.place && work.starts;
    if (fine) {
        mark_members(snapshot, result, work.part_of, work.place);
        fine = gather_sorted(snapshot, result, &work);
    }
    if (!fine) {
        memory_free_all(memory, result->edges, result->edge_starts);
        result->edges = NULL;
        result->edge_starts = NULL;
    }
    memory_free_all(memory, work.part_of, work.place, work.starts, work.spare);
    return fine;
}
