/* Writes PNML files. */
#include "engines/compose/explore/firing.h"
#include "engines/compose/format/pnml.h"
#include "foundation/base/error.h"
#include "foundation/base/io/output.h"

static void write_xml_escaped(struct output *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '<' || *text == '>' || *text == '&' || *text == '"')
            output_format(out, "&#%d;", *text);
        else
            output_char(out, *text);
    }
}

static void write_pnml_name(struct output *out, const char *text)
{
    output_text(out, "<name><text>");
    write_xml_escaped(out, text);
    output_text(out, "</text></name>");
}

static void write_pnml_head(struct output *out, const char *title)
{
    output_text(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                     "<pnml xmlns=\"http://www.pnml.org/version-2009/grammar/pnml\">\n"
                     "<net id=\"net\" type=\"http://www.pnml.org/version-2009/grammar/ptnet\">\n");
    write_pnml_name(out, title);
    output_text(out, "\n<page id=\"page\">\n");
}

static void write_tail(struct output *out)
{
    output_text(out, "</page>\n</net>\n</pnml>\n");
}

static void write_marking(struct output *out, bool marked)
{
    output_text(out, marked ? "<initialMarking><text>1</text></initialMarking></place>\n"
                            : "</place>\n");
}

/* ------------------------------------------------------------------ graphs */

gordian_status pnml_write_graph(const gordian_graph *graph, const char *title, struct output *out,
                                gordian_error *error)
{
    if (graph->initial_count != 1)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "a net has one initial state, this graph has %zu: .ca keeps all",
                    graph->initial_count);
    write_pnml_head(out, title);
    for (uint32_t s = 0; s < graph->state_count; s++) {
        output_format(out, "<place id=\"s%u\">", s);
        write_marking(out, s == graph->initial[0]);
    }
    for (uint32_t s = 0; s < graph->state_count && !out->failure; s++)
        for (size_t i = graph->first[s]; i < graph->first[s + 1]; i++) {
            output_format(out, "<transition id=\"t%zu\">", i);
            write_pnml_name(out, labels_text(&graph->labels, graph->arcs[i].label));
            output_format(out,
                          "</transition>\n<arc id=\"i%zu\" source=\"s%u\" target=\"t%zu\"/>"
                          "<arc id=\"o%zu\" source=\"t%zu\" target=\"s%u\"/>\n",
                          i, s, i, i, i, graph->arcs[i].to);
        }
    write_tail(out);
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ circuits */

static bool write_pnml_places(const gordian_circuit *circuit, struct output *text,
                              struct output *out)
{
    bool fine = true;
    for (uint32_t f = 0; f < circuit->factor_count && fine; f++)
        for (uint32_t s = 0; s < factor_shape(circuit, f)->state_count && fine; s++) {
            output_format(out, "<place id=\"f%us%u\">", f, s);
            /* Writes the text to a buffer, then escapes it. */
            text->used = 0;
            circuit_write_factor(circuit, f, text);
            output_text(text, ": ");
            circuit_write_state(circuit, f, s, text);
            output_char(text, '\0');
            if (!text->failure)
                write_pnml_name(out, text->buffer);
            fine = !text->failure;
            write_marking(out, s == 0);
        }
    return fine;
}

static bool write_firings(const struct firings *firings, struct output *text, struct output *out)
{
    for (size_t i = 0; i < firings->count && !out->failure && !text->failure; i++) {
        text->used = 0;
        circuit_write_label(firings->circuit, firing_label(firings, i), text);
        output_char(text, '\0');
        output_format(out, "<transition id=\"t%zu\">", i);
        write_pnml_name(out, text->failure ? "" : text->buffer);
        output_text(out, "</transition>\n");
        for (size_t m = firings->first[i]; m < firings->first[i + 1]; m++) {
            const struct firing_move *move = &firings->moves[m];
            output_format(out,
                          "<arc id=\"i%zu\" source=\"f%us%u\" target=\"t%zu\"/>"
                          "<arc id=\"o%zu\" source=\"t%zu\" target=\"f%us%u\"/>\n",
                          m, move->factor, move->from, i, m, i, move->factor, move->to);
        }
    }
    return !text->failure;
}

gordian_status pnml_write_circuit(const gordian_circuit *circuit, struct output *out,
                                  gordian_error *error)
{
    struct firings firings;
    struct output text;
    if (circuit->initial != 1)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "a net has one initial state, this circuit has several: .ca keeps all");
    TRY(firings_list_all(&firings, circuit, "a net", error));
    bool fine = output_open(&text, OUTPUT_MEMORY);
    if (fine) {
        write_pnml_head(out, circuit->title);
        fine = write_pnml_places(circuit, &text, out) && write_firings(&firings, &text, out);
        write_tail(out);
        output_close(&text);
    }
    firings_free(&firings);
    return fine ? GORDIAN_OK : fail_memory(error);
}
