/* Finds the nearest deadlock, the nearest cycle of hidden steps (livelock), and the paths to
 * them. */
#include "engines/compose/graph/components.h"
#include "engines/compose/graph/graph.h"
#include "foundation/base/error.h"

#include <string.h>

void gordian_livelock_free(gordian_livelock *livelock)
{
    memory_free_all(&livelock->allocator, livelock->path, livelock->cycle);
    *livelock = (gordian_livelock){.allocator = livelock->allocator};
}

void gordian_graph_deadlocks_free(gordian_graph_deadlocks *found)
{
    memory_free(&found->allocator, found->path);
    *found = (gordian_graph_deadlocks){.allocator = found->allocator};
}

/* ------------------------------------------------------------------ breadth first */

struct search {
    const gordian_graph *graph;
    const uint32_t *new_of; /* labels after hiding; TAU: hidden */
    struct components parts;
    uint32_t *queue;
    /* 1 + the arc that reached a state; 0: not reached; SIZE_MAX: the search began there */
    size_t *by;
    uint32_t found;
};

static gordian_status search_open(struct search *search, const gordian_graph *graph,
                                  gordian_error *error)
{
    *search = (struct search){.graph = graph};
    search->queue = memory_alloc(&graph->memory, graph->state_count * sizeof *search->queue);
    search->by = memory_alloc(&graph->memory, graph->state_count * sizeof *search->by);
    return search->queue && search->by ? GORDIAN_OK : fail_memory(error);
}

static void search_close(struct search *search)
{
    memory_free_all(&search->graph->memory, search->queue, search->by);
}

static void reach_by_arc(struct search *search, uint32_t state, size_t by)
{
    if (search->by[state])
        return;
    search->by[state] = by;
    search->queue[search->found++] = state;
}

static void restart_search(struct search *search)
{
    memset(search->by, 0, search->graph->state_count * sizeof *search->by);
    search->found = 0;
}

static void start_at_initial(struct search *search)
{
    restart_search(search);
    for (size_t i = 0; i < search->graph->initial_count; i++)
        reach_by_arc(search, search->graph->initial[i], SIZE_MAX);
}

static void reach_successors(struct search *search, uint32_t state)
{
    const gordian_graph *graph = search->graph;
    for (size_t i = graph->first[state]; i < graph->first[state + 1]; i++)
        reach_by_arc(search, graph->arcs[i].to, i + 1);
}

static uint32_t source_of(const gordian_graph *graph, size_t arc)
{
    /* Invariant: first[low] <= arc < first[high + 1]. */
    uint32_t low = 0, high = graph->state_count - 1;
    while (low < high) {
        uint32_t middle = low + (high - low + 1) / 2;
        if (graph->first[middle] <= arc)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* Returns the arcs from the start of the search to `state`. */
static gordian_status path_to(const struct search *search, uint32_t state, size_t last,
                              gordian_graph_arc **arcs, size_t *count,
                              const gordian_allocator *memory, gordian_error *error)
{
    size_t length = last != SIZE_MAX;
    for (uint32_t s = state; search->by[s] != SIZE_MAX;
         s = source_of(search->graph, search->by[s] - 1))
        length++;
    *arcs = memory_alloc(memory, length * sizeof **arcs);
    if (!*arcs)
        return fail_memory(error);
    *count = length;
    if (last != SIZE_MAX)
        (*arcs)[--length] = search->graph->arcs[last];
    for (uint32_t s = state; search->by[s] != SIZE_MAX;
         s = source_of(search->graph, search->by[s] - 1))
        (*arcs)[--length] = search->graph->arcs[search->by[s] - 1];
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ deadlocks */

gordian_status gordian_graph_find_deadlocks(const gordian_graph *graph,
                                            gordian_graph_deadlocks *found, gordian_error *error)
{
    struct search search;
    *found = (gordian_graph_deadlocks){.allocator = graph->memory};
    gordian_status status = search_open(&search, graph, error);
    if (status == GORDIAN_OK)
        start_at_initial(&search);
    for (; found->states < search.found; found->states++) {
        uint32_t s = search.queue[found->states];
        reach_successors(&search, s);
        found->transitions += graph->first[s + 1] - graph->first[s];
        if (graph_is_deadlock(graph, s) && found->deadlocks++ == 0)
            found->state = s;
    }
    if (found->deadlocks > 0)
        status = path_to(&search, found->state, SIZE_MAX, &found->path, &found->path_count,
                         &found->allocator, error);
    search_close(&search);
    if (status != GORDIAN_OK)
        gordian_graph_deadlocks_free(found);
    return status;
}

/* ------------------------------------------------------------------ livelocks */

/* Is there a cycle of hidden steps through this state? There is in a component of several states; a
 * single state needs a loop. A hidden loop is a step, unlike idling, which is not stored. */
static bool on_cycle(const struct search *search, uint32_t state)
{
    const gordian_graph *graph = search->graph;
    const struct scc *scc = &search->parts.scc;
    uint32_t c = scc_component(scc, state);
    if (scc->starts[c + 1] - scc->starts[c] > 1)
        return true;
    for (size_t i = graph->first[state]; i < graph->first[state + 1]; i++)
        if (graph->arcs[i].to == state && arc_is_hidden(search->new_of, &graph->arcs[i]))
            return true;
    return false;
}

/* Searches breadth-first and counts the states on cycles. */
static gordian_status find_nearest(struct search *search, gordian_livelock *livelock,
                                   gordian_error *error)
{
    start_at_initial(search);
    for (uint32_t at = 0; at < search->found; at++) {
        uint32_t s = search->queue[at];
        if (on_cycle(search, s) && livelock->states++ == 0)
            livelock->state = s;
        reach_successors(search, s);
    }
    return livelock->states == 0 ? GORDIAN_OK
                                 : path_to(search, livelock->state, SIZE_MAX, &livelock->path,
                                           &livelock->path_count, &livelock->allocator, error);
}

/* Finds the shortest cycle of hidden steps through the state. */
static gordian_status find_hidden_cycle(struct search *search, gordian_livelock *livelock,
                                        gordian_error *error)
{
    const gordian_graph *graph = search->graph;
    restart_search(search);
    reach_by_arc(search, livelock->state, SIZE_MAX);
    for (uint32_t at = 0; at < search->found; at++) {
        uint32_t s = search->queue[at];
        for (size_t i = graph->first[s]; i < graph->first[s + 1]; i++) {
            if (!arc_is_hidden(search->new_of, &graph->arcs[i]))
                continue;
            if (graph->arcs[i].to == livelock->state)
                return path_to(search, s, i, &livelock->cycle, &livelock->cycle_count,
                               &livelock->allocator, error);
            reach_by_arc(search, graph->arcs[i].to, i + 1);
        }
    }
    return GORDIAN_OK;
}

gordian_status gordian_graph_livelock(const gordian_graph *graph, const gordian_hiding *hiding,
                                      gordian_livelock *livelock, gordian_error *error)
{
    const gordian_allocator *memory = &graph->memory;
    struct label_table labels;
    struct search search;
    *livelock = (gordian_livelock){.allocator = *memory};
    TRY(labels_init(&labels, memory, error));
    uint32_t *new_of = memory_alloc(memory, graph->labels.count * sizeof *new_of);
    gordian_status status = search_open(&search, graph, error);
    search.new_of = new_of;
    if (!new_of)
        status = fail_memory(error);
    THEN(status, hidden_labels(graph, hiding, &labels, new_of, error));
    THEN(status, components_find(&search.parts, graph, new_of, error));
    THEN(status, find_nearest(&search, livelock, error));
    if (status == GORDIAN_OK && livelock->states > 0)
        status = find_hidden_cycle(&search, livelock, error);
    components_free(&search.parts);
    labels_free(&labels);
    memory_free(memory, new_of);
    search_close(&search);
    if (status != GORDIAN_OK)
        gordian_livelock_free(livelock);
    return status;
}
