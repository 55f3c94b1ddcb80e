/* A sink that stores the product as a graph. */
#pragma once

#include "engines/compose/graph/graph.h"

struct output;

struct graph_sink {
    gordian_compose_sink sink;
    const gordian_circuit *circuit;
    gordian_graph *graph; /* owned by the caller after the run: gordian_graph_close */
    struct output *text;
    gordian_allocator memory;
};
gordian_status graph_sink_open(struct graph_sink *sink, const gordian_allocator *memory,
                               gordian_error *error);
/* Finishes and returns the graph; frees the rest. */
gordian_status graph_sink_close(struct graph_sink *sink, gordian_graph **graph,
                                gordian_error *error);
void graph_sink_abandon(struct graph_sink *sink);
