/*
 * Graphviz: a graph or a product, to be drawn. Initial states have a double border, deadlocks are
 * filled; arcs between the same two states become one with several lines.
 */
#ifndef GORDIAN_COMPOSE_FORMAT_DOT_H
#define GORDIAN_COMPOSE_FORMAT_DOT_H

#include "base/output.h"
#include "compose/circuit.h"
#include "compose/engine.h"
#include "compose/graph/graph.h"

void dot_write_graph(const gordian_graph *graph, const char *title, struct output *out);

/* The circuit itself: factors as boxes, names as edges, boundary ports as circles. */
void dot_write_circuit(const gordian_circuit *circuit, struct output *out);

/* A sink that draws the product, with what the factors are in at every state. */
struct dot_sink {
    gordian_compose_sink sink;
    const gordian_circuit *circuit;
    struct output *out;
};
void dot_sink_open(struct dot_sink *sink, struct output *out);
void dot_sink_close(struct dot_sink *sink);

#endif
