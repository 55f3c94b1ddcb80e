/* Labelled transition graphs in memory: building and sorting them (graph.h). */
#include "engines/compose/graph/graph.h"

#include "foundation/base/error.h"

#include <stdlib.h>
#include <string.h>

gordian_status graph_new(gordian_graph **out, const gordian_allocator *memory, gordian_error *error)
{
    *out = NULL;
    gordian_graph *graph = memory_zeroed(memory, sizeof *graph);
    if (!graph)
        return fail_memory(error);
    graph->memory = *memory;
    gordian_status status = labels_init(&graph->labels, memory, error);
    if (status == GORDIAN_OK &&
        !memory_grow_zeroed(memory, &graph->first, &graph->first_room, 1, sizeof *graph->first))
        status = fail_memory(error);
    if (status == GORDIAN_OK)
        *out = graph;
    else
        gordian_graph_close(graph);
    return status;
}

void gordian_graph_close(gordian_graph *graph)
{
    if (!graph)
        return;
    gordian_allocator memory = graph->memory;
    labels_free(&graph->labels);
    memory_free_all(&memory, graph->initial, graph->first, graph->arcs, graph);
}

gordian_status graph_state(gordian_graph *graph, gordian_error *error)
{
    if (graph->state_count == GRAPH_STATES_MAX)
        return fail(error, GORDIAN_STATUS_MEMORY,
                    "more than %u states do not fit a graph in memory", (unsigned)GRAPH_STATES_MAX);
    if (!memory_grow(&graph->memory, &graph->first, &graph->first_room,
                     (size_t)graph->state_count + 2, sizeof *graph->first))
        return fail_memory(error);
    graph->state_count++;
    graph->first[graph->state_count] = graph->arc_count;
    return GORDIAN_OK;
}

gordian_status graph_arc(gordian_graph *graph, uint32_t label, uint32_t to, gordian_error *error)
{
    if (!memory_extend(&graph->memory, graph->arcs, graph->arc_room, graph->arc_count))
        return fail_memory(error);
    graph->arcs[graph->arc_count++] = (gordian_graph_arc){label, to};
    graph->first[graph->state_count] = graph->arc_count;
    return GORDIAN_OK;
}

gordian_status graph_initial(gordian_graph *graph, uint32_t state, gordian_error *error)
{
    size_t at = graph->initial_count; /* if the states come in order, nothing moves */
    while (at > 0 && graph->initial[at - 1] >= state)
        at--;
    if (at < graph->initial_count && graph->initial[at] == state)
        return GORDIAN_OK;
    if (!memory_extend(&graph->memory, graph->initial, graph->initial_room, graph->initial_count))
        return fail_memory(error);
    memmove(graph->initial + at + 1, graph->initial + at,
            (graph->initial_count - at) * sizeof *graph->initial);
    graph->initial[at] = state;
    graph->initial_count++;
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ order */

struct ranked {
    const char *text;
    uint32_t label;
};

/* Is this the end of a name in a label? */
static bool ends_name(char c)
{
    return c == '\0' || c == '|' || c == '=';
}

/* Compares the names of two labels as lists, without the data. */
static int compare_label_names(const char *left, const char *right)
{
    for (;;) {
        while (!ends_name(*left) && *left == *right) {
            left++;
            right++;
        }
        if (!ends_name(*left) || !ends_name(*right)) {
            unsigned char one = ends_name(*left) ? 0 : (unsigned char)*left;
            unsigned char other = ends_name(*right) ? 0 : (unsigned char)*right;
            return one < other ? -1 : 1;
        }
        left += strcspn(left, "|");
        right += strcspn(right, "|");
        if (!*left || !*right)
            return !*left && !*right ? 0 : *left ? 1 : -1;
        left++;
        right++;
    }
}

static int compare_ranked(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    int names = compare_label_names(a->text, b->text);
    return names ? names : strcmp(a->text, b->text);
}

/* rank[label]: its position in the order of labels. */
static uint32_t *rank_labels(const struct label_table *labels, const gordian_allocator *memory)
{
    struct ranked *sorted = memory_alloc(memory, labels->count * sizeof *sorted);
    uint32_t *rank = memory_alloc(memory, labels->count * sizeof *rank);
    if (sorted && rank) {
        for (uint32_t i = 0; i < labels->count; i++)
            sorted[i] = (struct ranked){labels_text(labels, i), i};
        qsort(sorted, labels->count, sizeof *sorted, compare_ranked);
        for (uint32_t i = 0; i < labels->count; i++)
            rank[sorted[i].label] = i;
    } else {
        memory_free(memory, rank);
        rank = NULL;
    }
    memory_free(memory, sorted);
    return rank;
}

int graph_compare_arcs(const void *left, const void *right)
{
    const gordian_graph_arc *a = left, *b = right;
    if (a->label != b->label)
        return a->label < b->label ? -1 : 1;
    return (a->to > b->to) - (a->to < b->to);
}

gordian_status graph_finish(gordian_graph *graph, gordian_error *error)
{
    if (graph->initial_count == 0)
        return fail(error, GORDIAN_STATUS_INPUT, "there is no initial state");
    for (size_t i = 0; i < graph->initial_count; i++)
        if (graph->initial[i] >= graph->state_count)
            return fail(error, GORDIAN_STATUS_INPUT, "initial state %u: there are only %u states",
                        graph->initial[i], graph->state_count);
    for (size_t i = 0; i < graph->arc_count; i++)
        if (graph->arcs[i].to >= graph->state_count)
            return fail(error, GORDIAN_STATUS_INPUT,
                        "a transition to state %u: there are only %u states", graph->arcs[i].to,
                        graph->state_count);
    uint32_t *rank = rank_labels(&graph->labels, &graph->memory);
    uint32_t *label_at = memory_alloc(&graph->memory, graph->labels.count * sizeof *label_at);
    if (!rank || !label_at) {
        memory_free_all(&graph->memory, rank, label_at);
        return fail_memory(error);
    }
    for (uint32_t i = 0; i < graph->labels.count; i++)
        label_at[rank[i]] = i;
    size_t kept = 0;
    for (uint32_t s = 0; s < graph->state_count; s++) {
        size_t start = graph->first[s], end = graph->first[s + 1];
        for (size_t i = start; i < end; i++)
            graph->arcs[i].label = rank[graph->arcs[i].label];
        if (end > start)
            qsort(graph->arcs + start, end - start, sizeof *graph->arcs, graph_compare_arcs);
        graph->first[s] = kept;
        for (size_t i = start; i < end; i++)
            if (i == start || graph_compare_arcs(&graph->arcs[i - 1], &graph->arcs[i]) != 0)
                graph->arcs[kept++] = graph->arcs[i];
    }
    graph->first[graph->state_count] = kept;
    graph->arc_count = kept;
    for (size_t i = 0; i < kept; i++)
        graph->arcs[i].label = label_at[graph->arcs[i].label];
    memory_free_all(&graph->memory, rank, label_at);
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ other constructors */

gordian_status graph_build(gordian_graph **out, struct label_table *labels, uint32_t state_count,
                           uint32_t initial, const uint32_t *from, const gordian_graph_arc *arcs,
                           size_t count, const gordian_allocator *memory, gordian_error *error)
{
    gordian_graph *graph;
    gordian_status status = graph_new(&graph, memory, error);
    *out = NULL;
    if (status != GORDIAN_OK)
        return status;
    for (size_t i = 0; i < count; i++) {
        if (from[i] >= state_count) {
            gordian_graph_close(graph);
            return fail(error, GORDIAN_STATUS_INPUT,
                        "a transition from state %u: there are only %u states", from[i],
                        state_count);
        }
    }
    if (!memory_grow_zeroed(memory, &graph->first, &graph->first_room, (size_t)state_count + 2,
                            sizeof *graph->first) ||
        !memory_grow(memory, &graph->arcs, &graph->arc_room, count, sizeof *graph->arcs)) {
        gordian_graph_close(graph);
        return fail_memory(error);
    }
    memset(graph->first, 0, ((size_t)state_count + 2) * sizeof *graph->first);
    size_t *next = graph->first + 1; /* shifted by one: the counts become the starts */
    for (size_t i = 0; i < count; i++)
        next[from[i] + 1]++;
    for (size_t s = 1; s <= state_count; s++)
        next[s] += next[s - 1];
    for (size_t i = 0; i < count; i++)
        graph->arcs[next[from[i]]++] = arcs[i];
    graph->state_count = state_count;
    graph->arc_count = count;
    struct label_table own = graph->labels;
    graph->labels = *labels;
    status = graph_initial(graph, initial, error);
    THEN(status, graph_finish(graph, error));
    if (status != GORDIAN_OK) { /* the caller keeps the labels */
        graph->labels = own;
        gordian_graph_close(graph);
        return status;
    }
    labels_free(&own);
    *labels = (struct label_table){.memory = *memory};
    *out = graph;
    return GORDIAN_OK;
}
