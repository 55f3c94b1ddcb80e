/*
 * Runs of a graph that a formula of LTL does not hold in: the graph and the automaton of the
 * formula's contrary, step by step together, as one graph; an edge is a step of both. A state that
 * nothing leads out of has one step that fires nothing and stays.
 */
#pragma once

#include "engines/compose/graph/check.h"
#include "engines/compose/graph/linear.h"

#define RUNS_STAY UINT32_MAX /* of an edge: the graph stays where nothing leads on */

struct run_node {
    uint32_t state, at; /* of the graph, of the automaton */
    uint32_t from, by;  /* a shortest way from a beginning: the node and the edge before;
                           GORDIAN_NONE: this is one */
};

struct run_edge {
    uint32_t arc; /* of the state: from graph->first[state] on; or RUNS_STAY */
    uint32_t move;
    uint32_t to;
};

struct runs {
    gordian_allocator memory;
    const gordian_graph *graph;
    const struct check *check;
    struct linear linear;
    uint8_t **with; /* by part: PART_FIRES, by label; else NULL */

    /* In the order they were found, so that those before are no farther from a beginning. */
    struct run_node *nodes;
    uint32_t node_count, node_room;
    size_t *first; /* edges of node n: first[n] .. first[n + 1] - 1 */
    size_t first_room;
    struct run_edge *edges;
    size_t edge_count, edge_room;
    struct hash table;
};

/* All that can be reached. runs_close it whatever happened. */
gordian_status runs_open(struct runs *runs, const struct check *check, gordian_error *error);
void runs_close(struct runs *runs);
