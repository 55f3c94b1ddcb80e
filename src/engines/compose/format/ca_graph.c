/* Writing a graph as .ca. */
#include "engines/compose/format/ca.h"
#include "engines/compose/graph/graph.h"
#include "foundation/base/io/output.h"

#include <string.h>

/* The names and data that labels mention, each once. */
struct mentioned {
    struct label_table names, data;
    bool bare;              /* a name without a datum is among them */
    gordian_circuit *rules; /* what says no to names and data that a .ca cannot have */
    gordian_error *error;
};

static gordian_status mention_label(struct mentioned *mentioned, const char *label)
{
    struct label_part part;
    gordian_error *error = mentioned->error;
    while (label_next(&label, &part)) {
        uint32_t number;
        char plain[GORDIAN_NAME_MAX + 1];
        mentioned->bare |= !part.datum;
        TRY(circuit_name(mentioned->rules, part.name, part.name_length, &number, error));
        TRY(labels_put(&mentioned->names, part.name, part.name_length, &number, error));
        if (!part.datum)
            continue;
        size_t length = data_read_shown(part.datum, part.datum_length, plain, sizeof plain);
        TRY(data_symbol(&mentioned->rules->data, plain, length, &number, error));
        TRY(labels_put(&mentioned->data, plain, length, &number, error));
    }
    return GORDIAN_OK;
}

static gordian_status mention_all(struct mentioned *mentioned, const gordian_graph *graph)
{
    for (size_t i = 0; i < graph->arc_count; i++) {
        if (graph->arcs[i].label == LABEL_TAU)
            return fail(mentioned->error, GORDIAN_STATUS_INPUT,
                        "a step that shows nothing cannot be written as .ca; --hide removes it");
        TRY(mention_label(mentioned, labels_text(&graph->labels, graph->arcs[i].label)));
    }
    if (mentioned->bare && mentioned->data.count > 0)
        return fail(mentioned->error, GORDIAN_STATUS_INPUT,
                    "some names have a datum and others none: that cannot be written as .ca");
    return GORDIAN_OK;
}

/* All data of the circuit, or those that the labels of a graph have. A single one would not be
 * shown in labels: then there is another that never occurs. */
static void write_graph_data(const struct mentioned *mentioned, const gordian_circuit *circuit,
                             struct output *out)
{
    if (mentioned->data.count == 0)
        return;
    output_text(out, "data");
    if (circuit) {
        for (uint32_t d = 0; d < circuit->data.port_size; d++)
            output_format(out, " \"%s\"", data_text(&circuit->data, circuit->data.domain[d]));
    } else {
        for (uint32_t d = 0; d < mentioned->data.count; d++)
            output_format(out, " \"%s\"", labels_text(&mentioned->data, d));
        if (mentioned->data.count == 1)
            output_format(out, " \"not_%s\"", labels_text(&mentioned->data, 0));
    }
    output_char(out, '\n');
}

static void write_firing(const char *label, struct output *out)
{
    struct label_part part;
    const char *at = label;
    for (bool first = true; label_next(&at, &part); first = false)
        output_format(out, "%s`%.*s`", first ? "{" : ",", (int)part.name_length, part.name);
    output_text(out, *label ? "}" : "{}");
    at = label;
    for (bool first = true; label_next(&at, &part); first &= !part.datum) {
        char datum[GORDIAN_NAME_MAX + 1];
        if (part.datum)
            output_format(
                out, "%s`%.*s` = \"%.*s\"", first ? " " : ", ", (int)part.name_length, part.name,
                (int)data_read_shown(part.datum, part.datum_length, datum, sizeof datum), datum);
    }
    output_char(out, '\n');
}

gordian_status ca_write_graph(const gordian_graph *graph, const gordian_circuit *circuit,
                              const char *title, struct output *out, gordian_error *error)
{
    gordian_allocator memory = graph->memory;
    struct mentioned mentioned = {.error = error};
    mentioned.names.memory = mentioned.data.memory = memory;
    gordian_status status = circuit_new(&mentioned.rules, "", &memory, error);
    THEN(status, mention_all(&mentioned, graph));
    if (status == GORDIAN_OK) {
        write_graph_data(&mentioned, circuit, out);
        /* Names stand in backquotes and data in quotes: any of them can be read back. */
        output_text(out, "automaton ");
        ca_write_title(title, out);
        output_text(out, " (");
        for (uint32_t n = 0; n < mentioned.names.count; n++)
            output_format(out, "%s`%s`", n ? ", " : "", labels_text(&mentioned.names, n));
        output_text(out, ") {\n");
        for (size_t i = 0; i < graph->initial_count; i++)
            output_format(out, "    %u : initial\n", graph->initial[i]);
        for (uint32_t s = 0; s < graph->state_count && !out->failure; s++)
            for (size_t i = graph->first[s]; i < graph->first[s + 1]; i++) {
                output_format(out, "    %u -> %u : ", s, graph->arcs[i].to);
                write_firing(labels_text(&graph->labels, graph->arcs[i].label), out);
            }
        output_text(out, graph->incomplete ? "}\n" CA_INCOMPLETE "\n" : "}\n");
    }
    gordian_circuit_close(mentioned.rules);
    labels_free(&mentioned.names);
    labels_free(&mentioned.data);
    return status;
}
