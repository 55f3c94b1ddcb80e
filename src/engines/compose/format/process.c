/* Writes graphs and circuits as mCRL2, Promela and .treo (process.h). */
#include "engines/compose/format/process.h"

#include "engines/compose/circuit/data.h"
#include "engines/compose/circuit/text_fault.h"
#include "engines/compose/explore/firing.h"
#include "foundation/base/error.h"
#include "foundation/base/io/output.h"

#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------ names and data */

/* The names and data of the labels, and their names in the output. */
struct mentioned {
    const gordian_graph *graph;
    struct label_table names, data;
    bool bare; /* some names have no datum */
    struct output *out;
};

static bool is_reserved(const char *text)
{
    static const char *const words[] = {
        "act",    "allow", "block",  "comm", "cons",   "delta", "div",    "end",  "eqn",
        "exists", "false", "forall", "glob", "hide",   "if",    "import", "in",   "init",
        "lambda", "map",   "mod",    "mu",   "nu",     "null",  "nil",    "pbes", "proc",
        "rename", "sort",  "struct", "sum",  "tau",    "true",  "val",    "var",  "whr",
        "yaled",  "delay", "for",    "else", "section"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i], text) == 0)
            return true;
    return false;
}

static bool is_process_word(const char *text)
{
    size_t letters = strspn(text, TEXT_LETTERS), all = strspn(text, TEXT_LETTERS TEXT_DIGITS "_");
    return letters > 0 && !text[all] && !is_reserved(text);
}

static void write_process_name(const struct mentioned *mentioned, uint32_t number)
{
    const char *text = labels_text(&mentioned->names, number);
    if (is_process_word(text)) {
        output_text(mentioned->out, text);
        return;
    }
    char made[40];
    size_t length = (size_t)snprintf(made, sizeof made, "n%u", number);
    /* A name of the graph may be the same. Then an underscore is appended until it is unique. */
    while (length + 2 < sizeof made && labels_find(&mentioned->names, made, length) != GORDIAN_NONE)
        length += (size_t)snprintf(made + length, sizeof made - length, "_");
    output_text(mentioned->out, made);
}

static gordian_status mention_process_labels(struct mentioned *mentioned,
                                             const gordian_graph *graph, struct output *out,
                                             gordian_error *error)
{
    *mentioned = (struct mentioned){.graph = graph, .out = out};
    mentioned->names.memory = mentioned->data.memory = graph->memory;
    for (uint32_t l = 1; l < graph->labels.count; l++) {
        const char *label = labels_text(&graph->labels, l);
        struct label_part part;
        uint32_t number;
        while (label_next(&label, &part)) {
            mentioned->bare |= !part.datum;
            TRY(labels_put(&mentioned->names, part.name, part.name_length, &number, error));
            if (part.datum)
                TRY(labels_put(&mentioned->data, part.datum, part.datum_length, &number, error));
        }
    }
    if (mentioned->bare && mentioned->data.count > 0)
        return fail(
            error, GORDIAN_STATUS_INPUT,
            "some names have a datum and others none: that cannot be written in this format");
    return GORDIAN_OK;
}

static void forget_all(struct mentioned *mentioned)
{
    labels_free(&mentioned->names);
    labels_free(&mentioned->data);
}

/* Writes a comment for every name that was replaced. */
static void explain_names(const struct mentioned *mentioned, const char *open, const char *close)
{
    for (uint32_t n = 0; n < mentioned->names.count; n++) {
        if (is_process_word(labels_text(&mentioned->names, n)))
            continue;
        output_text(mentioned->out, open);
        write_process_name(mentioned, n);
        output_format(mentioned->out, " is %s%s\n", labels_text(&mentioned->names, n), close);
    }
}

static void write_comment_title(struct output *out, const char *title)
{
    for (; *title; title++)
        output_char(out, *title == '*' || (unsigned char)*title < ' ' ? ' ' : *title);
}

/* ------------------------------------------------------------------ mCRL2 */

static void write_mcrl2_action(const struct mentioned *mentioned, const char *label)
{
    struct label_part part;
    for (bool first = true; label_next(&label, &part); first = false) {
        output_text(mentioned->out, first ? "" : "|");
        write_process_name(mentioned, labels_find(&mentioned->names, part.name, part.name_length));
        if (part.datum)
            output_format(mentioned->out, "(d%u)",
                          labels_find(&mentioned->data, part.datum, part.datum_length));
    }
}

static void write_declarations(const struct mentioned *mentioned)
{
    struct output *out = mentioned->out;
    for (uint32_t d = 0; d < mentioned->data.count; d++)
        output_format(out, "%% d%u is %s\n", d, labels_text(&mentioned->data, d));
    for (uint32_t d = 0; d < mentioned->data.count; d++)
        output_format(out, "%sd%u%s", d ? " | " : "sort D = struct ", d,
                      d + 1 == mentioned->data.count ? ";\n" : "");
    for (uint32_t n = 0; n < mentioned->names.count; n++) {
        output_text(out, n ? ", " : "act ");
        write_process_name(mentioned, n);
    }
    if (mentioned->names.count > 0)
        output_text(out, mentioned->data.count > 0 ? ": D;\n" : ";\n");
}

gordian_status mcrl2_write(const gordian_graph *graph, const char *title, struct output *out,
                           gordian_error *error)
{
    struct mentioned mentioned;
    gordian_status status = mention_process_labels(&mentioned, graph, out, error);
    if (status == GORDIAN_OK) {
        output_text(out, "% ");
        write_comment_title(out, title);
        output_char(out, '\n');
        explain_names(&mentioned, "% ", "");
        write_declarations(&mentioned);
        output_text(out, "proc P(s: Nat) =\n    delta\n");
        for (uint32_t s = 0; s < graph->state_count && !out->failure; s++)
            for (size_t i = graph->first[s]; i < graph->first[s + 1]; i++) {
                output_format(out, "  + (s == %u) -> ", s);
                if (graph->arcs[i].label == LABEL_TAU)
                    output_text(out, "tau");
                else
                    write_mcrl2_action(&mentioned,
                                       labels_text(&graph->labels, graph->arcs[i].label));
                output_format(out, " . P(%u)\n", graph->arcs[i].to);
            }
        output_text(out, "  ;\ninit ");
        for (size_t i = 0; i < graph->initial_count; i++)
            output_format(out, "%sP(%u)", i ? " + " : "", graph->initial[i]);
        output_text(out, ";\n");
    }
    forget_all(&mentioned);
    return status;
}

/* ------------------------------------------------------------------ Promela */

/* Escapes a text inside the quotes of a printf. */
static void write_printed(struct output *out, const char *label)
{
    for (; *label; label++) {
        if (*label == '"' || *label == '\\')
            output_char(out, '\\');
        if (*label == '%')
            output_char(out, '%');
        output_char(out, *label);
    }
}

gordian_status promela_write(const gordian_graph *graph, const char *title, struct output *out,
                             gordian_error *error)
{
    (void)error;
    output_text(out, "/* ");
    write_comment_title(out, title);
    output_text(out, ": what fires is printed. A state that nothing leads out of is an invalid end "
                     "state. */\nactive proctype product()\n{\n    goto start;\n");
    for (uint32_t s = 0; s < graph->state_count && !out->failure; s++) {
        output_format(out, "S%u:%s", s, graph_is_deadlock(graph, s) ? " false;\n" : " if\n");
        for (size_t i = graph->first[s]; i < graph->first[s + 1]; i++) {
            output_text(out, "    :: printf(\"");
            write_printed(out, labels_text(&graph->labels, graph->arcs[i].label));
            output_format(out, "\\n\") -> goto S%u\n", graph->arcs[i].to);
        }
        if (!graph_is_deadlock(graph, s))
            output_text(out, "    fi;\n");
    }
    output_text(out, "start: if\n");
    for (size_t i = 0; i < graph->initial_count; i++)
        output_format(out, "    :: goto S%u\n", graph->initial[i]);
    output_text(out, "    fi\n}\n");
    return GORDIAN_OK;
}

static bool write_model(const struct firings *firings, struct output *text, struct output *out)
{
    const gordian_circuit *circuit = firings->circuit;
    output_text(out, "/* ");
    write_comment_title(out, circuit->title);
    output_text(out, ": a variable an automaton, a step for all that fires at once and not in "
                     "smaller pieces.\n   What fires is printed. A state that nothing leads out of "
                     "is an invalid end state. */\n");
    /* The state of every automaton, in the smallest type that SPIN has. Several initial states
     * become a choice at the start. */
    for (uint32_t f = 0; f < circuit->factor_count && !text->failure; f++) {
        uint32_t states = factor_shape(circuit, f)->state_count;
        text->used = 0;
        circuit_write_factor(circuit, f, text);
        output_char(text, '\0');
        output_format(out, "%s f%u; /* ",
                      states <= 2       ? "bit"
                      : states <= 256   ? "byte"
                      : states <= 32768 ? "short"
                                        : "int",
                      f);
        write_comment_title(out, text->failure ? "" : text->buffer);
        output_text(out, " */\n");
    }
    bool fine = !text->failure;
    output_text(out, "active proctype circuit()\n{\n");
    for (uint32_t f = 0; f < circuit->factor_count && circuit->initial != 1; f++) {
        uint32_t count = factor_shape(circuit, f)->initial_count;
        output_text(out, f ? "" : "    atomic {\n");
        output_text(out, count > 1 ? "        if\n" : "");
        for (uint32_t s = 0; s < count && count > 1; s++)
            output_format(out, "        :: f%u = %u\n", f, s);
        output_text(out, count > 1 ? "        fi;\n" : "");
        output_text(out, f + 1 == circuit->factor_count ? "        skip\n    }\n" : "");
    }
    output_text(out, firings->count > 0 ? "    do\n" : "    false\n");
    for (size_t i = 0; i < firings->count && fine && !out->failure; i++) {
        /* One step: the automata are in the required states, and move to the new ones. */
        size_t first = firings->first[i], end = firings->first[i + 1];
        for (size_t m = first; m < end; m++)
            output_format(out, "%sf%u == %u", m == first ? "    :: d_step { " : " && ",
                          firings->moves[m].factor, firings->moves[m].from);
        output_text(out, " -> ");
        for (size_t m = first; m < end; m++)
            if (firings->moves[m].from != firings->moves[m].to)
                output_format(out, "f%u = %u; ", firings->moves[m].factor, firings->moves[m].to);
        text->used = 0;
        circuit_write_label(firings->circuit, firing_label(firings, i), text);
        output_char(text, '\0');
        output_text(out, "printf(\"");
        write_printed(out, text->failure ? "" : text->buffer);
        output_text(out, "\\n\") }\n");
        fine = !text->failure;
    }
    output_text(out, firings->count > 0 ? "    od\n}\n" : "}\n");
    return fine;
}

gordian_status promela_write_circuit(const gordian_circuit *circuit, struct output *out,
                                     gordian_error *error)
{
    struct firings firings;
    struct output text;
    TRY(firings_list_all(&firings, circuit, "a model", error));
    bool fine = output_open(&text, OUTPUT_MEMORY);
    if (fine) {
        fine = write_model(&firings, &text, out);
        output_close(&text);
    }
    firings_free(&firings);
    return fine ? GORDIAN_OK : fail_memory(error);
}

/* ------------------------------------------------------------------ .treo */

/* {a,~b}: lists every name, firing or not. */
static void write_treo_firing(const struct mentioned *mentioned, const char *label)
{
    struct output *out = mentioned->out;
    for (uint32_t n = 0; n < mentioned->names.count; n++) {
        struct label_part part;
        bool fires = false;
        for (const char *at = label; label_next(&at, &part);)
            fires |= label_part_is(&part, labels_text(&mentioned->names, n));
        output_text(out, n ? "," : "{");
        output_text(out, fires ? "" : "~");
        write_process_name(mentioned, n);
    }
    output_char(out, '}');
}

static void write_treo_data(const struct mentioned *mentioned, const char *label)
{
    struct label_part part;
    while (label_next(&label, &part)) {
        char plain[GORDIAN_NAME_MAX + 1];
        if (!part.datum)
            continue;
        size_t bytes = data_read_shown(part.datum, part.datum_length, plain, sizeof plain);
        output_text(mentioned->out, ", ");
        write_process_name(mentioned, labels_find(&mentioned->names, part.name, part.name_length));
        output_format(mentioned->out, " = \"%.*s\"", (int)bytes, plain);
    }
}

static void write_rules(const struct mentioned *mentioned)
{
    const gordian_graph *graph = mentioned->graph;
    struct output *out = mentioned->out;
    output_format(out, "    #RBA\n    $q = \"s%u\";\n", graph->initial[0]);
    for (uint32_t s = 0; s < graph->state_count && !out->failure; s++)
        for (size_t i = graph->first[s]; i < graph->first[s + 1]; i++) {
            const char *label = labels_text(&graph->labels, graph->arcs[i].label);
            output_text(out, "    ");
            write_treo_firing(mentioned, label);
            output_format(out, " $q = \"s%u\", $q' = \"s%u\"", s, graph->arcs[i].to);
            write_treo_data(mentioned, label);
            output_char(out, '\n');
        }
}

gordian_status treo_write(const gordian_graph *graph, const char *title, struct output *out,
                          gordian_error *error)
{
    struct mentioned mentioned = {0};
    if (graph->initial_count != 1)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "a component has one initial state, this graph has %zu: .ca keeps all",
                    graph->initial_count);
    for (size_t i = 0; i < graph->arc_count; i++)
        if (graph->arcs[i].label == LABEL_TAU)
            return fail(error, GORDIAN_STATUS_INPUT,
                        "a hidden step cannot be written as .treo: remove it with --hide");
    gordian_status status = mention_process_labels(&mentioned, graph, out, error);
    if (status == GORDIAN_OK) {
        output_text(out, "// ");
        write_comment_title(out, title);
        output_char(out, '\n');
        explain_names(&mentioned, "// ", "");
        output_text(out, "main(");
        for (uint32_t n = 0; n < mentioned.names.count; n++) {
            output_text(out, n ? ", " : "");
            write_process_name(&mentioned, n);
        }
        output_text(out, ") {\n");
        write_rules(&mentioned);
        output_text(out, "}\n");
    }
    forget_all(&mentioned);
    return status;
}
