/*
 * Checks snapshots of any model by graph reduction and strongly connected components (engine.h
 * defines the result).
 *
 * The graph. Its nodes are the processes and, after them, the resources. Resources stay nodes
 * because waiters times holders would be too many edges. An edge leads from a process to each
 * resource it holds, and from a resource to each process that waits for it, those that want the
 * fewest units first. This is against the direction of waiting, which does not matter to strong
 * connection, and it is the order that a reduction needs: free units only grow, so the edges of q
 * shrink from the front, over the waiters whose wish for q is met, each once. The remaining ones
 * are the waiters that lack q.
 *
 * The parts. Each round takes the strongly connected components of the processes left over, keeps
 * the edges inside them, and assumes that all processes outside have finished. A component in which
 * this assumption meets no wish is a part. In every other component the reduction goes on, and the
 * next round takes the processes left over. Multi-unit snapshots and those with one unit of every
 * resource need one round. A mixture of both can be constructed to need many rounds. REFINE_EFFORT
 * keeps the total work linear.
 */
#include "engines/detect/check/general.h"

#include <string.h>

/* Limit of the work: this many edges visited for every edge of the graph, and REFINE_FLOOR more, so
 * that small snapshots are always split completely. Beyond it, a group of processes left over is
 * reported as one part: nothing that other processes do can reduce it, but it might be possible to
 * split it further. */
#define REFINE_EFFORT 64
#define REFINE_FLOOR  (UINT64_C(1) << 22)

static void groups_free(struct groups *groups, const gordian_allocator *memory)
{
    memory_free_all(memory, groups->nodes, groups->ends);
}

/* ------------------------------------------------------------------ parts */

static bool add_node_group(struct general *general, struct groups *groups, const uint32_t *nodes,
                           size_t count)
{
    if (!memory_grow(general->memory, &groups->nodes, &groups->node_room,
                     groups->node_count + count, sizeof *groups->nodes))
        return false;
    memcpy(groups->nodes + groups->node_count, nodes, count * sizeof *nodes);
    groups->node_count += count;
    if (!memory_grow(general->memory, &groups->ends, &groups->room, groups->count + 1,
                     sizeof *groups->ends))
        return false;
    groups->ends[groups->count++] = groups->node_count;
    return true;
}

/* Assumes that all processes outside a component have finished. Returns true if that meets no wish
 * inside. */
static bool is_tight(struct general *general, const uint32_t *nodes, uint32_t count)
{
    uint32_t base = general->process_count;
    for (uint32_t i = 0; i < count; i++) {
        /* Keep the edges of `node` that stay in its component. */
        uint32_t node = nodes[i];
        struct scc_node *record = &general->nodes[node];
        uint32_t component = scc_component(&general->scc, node), kept = record->first;
        general->effort += record->end - record->first;
        for (uint32_t edge = record->first; edge < record->end; edge++) {
            if (scc_component(&general->scc, general->targets[edge]) != component)
                continue;
            general->targets[kept] = general->targets[edge];
            if (general->units)
                general->units[kept] = general->units[edge];
            kept++;
        }
        record->end = kept;
        if (nodes[i] < base)
            general->nodes[nodes[i]].mark = 0;
        else
            general->free[nodes[i] - base] = snapshot_total(general->snapshot, nodes[i] - base);
    }
    for (uint32_t i = 0; i < count; i++) {
        struct scc_node from = general->nodes[nodes[i]];
        for (uint32_t edge = from.first; edge < from.end; edge++) {
            if (nodes[i] < base)
                general->free[general->targets[edge] - base] -= edge_units(general, edge);
            else
                general->nodes[general->targets[edge]].mark++;
        }
    }
    bool tight = true;
    for (uint32_t i = 0; i < count; i++)
        if (nodes[i] >= base && general_meet_wishes(general, nodes[i] - base))
            tight = false;
    return tight;
}

/* Sorts the components of this round into parts and loose ones. */
static bool sift_components(struct general *general)
{
    const struct scc *scc = &general->scc;
    general->loose.node_count = general->loose.count = 0;
    for (uint32_t c = 0; c < scc->count; c++) {
        const uint32_t *nodes = scc->members + scc->starts[c];
        uint32_t count = scc->starts[c + 1] - scc->starts[c];
        if (count == 1)
            continue;
        struct groups *to = is_tight(general, nodes, count) ? &general->parts : &general->loose;
        if (!add_node_group(general, to, nodes, count))
            return false;
    }
    return true;
}

static bool gather_roots(struct general *general, uint32_t *count)
{
    const struct groups *loose = &general->loose;
    if (!memory_grow(general->memory, &general->roots, &general->root_room, loose->node_count,
                     sizeof *general->roots))
        return false;
    *count = 0;
    for (size_t i = 0; i < loose->node_count; i++)
        if (loose->nodes[i] < general->process_count && general->nodes[loose->nodes[i]].mark > 0)
            general->roots[(*count)++] = loose->nodes[i];
    return true;
}

static bool find_irreducible_parts(struct general *general, const struct check_result *result,
                                   uint64_t edges)
{
    if (!scc_open(&general->scc, general->memory, general->nodes, general->targets))
        return false;
    const uint32_t *roots = result->deadlocked;
    uint32_t count = (uint32_t)result->report.deadlocked_count;
    while (count > 0) {
        if (!scc_run(&general->scc, roots, count) || !sift_components(general))
            return false;
        general_reduce_ready(general);
        if (general->effort > REFINE_EFFORT * edges + REFINE_FLOOR) {
            /* The limit is reached: what is left over of each loose component becomes a part. */
            struct groups *loose = &general->loose;
            size_t at = 0;
            for (size_t i = 0; i < loose->count; i++) {
                uint32_t *nodes = loose->nodes + at;
                size_t left = 0;
                for (; at < loose->ends[i]; at++) {
                    const struct scc_node *node = &general->nodes[loose->nodes[at]];
                    bool process = loose->nodes[at] < general->process_count;
                    if (process ? node->mark > 0 : node->first < node->end)
                        nodes[left++] = loose->nodes[at];
                }
                if (left > 0 && !add_node_group(general, &general->parts, nodes, left))
                    return false;
            }
            return true;
        }
        if (!gather_roots(general, &count))
            return false;
        roots = general->roots;
    }
    return true;
}

/* ------------------------------------------------------------------ the result */

/* Numbers the parts by their smallest process and counts their members. `part_of` is indexed by
 * node, `number` by group. */
static void number_part_nodes(const struct general *general, struct check_result *result,
                              uint32_t *part_of, uint32_t *number)
{
    const struct groups *parts = &general->parts;
    memset(part_of, 0xff, sizeof *part_of * general->node_count);
    memset(number, 0xff, sizeof *number * parts->count);
    size_t at = 0;
    for (size_t i = 0; i < parts->count; i++)
        for (; at < parts->ends[i]; at++)
            part_of[parts->nodes[at]] = (uint32_t)i;
    uint32_t next = 0;
    for (size_t i = 0; i < result->report.deadlocked_count; i++) {
        uint32_t group = part_of[result->deadlocked[i]];
        if (group != NONE && number[group] == NONE)
            number[group] = next++;
    }
    for (at = 0; at < parts->node_count; at++) {
        uint32_t node = parts->nodes[at], part = number[part_of[node]];
        part_of[node] = part;
        if (node < general->process_count)
            result->parts[part].process_count++;
        else
            result->parts[part].resource_count++;
    }
}

/* Writes the members of all parts, ascending. The parts' pointers lead to our arrays. */
static void write_part_members(const struct general *general, struct check_result *result,
                               const uint32_t *part_of)
{
    uint32_t *processes = result->processes, *resources = result->resources;
    for (size_t i = 0; i < general->parts.count; i++) {
        gordian_part *part = &result->parts[i];
        part->processes = processes;
        part->resources = resources;
        processes += part->process_count;
        resources += part->resource_count;
        part->process_count = part->resource_count = 0; /* counted again while filling */
    }
    for (uint32_t node = 0; node < general->node_count; node++) {
        if (part_of[node] == NONE)
            continue;
        gordian_part *part = &result->parts[part_of[node]];
        if (node < general->process_count)
            ((uint32_t *)part->processes)[part->process_count++] = node;
        else
            ((uint32_t *)part->resources)[part->resource_count++] = node - general->process_count;
    }
}

static bool list_irreducible_parts(const struct general *general, struct check_result *result)
{
    const struct groups *parts = &general->parts;
    if (parts->count == 0)
        return true;
    const gordian_allocator *memory = general->memory;
    size_t processes = 0;
    for (size_t i = 0; i < parts->node_count; i++)
        processes += parts->nodes[i] < general->process_count;
    size_t resources = parts->node_count - processes;
    uint32_t *part_of = memory_alloc(memory, sizeof *part_of * general->node_count);
    uint32_t *number = memory_alloc(memory, sizeof *number * parts->count);
    result->parts = memory_zeroed(memory, sizeof *result->parts * parts->count);
    result->processes = memory_alloc(memory, sizeof *result->processes * processes);
    result->resources = memory_alloc(memory, sizeof *result->resources * resources);
    bool fine = part_of && number && result->parts && result->processes && result->resources;
    if (fine) {
        number_part_nodes(general, result, part_of, number);
        write_part_members(general, result, part_of);
        result->report.parts = result->parts;
        result->report.part_count = parts->count;
    }
    memory_free_all(memory, part_of, number);
    return fine;
}

static bool judge(const gordian_snapshot *snapshot, uint64_t edges, unsigned threads,
                  struct check_result *result)
{
    struct general general = {
        .snapshot = snapshot,
        .memory = &snapshot->memory,
        .process_count = snapshot->process_count,
        .node_count = snapshot->process_count + snapshot->resource_count,
        .scc = {.memory = snapshot->memory},
        .result = result,
    };
    thread_group_open(&general.group, threads, general.memory);
    pthread_mutex_init(&general.lock, NULL);
    pthread_cond_init(&general.more, NULL);
    bool fine = general_build(&general);
    if (fine) {
        /* The last node's edges end at the end of the array. */
        if (edges == 0 && general.node_count > 0)
            edges = general.nodes[general.node_count - 1].end;
        general_reduce(&general);
        fine = general_list_dead(&general) && find_irreducible_parts(&general, result, edges) &&
               list_irreducible_parts(&general, result);
    }
    memory_free_all(general.memory, general.nodes, general.targets, general.units, general.free,
                    general.ready, general.roots, general.shares);
    groups_free(&general.loose, general.memory);
    groups_free(&general.parts, general.memory);
    scc_close(&general.scc);
    thread_group_close(&general.group);
    pthread_cond_destroy(&general.more);
    pthread_mutex_destroy(&general.lock);
    if (!fine)
        check_result_free(result, &snapshot->memory);
    return fine;
}

bool check_general_within(const gordian_snapshot *snapshot, uint64_t edges,
                          struct check_result *result)
{
    return judge(snapshot, edges, 1, result);
}

bool check_general(const gordian_snapshot *snapshot, unsigned threads, struct check_result *result)
{
    return judge(snapshot, 0, threads, result);
}
