/* A sink that stores the product as a graph (graph_sink.h). */
#include "engines/compose/graph/graph_sink.h"

#include "engines/compose/circuit/circuit.h"
#include "foundation/base/error.h"
#include "foundation/base/io/output.h"
#include "foundation/base/memory.h"

static gordian_status begin_graph(void *context, const gordian_circuit *circuit, uint64_t states,
                                  uint64_t transitions, gordian_error *error)
{
    struct graph_sink *sink = context;
    (void)transitions;
    sink->circuit = circuit;
    if (states > GRAPH_STATES_MAX)
        return fail(error, GORDIAN_STATUS_MEMORY, "%llu states do not fit a graph in memory",
                    (unsigned long long)states);
    return GORDIAN_OK;
}

static gordian_status collect_row(void *context, const gordian_compose_row *row,
                                  gordian_error *error)
{
    struct graph_sink *sink = context;
    gordian_graph *graph = sink->graph;
    TRY(graph_state(graph, error));
    if (row->initial)
        TRY(graph_initial(graph, (uint32_t)row->number, error));
    for (size_t i = 0; i < row->count; i++) {
        uint32_t label;
        sink->text->used = 0;
        circuit_write_label(sink->circuit, row->labels + i * sink->circuit->label_words,
                            sink->text);
        if (sink->text->failure)
            return fail_memory(error);
        TRY(labels_put(&graph->labels, sink->text->buffer, sink->text->used, &label, error));
        TRY(graph_arc(graph, label, (uint32_t)row->to[i], error));
    }
    return GORDIAN_OK;
}

gordian_status graph_sink_open(struct graph_sink *sink, const gordian_allocator *memory,
                               gordian_error *error)
{
    *sink = (struct graph_sink){.sink = {.context = sink, .begin = begin_graph, .row = collect_row},
                                .memory = memory_allocator(memory)};
    TRY(graph_new(&sink->graph, &sink->memory, error));
    sink->text = memory_alloc(&sink->memory, sizeof *sink->text);
    if (!sink->text || !output_open(sink->text, -1)) {
        graph_sink_abandon(sink);
        return fail_memory(error);
    }
    return GORDIAN_OK;
}

void graph_sink_abandon(struct graph_sink *sink)
{
    if (sink->text)
        output_close(sink->text);
    memory_free(&sink->memory, sink->text);
    gordian_graph_close(sink->graph);
    sink->text = NULL;
    sink->graph = NULL;
}

gordian_status graph_sink_close(struct graph_sink *sink, gordian_graph **graph,
                                gordian_error *error)
{
    gordian_status status = graph_finish(sink->graph, error);
    *graph = NULL;
    if (status == GORDIAN_OK) {
        *graph = sink->graph;
        sink->graph = NULL;
    }
    graph_sink_abandon(sink);
    return status;
}
