/*
 * Writes Graphviz files: drawings of graphs, products and circuits. Initial states have a double
 * border, and deadlocks are filled. Arcs between the same two states are merged into one with
 * several lines. The drawing of a stopped run has a label that says so.
 */
#pragma once

#include "engines/compose/circuit/circuit.h"
#include "engines/compose/engine/engine.h"
#include "engines/compose/graph/graph.h"
#include "foundation/base/io/output.h"

void dot_write_graph(const gordian_graph *graph, const char *title, struct output *out);

/* The circuit itself: factors are boxes, names are edges, boundary ports are circles. */
void dot_write_circuit(const gordian_circuit *circuit, struct output *out);

/* A sink that draws the product. The tooltip of a state lists the states of the factors. */
struct dot_sink {
    gordian_compose_sink sink;
    const gordian_circuit *circuit;
    struct output *out;
    gordian_allocator memory;
    uint64_t *ends; /* states that are drawn as deadlocks; a stopped run reverts that */
    size_t end_count, end_room;
};
void dot_sink_open(struct dot_sink *sink, struct output *out);
/* Writes the end. Call it also after a failed or stopped run. Its drawing is labelled `incomplete`
 * and has no deadlocks. */
void dot_sink_close(struct dot_sink *sink, bool incomplete);
