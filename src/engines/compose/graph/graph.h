/*
 * A labelled transition graph in memory, used by hiding, minimisation, equality, .aut files and
 * drawings. The transitions are stored row by row (CSR); labels are interned.
 *
 * A label is a text: sorted names joined by '|', with =datum if there are data. Label 0 is always
 * "tau", the hidden step. Labels are texts, not bit sets, so that graphs of different circuits and
 * files of other tools can be compared.
 *
 * There may be several initial states (hiding creates them); a file has only the first.
 */
#pragma once

#include "engines/compose/circuit/label_table.h"

#include <gordian/compose.h>

#define GRAPH_STATES_MAX (UINT32_MAX - 1)

struct gordian_graph {
    gordian_allocator memory;
    struct label_table labels;
    uint32_t state_count;
    uint32_t *initial; /* ascending */
    size_t initial_count, initial_room;
    size_t *first; /* arcs of state s: first[s] .. first[s+1]-1 */
    size_t first_room;
    gordian_graph_arc *arcs;
    size_t arc_count, arc_room;
    bool incomplete; /* from a file of a stopped run: arcs are missing */
};

/* Makes an empty graph. Add the states in order, each followed by its arcs, then call
 * graph_finish. */
gordian_status graph_new(gordian_graph **out, const gordian_allocator *memory,
                         gordian_error *error);
/* Starts the next state, number state_count - 1. */
gordian_status graph_state(gordian_graph *graph, gordian_error *error);
/* Adds an arc of the last state. */
gordian_status graph_arc(gordian_graph *graph, uint32_t label, uint32_t to, gordian_error *error);
gordian_status graph_initial(gordian_graph *graph, uint32_t state, gordian_error *error);
/* Checks that every arc ends at a state and that there is an initial state (GORDIAN_STATUS_INPUT).
 * Sorts the arcs of every state by (label text, to) and removes duplicates. */
gordian_status graph_finish(gordian_graph *graph, gordian_error *error);

/* Builds a graph from arcs in any order, for readers. `from`, `arcs`: `count` elements, which are
 * not kept. */
gordian_status graph_build(gordian_graph **out, struct label_table *labels, uint32_t state_count,
                           uint32_t initial, const uint32_t *from, const gordian_graph_arc *arcs,
                           size_t count, const gordian_allocator *memory, gordian_error *error);

/* Computes the classes of strong bisimulation: class_of[s]. Classes are numbered by their smallest
 * states. */
gordian_status graph_classes(const gordian_graph *graph, uint32_t *class_of, uint32_t *class_count,
                             gordian_error *error);

/* For qsort: by label, then by target. */
int graph_compare_arcs(const void *left, const void *right);

static inline bool graph_is_deadlock(const gordian_graph *graph, uint32_t state)
{
    return graph->first[state] == graph->first[state + 1];
}
