#include "engines/compose/graph/components.h"

#include "foundation/base/error.h"

/* The hidden arcs as the search wants them; `targets` NULL: only counts them. */
static size_t list_hidden(const gordian_graph *graph, const uint32_t *new_of,
                          struct scc_node *nodes, uint32_t *targets)
{
    size_t count = 0;
    for (uint32_t s = 0; s < graph->state_count; s++) {
        nodes[s].first = (uint32_t)count;
        for (size_t i = graph->first[s]; i < graph->first[s + 1]; i++) {
            if (!arc_is_hidden(new_of, &graph->arcs[i]))
                continue;
            if (targets)
                targets[count] = graph->arcs[i].to;
            count++;
        }
        nodes[s].end = (uint32_t)count;
    }
    return count;
}

gordian_status components_find(struct components *parts, const gordian_graph *graph,
                               const uint32_t *new_of, gordian_error *error)
{
    const gordian_allocator *memory = &graph->memory;
    *parts = (struct components){.scc.memory = *memory};
    parts->nodes = memory_zeroed(memory, graph->state_count * sizeof *parts->nodes);
    if (!parts->nodes)
        return fail_memory(error);
    size_t count = list_hidden(graph, new_of, parts->nodes, NULL);
    if (count > UINT32_MAX)
        return fail(error, GORDIAN_STATUS_INPUT, "more than %u hidden transitions", UINT32_MAX);
    parts->targets = memory_alloc(memory, count * sizeof *parts->targets);
    if (!parts->targets)
        return fail_memory(error);
    list_hidden(graph, new_of, parts->nodes, parts->targets);
    return scc_open(&parts->scc, memory, parts->nodes, parts->targets) &&
                   scc_run(&parts->scc, NULL, graph->state_count)
               ? GORDIAN_OK
               : fail_memory(error);
}

void components_free(struct components *parts)
{
    if (!parts->nodes)
        return;
    memory_free_all(&parts->scc.memory, parts->nodes, parts->targets);
    scc_close(&parts->scc);
    *parts = (struct components){0};
}
