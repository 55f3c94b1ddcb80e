/* Hides names. For every strongly connected component of hidden steps, from the last component
 * backwards, the visible steps after its hidden steps are computed once: each component inherits
 * the visible steps of its successors. So cycles of hidden steps need no special treatment. */
#include "engines/compose/circuit/circuit.h"
#include "engines/compose/graph/components.h"
#include "engines/compose/graph/graph.h"
#include "foundation/base/bits.h"
#include "foundation/base/error.h"
#include "foundation/base/io/output.h"
#include "foundation/base/sort.h"

#include <stdlib.h>
#include <string.h>

static bool hides_inner(void *context, const char *name, size_t length)
{
    const gordian_circuit *circuit = context;
    uint32_t number = names_find(&circuit->names, name, length);
    return number == GORDIAN_NONE || !circuit->boundary[number];
}

gordian_hiding gordian_hide_inner(const gordian_circuit *circuit)
{
    return (gordian_hiding){hides_inner, (void *)circuit};
}

/* ------------------------------------------------------------------ labels */

gordian_status hidden_labels(const gordian_graph *graph, const gordian_hiding *hiding,
                             struct label_table *labels, uint32_t *new_of, gordian_error *error)
{
    struct output text;
    gordian_status status = GORDIAN_OK;
    if (!output_open(&text, -1))
        return fail_memory(error);
    for (uint32_t i = 0; i < graph->labels.count && status == GORDIAN_OK; i++) {
        if (i == LABEL_TAU) {
            new_of[i] = LABEL_TAU;
            continue;
        }
        /* Writes the label without hidden names to `text`; "tau" if no name is left. */
        const char *label = labels_text(&graph->labels, i);
        struct label_part part;
        text.used = 0;
        while (label_next(&label, &part)) {
            if (hiding->hides(hiding->context, part.name, part.name_length))
                continue;
            if (text.used > 0)
                output_char(&text, '|');
            output_bytes(&text, part.name, part.length);
        }
        if (text.used == 0)
            output_text(&text, "tau");
        status = text.failure ? fail_memory(error)
                              : labels_put(labels, text.buffer, text.used, &new_of[i], error);
    }
    output_close(&text);
    return status;
}

/* ------------------------------------------------------------------ components of hidden steps */

/* Lists the hidden arcs for the search of components. `targets` NULL: only counts them. */
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

/* ------------------------------------------------------------------ hiding */

struct hider {
    const gordian_graph *graph;
    gordian_allocator memory;
    gordian_graph *result;
    uint32_t *new_of; /* labels */
    struct components parts;

    /* The visible steps of a component and of all components reachable by hidden steps:
     * steps[first[c]] .. steps[first[c+1]-1], sorted, without duplicates. */
    gordian_graph_arc *steps;
    size_t *first;
    size_t step_count, step_room;

    uint32_t *seen_in; /* by component: the last one that inherited its steps, from 1 */
    uint32_t *queue;
    uint32_t *number; /* of a state that is kept; NONE */
    uint32_t found;
};

static bool add_step(struct hider *hider, gordian_graph_arc step)
{
    if (!memory_extend(&hider->memory, hider->steps, hider->step_room, hider->step_count))
        return false;
    hider->steps[hider->step_count++] = step;
    return true;
}

/* Component c inherits steps along a hidden arc. */
static bool inherit_steps(struct hider *hider, uint32_t c, uint32_t from)
{
    if (from == c || hider->seen_in[from] == c + 1)
        return true;
    hider->seen_in[from] = c + 1;
    for (size_t i = hider->first[from]; i < hider->first[from + 1]; i++)
        if (!add_step(hider, hider->steps[i]))
            return false;
    return true;
}

static bool collect_steps(struct hider *hider, uint32_t c)
{
    const gordian_graph *graph = hider->graph;
    const struct scc *scc = &hider->parts.scc;
    size_t start = hider->step_count;
    hider->first[c] = start;
    for (uint32_t m = scc->starts[c]; m < scc->starts[c + 1]; m++) {
        uint32_t s = scc->members[m];
        for (size_t i = graph->first[s]; i < graph->first[s + 1]; i++) {
            const gordian_graph_arc *arc = &graph->arcs[i];
            uint32_t label = hider->new_of[arc->label];
            bool fine = label == LABEL_TAU ? inherit_steps(hider, c, scc_component(scc, arc->to))
                                           : add_step(hider, (gordian_graph_arc){label, arc->to});
            if (!fine)
                return false;
        }
    }
    size_t kept = start;
    if (hider->step_count > start)
        qsort(hider->steps + start, hider->step_count - start, sizeof *hider->steps,
              graph_compare_arcs);
    for (size_t i = start; i < hider->step_count; i++)
        if (i == start || graph_compare_arcs(&hider->steps[i - 1], &hider->steps[i]) != 0)
            hider->steps[kept++] = hider->steps[i];
    hider->step_count = kept;
    hider->first[c + 1] = kept;
    return true;
}

static void reach_visible(struct hider *hider, uint32_t state)
{
    if (hider->number[state] != GORDIAN_NONE)
        return;
    hider->number[state] = 0;
    hider->queue[hider->found++] = state;
}

/* Marks the initial states and the states that visible steps reach. The first `initial_count`
 * entries of the queue are the initial states. */
static uint32_t explore_visible(struct hider *hider)
{
    const gordian_graph *graph = hider->graph;
    memset(hider->number, 0xff, graph->state_count * sizeof(uint32_t));
    for (size_t i = 0; i < graph->initial_count; i++)
        reach_visible(hider, graph->initial[i]);
    for (uint32_t at = 0; at < hider->found; at++) {
        uint32_t s = hider->queue[at];
        for (size_t i = graph->first[s]; i < graph->first[s + 1]; i++)
            if (hider->new_of[graph->arcs[i].label] == LABEL_TAU)
                reach_visible(hider, graph->arcs[i].to);
    }
    uint32_t initial_count = hider->found;
    for (uint32_t at = 0; at < hider->found; at++) {
        uint32_t c = scc_component(&hider->parts.scc, hider->queue[at]);
        for (size_t i = hider->first[c]; i < hider->first[c + 1]; i++)
            reach_visible(hider, hider->steps[i].to);
    }
    return initial_count;
}

static gordian_status write_hidden_graph(struct hider *hider, uint32_t initial_count,
                                         gordian_error *error)
{
    const gordian_graph *graph = hider->graph;
    uint32_t next = 0;
    for (uint32_t s = 0; s < graph->state_count; s++)
        if (hider->number[s] != GORDIAN_NONE)
            hider->number[s] = next++;
    for (uint32_t s = 0; s < graph->state_count; s++) {
        if (hider->number[s] == GORDIAN_NONE)
            continue;
        uint32_t c = scc_component(&hider->parts.scc, s);
        TRY(graph_state(hider->result, error));
        for (size_t i = hider->first[c]; i < hider->first[c + 1]; i++)
            TRY(graph_arc(hider->result, hider->steps[i].label, hider->number[hider->steps[i].to],
                          error));
    }
    sort_u32(hider->queue, initial_count);
    for (uint32_t i = 0; i < initial_count; i++)
        TRY(graph_initial(hider->result, hider->number[hider->queue[i]], error));
    return graph_finish(hider->result, error);
}

static gordian_status hide_names(struct hider *hider, const gordian_hiding *hiding,
                                 gordian_error *error)
{
    TRY(graph_new(&hider->result, &hider->memory, error));
    hider->result->incomplete = hider->graph->incomplete;
    hider->new_of =
        memory_alloc(&hider->memory, hider->graph->labels.count * sizeof *hider->new_of);
    if (!hider->new_of)
        return fail_memory(error);
    TRY(hidden_labels(hider->graph, hiding, &hider->result->labels, hider->new_of, error));
    TRY(components_find(&hider->parts, hider->graph, hider->new_of, error));
    size_t states = hider->graph->state_count, parts = hider->parts.scc.count;
    hider->first = memory_alloc(&hider->memory, (parts + 1) * sizeof(size_t));
    hider->seen_in = memory_zeroed(&hider->memory, parts * sizeof(uint32_t));
    hider->queue = memory_alloc(&hider->memory, states * sizeof(uint32_t));
    hider->number = memory_alloc(&hider->memory, states * sizeof(uint32_t));
    if (!hider->first || !hider->seen_in || !hider->queue || !hider->number)
        return fail_memory(error);
    for (uint32_t c = 0; c < parts; c++) /* successors come first */
        if (!collect_steps(hider, c))
            return fail_memory(error);
    return write_hidden_graph(hider, explore_visible(hider), error);
}

gordian_status gordian_graph_hide(gordian_graph **out, const gordian_graph *graph,
                                  const gordian_hiding *hiding, gordian_error *error)
{
    struct hider hider = {.graph = graph, .memory = graph->memory};
    gordian_status status = hide_names(&hider, hiding, error);
    components_free(&hider.parts);
    memory_free_all(&hider.memory, hider.new_of, hider.steps, hider.first, hider.seen_in,
                    hider.queue, hider.number);
    if (status != GORDIAN_OK) {
        gordian_graph_close(hider.result);
        hider.result = NULL;
    }
    *out = hider.result;
    return status;
}
