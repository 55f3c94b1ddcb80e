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

/* Calls `each` for every name=datum of a label; datum NULL: without one. tau has none. */
static gordian_status take_apart(const char *label, struct mentioned *mentioned,
                                 gordian_status (*each)(struct mentioned *, const char *, size_t,
                                                        const char *, size_t))
{
    while (*label) {
        size_t length = strcspn(label, "|"), name = 0;
        while (name < length && label[name] != '=')
            name++;
        const char *datum = name < length ? label + name + 1 : NULL;
        TRY(each(mentioned, label, name, datum, datum ? length - name - 1 : 0));
        label += length + (label[length] == '|');
    }
    return GORDIAN_OK;
}

static gordian_status put_names(struct mentioned *mentioned, const char *name, size_t length,
                                const char *datum, size_t datum_length)
{
    uint32_t number;
    gordian_error *error = mentioned->error;
    mentioned->bare |= !datum;
    gordian_status status = circuit_name(mentioned->rules, name, length, &number, error);
    THEN(status, labels_put(&mentioned->names, name, length, &number, error));
    char plain[GORDIAN_NAME_MAX + 1];
    size_t length_plain = datum ? data_read_shown(datum, datum_length, plain, sizeof plain) : 0;
    if (status == GORDIAN_OK && datum)
        status = data_symbol(&mentioned->rules->data, plain, length_plain, &number, error);
    if (status == GORDIAN_OK && datum)
        status = labels_put(&mentioned->data, plain, length_plain, &number, error);
    return status;
}

static gordian_status mention_all(struct mentioned *mentioned, const gordian_graph *graph)
{
    for (size_t i = 0; i < graph->arc_count; i++) {
        if (graph->arcs[i].label == LABEL_TAU)
            return fail(mentioned->error, GORDIAN_STATUS_INPUT,
                        "a step that shows nothing cannot be written as .ca; --hide removes it");
        TRY(take_apart(labels_text(&graph->labels, graph->arcs[i].label), mentioned, put_names));
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
    const char *rest = label;
    bool first = true;
    output_char(out, '{');
    while (*rest) {
        size_t length = strcspn(rest, "|");
        output_format(out, "%s`%.*s`", first ? "" : ",", (int)strcspn(rest, "=|"), rest);
        rest += length + (rest[length] == '|');
        first = false;
    }
    output_char(out, '}');
    first = true;
    for (rest = label; *rest;) {
        size_t length = strcspn(rest, "|"), name = strcspn(rest, "=|");
        char datum[GORDIAN_NAME_MAX + 1];
        if (name < length)
            output_format(
                out, "%s`%.*s` = \"%.*s\"", first ? " " : ", ", (int)name, rest,
                (int)data_read_shown(rest + name + 1, length - name - 1, datum, sizeof datum),
                datum);
        first &= name >= length;
        rest += length + (rest[length] == '|');
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
