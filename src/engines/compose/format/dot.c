/* Writes Graphviz files (dot.h). */
#include "engines/compose/format/dot.h"

#include "foundation/base/error.h"
#include "foundation/base/memory.h"

#include <string.h>

/* Escapes a text for use inside quotes. */
static void write_dot_escaped(struct output *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            output_char(out, '\\');
        output_char(out, *text);
    }
}

static void write_dot_head(struct output *out, const char *title)
{
    output_text(out, "digraph \"");
    write_dot_escaped(out, title);
    output_text(out, "\" {\n"
                     "    rankdir=LR;\n"
                     "    node [shape=circle, fontname=\"Helvetica\", fontsize=11];\n"
                     "    edge [fontname=\"Helvetica\", fontsize=10];\n");
}

static void write_dot_incomplete(struct output *out)
{
    output_text(out, "    label=\"incomplete: transitions are missing\";\n");
}

static void write_attributes(struct output *out, bool initial, bool deadlock)
{
    if (initial)
        output_text(out, ", peripheries=2");
    if (deadlock)
        output_text(out, ", style=filled, fillcolor=\"#f4b6b6\"");
    output_text(out, "];\n");
}

/* Writes all arcs of state s to the same state, from arc i on, as one arc. */
static void write_arcs(const gordian_graph *graph, uint32_t s, size_t i, struct output *out)
{
    uint32_t to = graph->arcs[i].to;
    output_format(out, "    %u -> %u [label=\"", s, to);
    for (size_t k = i; k < graph->first[s + 1]; k++) {
        if (graph->arcs[k].to != to)
            continue;
        if (k > i)
            output_text(out, "\\n");
        write_dot_escaped(out, labels_text(&graph->labels, graph->arcs[k].label));
    }
    output_text(out, "\"];\n");
}

void dot_write_graph(const gordian_graph *graph, const char *title, struct output *out)
{
    size_t next = 0;
    write_dot_head(out, title);
    if (graph->incomplete)
        write_dot_incomplete(out);
    for (uint32_t s = 0; s < graph->state_count; s++) {
        bool initial = next < graph->initial_count && graph->initial[next] == s;
        next += initial;
        output_format(out, "    %u [label=\"%u\"", s, s);
        write_attributes(out, initial, graph_is_deadlock(graph, s) && !graph->incomplete);
    }
    for (uint32_t s = 0; s < graph->state_count; s++)
        for (size_t i = graph->first[s]; i < graph->first[s + 1]; i++) {
            size_t k = graph->first[s];
            while (graph->arcs[k].to != graph->arcs[i].to)
                k++;
            if (k == i) /* the first arc to that state */
                write_arcs(graph, s, i, out);
        }
    output_text(out, "}\n");
}

/* ------------------------------------------------------------------ the circuit */

/* Writes edges from the factors that write a name to the factors that read it; without arrows if
 * the direction is not known. */
static void write_name_edges(const gordian_circuit *circuit, uint32_t name, struct output *out)
{
    output_format(out, "    n%u [label=\"", name);
    write_dot_escaped(out, names_text(&circuit->names, name));
    output_text(out, circuit->boundary[name] ? "\", shape=circle" : "\", shape=plain");
    output_text(out, "];\n");
    for (size_t u = circuit->users_first[name]; u < circuit->users_first[name + 1]; u++) {
        uint32_t f = circuit->users[u];
        const struct shape *shape = factor_shape(circuit, f);
        bool merged = shape->port_count != shape->automaton->port_count;
        for (uint32_t p = 0; p < shape->port_count; p++) {
            if (circuit->factors[f].names[p] != name)
                continue;
            uint8_t direction = merged ? PORT_MIXED : shape->automaton->ports[p].direction;
            if (direction == PORT_OUT)
                output_format(out, "    f%u -> n%u;\n", f, name);
            else
                output_format(out, "    n%u -> f%u%s;\n", name, f,
                              direction == PORT_IN ? "" : " [dir=none]");
        }
    }
}

void dot_write_circuit(const gordian_circuit *circuit, struct output *out)
{
    write_dot_head(out, circuit->title);
    if (circuit->incomplete)
        write_dot_incomplete(out);
    for (uint32_t f = 0; f < circuit->factor_count; f++) {
        const struct factor *factor = &circuit->factors[f];
        output_format(out, "    f%u [shape=box, label=\"", f);
        write_dot_escaped(out, factor->title ? factor->title
                                             : factor_shape(circuit, f)->automaton->title);
        output_text(out, "\"];\n");
    }
    for (uint32_t n = 0; n < circuit->name_count; n++)
        write_name_edges(circuit, n, out);
    output_text(out, "}\n");
}

/* ------------------------------------------------------------------ a product */

static gordian_status begin_dot(void *context, const gordian_circuit *circuit, uint64_t states,
                                uint64_t transitions, gordian_error *error)
{
    struct dot_sink *sink = context;
    (void)states, (void)transitions, (void)error;
    sink->circuit = circuit;
    write_dot_head(sink->out, circuit->title);
    return GORDIAN_OK;
}

/* Lists the states of all factors with more than one state, as a tooltip. */
static void write_tooltip(const struct dot_sink *sink, const uint32_t *state)
{
    const gordian_circuit *circuit = sink->circuit;
    bool any = false;
    output_text(sink->out, ", tooltip=\"");
    for (uint32_t f = 0; f < circuit->factor_count; f++) {
        if (factor_shape(circuit, f)->state_count == 1)
            continue;
        output_text(sink->out, any ? "\\n" : "");
        any = true;
        circuit_write_factor(circuit, f, sink->out);
        output_text(sink->out, ": ");
        circuit_write_state(circuit, f, state[f], sink->out);
    }
    output_char(sink->out, '"');
}

static gordian_status write_dot_row(void *context, const gordian_compose_row *row,
                                    gordian_error *error)
{
    struct dot_sink *sink = context;
    struct output *out = sink->out;
    size_t words = sink->circuit->label_words;
    if (row->count == 0) {
        /* Only the end of the run shows whether it is complete: keep the state until then. */
        if (!memory_extend(&sink->memory, sink->ends, sink->end_room, sink->end_count))
            return fail_memory(error);
        sink->ends[sink->end_count++] = row->number;
    }
    output_format(out, "    %llu [label=\"%llu\"", (unsigned long long)row->number,
                  (unsigned long long)row->number);
    write_tooltip(sink, row->state);
    write_attributes(out, row->initial, row->count == 0);
    for (size_t i = 0; i < row->count; i++) {
        output_format(out, "    %llu -> %llu [label=\"", (unsigned long long)row->number,
                      (unsigned long long)row->to[i]);
        circuit_write_label(sink->circuit, row->labels + i * words, out);
        output_text(out, "\"];\n");
    }
    if (out->failure)
        return fail(error, GORDIAN_STATUS_IO, "writing failed: %s", strerror(out->failure));
    return GORDIAN_OK;
}

void dot_sink_open(struct dot_sink *sink, struct output *out)
{
    *sink = (struct dot_sink){.sink = {.context = sink, .begin = begin_dot, .row = write_dot_row},
                              .out = out,
                              .memory = memory_allocator(NULL)};
}

void dot_sink_close(struct dot_sink *sink, bool incomplete)
{
    struct output *out = sink->out;
    for (size_t i = 0; i < sink->end_count && incomplete; i++)
        output_format(out, "    %llu [style=\"\"];\n", (unsigned long long)sink->ends[i]);
    if (sink->circuit && incomplete)
        write_dot_incomplete(out);
    if (sink->circuit)
        output_text(out, "}\n");
    memory_free(&sink->memory, sink->ends);
}
