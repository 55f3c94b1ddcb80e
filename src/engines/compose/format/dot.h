/*
 * Graphviz: a graph or a product, to be drawn. Initial states have a double border, deadlocks are
 * filled; arcs between the same two states become one with several lines. A picture of a stopped
 * run says so in its label.
 */
#pragma once

#include "engines/compose/circuit/circuit.h"
#include "engines/compose/engine/engine.h"
#include "engines/compose/graph/graph.h"
#include "foundation/base/io/output.h"

void dot_write_graph(const gordian_graph *graph, const char *title, struct output *out);

/* The circuit itself: factors as boxes, names as edges, boundary ports as circles. */
void dot_write_circuit(const gordian_circuit *circuit, struct output *out);

/* A sink that draws the product, with what the factors are in at every state. */
struct dot_sink {
    gordian_compose_sink sink;
    const gordian_circuit *circuit;
    struct output *out;
    gordian_allocator memory;
    uint64_t *ends; /* states drawn as deadlocks; a stopped run takes that back */
    size_t end_count, end_room;
};
void dot_sink_open(struct dot_sink *sink, struct output *out);
/* Writes the end; call it also after a failed or stopped run, whose picture is labelled
 * `incomplete` and has no deadlocks. */
void dot_sink_close(struct dot_sink *sink, bool incomplete);
