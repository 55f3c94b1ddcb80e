/* Cycles of hidden steps. */
#include "base/error.h"
#include "compose/graph/components.h"
#include "compose/graph/operations.h"

#include <string.h>

void livelock_free(struct livelock *livelock)
{
    if (livelock->path)
        memory_free(&livelock->memory, livelock->path);
    if (livelock->cycle)
        memory_free(&livelock->memory, livelock->cycle);
    *livelock = (struct livelock){.memory = livelock->memory};
}

struct looking {
    const struct graph *graph;
    const uint32_t *new_of; /* labels, TAU: hidden */
    struct components parts;
    uint32_t *queue;
    size_t *by; /* the arc a state was reached by + 1; 0: not reached; SIZE_MAX: at the start */
    uint32_t found;
};

static void reach(struct looking *looking, uint32_t state, size_t by)
{
    if (looking->by[state])
        return;
    looking->by[state] = by;
    looking->queue[looking->found++] = state;
}

/* Is there a cycle of hidden steps through this state? In a component of several states there is;
 * a single one needs a loop. A hidden loop is a step like any other; idling is not written down. */
static bool on_cycle(const struct looking *looking, uint32_t state)
{
    const struct graph *graph = looking->graph;
    const struct scc *scc = &looking->parts.scc;
    uint32_t c = scc_component(scc, state);
    if (scc->starts[c + 1] - scc->starts[c] > 1)
        return true;
    for (size_t i = graph->first[state]; i < graph->first[state + 1]; i++)
        if (graph->arcs[i].to == state && arc_is_hidden(looking->new_of, &graph->arcs[i]))
            return true;
    return false;
}

static uint32_t source_of(const struct graph *graph, size_t arc)
{
    uint32_t low = 0, high = graph->state_count - 1; /* first[low] <= arc < first[high + 1] */
    while (low < high) {
        uint32_t middle = low + (high - low + 1) / 2;
        if (graph->first[middle] <= arc)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* The arcs that led to `state`, back to the start of the search. */
static gordian_status way_to(const struct looking *looking, uint32_t state, size_t last,
                             size_t **arcs, size_t *count, const gordian_allocator *memory,
                             gordian_error *error)
{
    size_t length = last != SIZE_MAX;
    for (uint32_t s = state; looking->by[s] != SIZE_MAX;
         s = source_of(looking->graph, looking->by[s] - 1))
        length++;
    *arcs = memory_alloc(memory, length * sizeof **arcs);
    if (!*arcs)
        return fail_memory(error);
    *count = length;
    if (last != SIZE_MAX)
        (*arcs)[--length] = last;
    for (uint32_t s = state; looking->by[s] != SIZE_MAX;
         s = source_of(looking->graph, looking->by[s] - 1))
        (*arcs)[--length] = looking->by[s] - 1;
    return GORDIAN_OK;
}

/* Everything reachable, nearest first; counts those on cycles. */
static gordian_status find_nearest(struct looking *looking, struct livelock *livelock,
                                   gordian_error *error)
{
    const struct graph *graph = looking->graph;
    memset(looking->by, 0, graph->state_count * sizeof *looking->by);
    looking->found = 0;
    for (size_t i = 0; i < graph->initial_count; i++)
        reach(looking, graph->initial[i], SIZE_MAX);
    for (uint32_t at = 0; at < looking->found; at++) {
        uint32_t s = looking->queue[at];
        if (on_cycle(looking, s) && livelock->states++ == 0)
            livelock->state = s;
        for (size_t i = graph->first[s]; i < graph->first[s + 1]; i++)
            reach(looking, graph->arcs[i].to, i + 1);
    }
    return livelock->states == 0 ? GORDIAN_OK
                                 : way_to(looking, livelock->state, SIZE_MAX, &livelock->path,
                                          &livelock->path_count, &livelock->memory, error);
}

/* The shortest way back to the state along hidden steps. */
static gordian_status find_cycle(struct looking *looking, struct livelock *livelock,
                                 gordian_error *error)
{
    const struct graph *graph = looking->graph;
    memset(looking->by, 0, graph->state_count * sizeof *looking->by);
    looking->found = 0;
    reach(looking, livelock->state, SIZE_MAX);
    for (uint32_t at = 0; at < looking->found; at++) {
        uint32_t s = looking->queue[at];
        for (size_t i = graph->first[s]; i < graph->first[s + 1]; i++) {
            if (!arc_is_hidden(looking->new_of, &graph->arcs[i]))
                continue;
            if (graph->arcs[i].to == livelock->state)
                return way_to(looking, s, i, &livelock->cycle, &livelock->cycle_count,
                              &livelock->memory, error);
            reach(looking, graph->arcs[i].to, i + 1);
        }
    }
    return GORDIAN_OK;
}

gordian_status graph_livelock(const struct graph *graph, const struct hiding *hiding,
                              struct livelock *livelock, gordian_error *error)
{
    const gordian_allocator *memory = &graph->memory;
    struct label_table labels;
    struct looking looking = {.graph = graph};
    *livelock = (struct livelock){.memory = *memory};
    gordian_status status = labels_init(&labels, memory, error);
    if (status != GORDIAN_OK)
        return status;
    uint32_t *new_of = memory_alloc(memory, graph->labels.count * sizeof *new_of);
    looking.queue = memory_alloc(memory, graph->state_count * sizeof *looking.queue);
    looking.by = memory_alloc(memory, graph->state_count * sizeof *looking.by);
    looking.new_of = new_of;
    if (!new_of || !looking.queue || !looking.by)
        status = fail_memory(error);
    if (status == GORDIAN_OK)
        status = hidden_labels(graph, hiding, &labels, new_of, error);
    if (status == GORDIAN_OK)
        status = components_find(&looking.parts, graph, new_of, error);
    if (status == GORDIAN_OK)
        status = find_nearest(&looking, livelock, error);
    if (status == GORDIAN_OK && livelock->states > 0)
        status = find_cycle(&looking, livelock, error);
    components_free(&looking.parts);
    labels_free(&labels);
    memory_free(memory, new_of);
    memory_free(memory, looking.queue);
    memory_free(memory, looking.by);
    if (status != GORDIAN_OK)
        livelock_free(livelock);
    return status;
}
