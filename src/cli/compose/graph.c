/* A graph that was composed before and read from a file: its size, and its nearest deadlock. */
#include "base/error.h"
#include "base/memory.h"
#include "cli/compose/compose.h"

/* Breadth first from the initial states: by which arc each state was reached first. */
struct search {
    const struct graph *graph;
    uint32_t *queue;
    uint32_t *by; /* arc + 1; 0: not reached; UINT32_MAX: initial */
    uint32_t *from;
    uint32_t reached;
};

static void reach(struct search *search, uint32_t state, uint32_t by, uint32_t from)
{
    if (search->by[state])
        return;
    search->by[state] = by;
    search->from[state] = from;
    search->queue[search->reached++] = state;
}

static void count_states(struct search *search, struct composed *composed)
{
    const struct graph *graph = search->graph;
    bool found = false;
    for (size_t i = 0; i < graph->initial_count; i++)
        reach(search, graph->initial[i], UINT32_MAX, 0);
    for (uint32_t next = 0; next < search->reached; next++) {
        uint32_t state = search->queue[next];
        for (size_t i = graph->first[state]; i < graph->first[state + 1]; i++)
            reach(search, graph->arcs[i].to, (uint32_t)i + 1, state);
        composed->result.transitions += graph->first[state + 1] - graph->first[state];
        if (!graph_is_deadlock(graph, state))
            continue;
        composed->result.deadlocks++;
        if (!found)
            composed->nearest_state = state;
        found = true;
    }
    composed->result.states = search->reached;
}

static gordian_status keep_way(const struct search *search, struct composed *composed,
                               gordian_error *error)
{
    gordian_allocator memory = memory_allocator(NULL);
    size_t steps = 0;
    uint32_t end = composed->nearest_state;
    if (composed->result.deadlocks == 0)
        return GORDIAN_OK;
    for (uint32_t s = end; search->by[s] != UINT32_MAX; s = search->from[s])
        steps++;
    composed->nearest = memory_alloc(&memory, (steps + 1) * sizeof *composed->nearest);
    if (!composed->nearest)
        return fail_memory(error);
    composed->nearest_count = steps;
    for (uint32_t s = end; search->by[s] != UINT32_MAX; s = search->from[s])
        composed->nearest[--steps] = search->by[s] - 1;
    return GORDIAN_OK;
}

gordian_status graph_summarise(struct composed *composed, const struct graph *graph,
                               gordian_error *error)
{
    gordian_allocator memory = memory_allocator(NULL);
    size_t size = ((size_t)graph->state_count + 1) * sizeof(uint32_t);
    struct search search = {.graph = graph,
                            .queue = memory_alloc(&memory, size),
                            .by = memory_zeroed(&memory, size),
                            .from = memory_zeroed(&memory, size)};
    gordian_status status = GORDIAN_OK;
    composed->counted = true;
    composed->result.engine = "graph";
    if (graph->arc_count >= UINT32_MAX - 1)
        status = fail(error, GORDIAN_STATUS_MEMORY, "too many transitions for a graph in memory");
    else if (!search.queue || !search.by || !search.from)
        status = fail_memory(error);
    if (status == GORDIAN_OK) {
        count_states(&search, composed);
        status = keep_way(&search, composed, error);
    }
    memory_free(&memory, search.queue);
    memory_free(&memory, search.by);
    memory_free(&memory, search.from);
    return status;
}
