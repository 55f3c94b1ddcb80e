/* Writes .ca files. */
#include "engines/compose/format/ca.h"
#include "engines/compose/graph/graph.h"
#include "engines/compose/treo/lex.h"
#include "foundation/base/error.h"
#include "foundation/base/io/output.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The circuit to write, and its names in the text. */
struct writing {
    const gordian_circuit *circuit;
    struct output *out;
    char *const *renamed;  /* by name: another name, or NULL; NULL: no name is replaced */
    size_t first_function; /* the number of the first table */
};

/* ------------------------------------------------------------------ names and data */

static bool is_ca_word(const char *text)
{
    static const char *const reserved[] = {"true",   "false",     "null",
                                           "memory", "automaton", "define"};
    if (strspn(text, TEXT_LETTERS) == 0 || text[strspn(text, TEXT_LETTERS TEXT_DIGITS "_")])
        return false;
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (strcmp(text, reserved[i]) == 0)
            return false;
    return true;
}

static void write_ca_name(struct output *out, const char *text)
{
    const char *quote = is_ca_word(text) ? "" : "`";
    output_text(out, quote);
    output_text(out, text);
    output_text(out, quote);
}

static void write_port(const struct writing *w, uint32_t name)
{
    bool other = w->renamed && w->renamed[name];
    write_ca_name(w->out, other ? w->renamed[name] : names_text(&w->circuit->names, name));
}

void ca_write_datum(const char *text, struct output *out)
{
    output_char(out, '"');
    output_text(out, text);
    output_char(out, '"');
}

void ca_write_title(const char *title, struct output *out)
{
    output_char(out, '"');
    for (; *title; title++)
        output_char(out, *title == '"' ? '\'' : (unsigned char)*title < ' ' ? ' ' : *title);
    output_char(out, '"');
}

static const char *direction_mark(uint8_t direction)
{
    static const char *const marks[] = {
        [PORT_UNKNOWN] = "", [PORT_IN] = "?", [PORT_OUT] = "!", [PORT_MIXED] = ":"};
    return marks[direction];
}

static void write_data_line(const gordian_circuit *circuit, struct output *out)
{
    output_text(out, "data");
    for (uint32_t d = 0; d < circuit->data.port_size; d++) {
        output_char(out, ' ');
        ca_write_datum(data_text(&circuit->data, circuit->data.domain[d]), out);
    }
    output_text(out, "\n");
}

/* Rows as [[a,b],c]; rows of a predicate end in true. */
static void write_function_tables(const struct writing *w)
{
    struct output *out = w->out;
    const struct data *data = &w->circuit->data;
    for (size_t f = 0; f < data->function_count; f++) {
        const struct function *function = &data->functions[f];
        bool table = function->kind == FUNCTION_TABLE;
        size_t width = (size_t)function->arity + table;
        if (data_builtin_name(function->kind))
            continue;
        output_format(out, "define f%zu = {", w->first_function + f);
        for (uint32_t r = 0; r < function->row_count; r++) {
            output_text(out, r ? " [[" : "[[");
            for (uint32_t i = 0; i < function->arity; i++) {
                if (i > 0)
                    output_char(out, ',');
                if (function->rows[r * width + i] == FUNCTION_ANY_DATUM)
                    output_char(out, '*');
                else
                    ca_write_datum(data_text(data, function->rows[r * width + i]), out);
            }
            output_text(out, "],");
            ca_write_datum(
                table ? data_text(data, function->rows[r * width + function->arity]) : "true", out);
            output_char(out, ']');
        }
        output_text(out, "}\n");
    }
}

/* ------------------------------------------------------------------ guards */

struct guard_writer {
    const struct writing *writing;
    const struct automaton *automaton;
    const uint32_t *names; /* of the ports */
    struct output *out;
};

static void write_node(const struct guard_writer *writer, uint32_t number);

static void write_application(const struct guard_writer *writer, const struct guard_node *node)
{
    const struct guard_node *nodes = writer->automaton->guards.nodes;
    const char *builtin =
        data_builtin_name(writer->writing->circuit->data.functions[node->symbol].kind);
    if (builtin)
        output_text(writer->out, builtin);
    else
        output_format(writer->out, "f%zu", writer->writing->first_function + node->symbol);
    for (uint32_t list = node->left; list != GUARD_NONE; list = nodes[list].right) {
        output_char(writer->out, list == node->left ? '(' : ',');
        write_node(writer, nodes[list].left);
    }
    output_char(writer->out, ')');
}

static void write_pair(const struct guard_writer *writer, const struct guard_node *node,
                       const char *between)
{
    bool brackets = node->kind != GUARD_EQUAL;
    output_text(writer->out, brackets ? "(" : "");
    write_node(writer, node->left);
    output_text(writer->out, between);
    write_node(writer, node->right);
    output_text(writer->out, brackets ? ")" : "");
}

static void write_node(const struct guard_writer *writer, uint32_t number)
{
    const struct guard_node *node = &writer->automaton->guards.nodes[number];
    struct output *out = writer->out;
    switch ((enum guard_kind)node->kind) {
    case GUARD_TRUE:
        output_text(out, "true");
        break;
    case GUARD_FALSE:
        output_text(out, "false");
        break;
    case GUARD_AND:
        write_pair(writer, node, " && ");
        break;
    case GUARD_OR:
        write_pair(writer, node, " || ");
        break;
    case GUARD_NOT:
        output_text(out, "!(");
        write_node(writer, node->left);
        output_char(out, ')');
        break;
    case GUARD_EQUAL:
        write_pair(writer, node, " = ");
        break;
    case GUARD_PREDICATE:
    case TERM_APPLY:
        write_application(writer, node);
        break;
    case TERM_PORT:
        write_port(writer->writing, writer->names[node->symbol]);
        break;
    case TERM_NOW:
    case TERM_NEXT:
        output_char(out, '$');
        write_ca_name(out, writer->automaton->cells[node->symbol].name);
        if (node->kind == TERM_NEXT)
            output_char(out, '\'');
        break;
    case TERM_CONSTANT:
        ca_write_datum(data_text(&writer->writing->circuit->data, node->symbol), out);
        break;
    case TERM_NULL:
    case TERM_LIST:
        output_text(out, "null");
        break;
    }
}

/* A conjunction without brackets: a, b, c. It is left-deep and may be long. */
static void write_guard(const struct guard_writer *writer, uint32_t guard)
{
    const struct guard_node *nodes = writer->automaton->guards.nodes;
    size_t parts = 1;
    for (uint32_t at = guard; nodes[at].kind == GUARD_AND; at = nodes[at].left)
        parts++;
    for (size_t part = parts; part-- > 0;) {
        uint32_t at = guard;
        for (size_t i = 0; i < part; i++)
            at = nodes[at].left;
        write_node(writer, nodes[at].kind == GUARD_AND ? nodes[at].right : at);
        if (part > 0)
            output_text(writer->out, ", ");
    }
}

/* ------------------------------------------------------------------ automata */

static void write_state(struct output *out, const struct automaton *automaton, uint32_t state)
{
    if (automaton->states[state].name)
        write_ca_name(out, automaton->states[state].name);
    else
        output_u64(out, state);
}

/* ", 3," before a guard, with enough digits to read the same number. */
static void write_cost(struct output *out, double cost)
{
    char text[400];
    double again = NAN;
    if (isnan(cost))
        return;
    for (int digits = 0; digits < 40 && again != cost; digits++) {
        int length = snprintf(text, sizeof text, "%.*f", digits, cost);
        decimal_read(text, (size_t)length, &again);
    }
    output_format(out, ", %s,", text);
}

static void write_automaton_head(const struct writing *w, const struct factor *factor,
                                 const struct shape *shape, bool merged)
{
    struct output *out = w->out;
    output_text(out, "automaton ");
    ca_write_title(factor->title ? factor->title : shape->automaton->title, out);
    output_text(out, " (");
    for (uint32_t p = 0; p < shape->port_count; p++) {
        if (p > 0)
            output_text(out, ", ");
        write_port(w, factor->names[p]);
        output_text(out, merged ? "" : direction_mark(shape->automaton->ports[p].direction));
    }
    output_text(out, ") {\n");
}

/* The original form. */
static void write_symbolic(const struct writing *w, const struct factor *factor,
                           const struct automaton *automaton)
{
    struct output *out = w->out;
    struct guard_writer writer = {w, automaton, factor->names, out};
    size_t words = automaton_words(automaton);
    for (size_t c = 0; c < automaton->cell_count; c++) {
        output_text(out, "    memory ");
        write_ca_name(out, automaton->cells[c].name);
        if (automaton->cells[c].initial != GORDIAN_NONE) {
            output_text(out, " = ");
            ca_write_datum(data_text(&w->circuit->data, automaton->cells[c].initial), out);
        }
        output_char(out, '\n');
    }
    for (uint32_t s = 0; s < automaton->state_count; s++) {
        if (!automaton->states[s].initial)
            continue;
        output_text(out, "    ");
        write_state(out, automaton, s);
        output_text(out, " : initial\n");
    }
    for (size_t t = 0; t < automaton->transition_count; t++) {
        const struct automaton_transition *transition = &automaton->transitions[t];
        bool any = false;
        output_text(out, "    ");
        write_state(out, automaton, transition->from);
        output_text(out, " -> ");
        write_state(out, automaton, transition->to);
        output_text(out, " : {");
        for (uint32_t p = 0; p < automaton->port_count; p++) {
            if (!bits_test(automaton->fires + t * words, p))
                continue;
            output_text(out, any ? ", " : "");
            any = true;
            write_port(w, factor->names[p]);
        }
        output_text(out, "}");
        write_cost(out, transition->cost);
        output_char(out, ' ');
        write_guard(&writer, transition->guard);
        output_char(out, '\n');
    }
}

/* {a, b} a = 0, b = 1, for a label of the circuit */
static void write_ca_label(const struct writing *w, const uint64_t *label, double cost)
{
    const gordian_circuit *circuit = w->circuit;
    struct output *out = w->out;
    bool any = false;
    output_char(out, '{');
    for (uint32_t n = 0; n < circuit->name_count; n++) {
        if (!label_fires(label, n))
            continue;
        output_text(out, any ? ", " : "");
        any = true;
        write_port(w, n);
    }
    output_char(out, '}');
    write_cost(out, cost);
    if (!isnan(cost) && circuit->value_bits == 0)
        output_text(out, " true");
    any = false;
    for (uint32_t n = 0; circuit->value_bits > 0 && n < circuit->name_count; n++) {
        if (!label_fires(label, n))
            continue;
        output_text(out, any ? ", " : " ");
        any = true;
        write_port(w, n);
        output_text(out, " = ");
        ca_write_datum(
            data_value_text(&circuit->data, 1 + gordian_circuit_value(circuit, label, n)), out);
    }
    output_char(out, '\n');
}

/* If ports share a name, only the unfolded automaton has the resulting transitions. */
static bool write_unfolded(const struct writing *w, uint32_t factor)
{
    const gordian_circuit *circuit = w->circuit;
    struct output *out = w->out;
    const struct shape *shape = factor_shape(circuit, factor);
    uint64_t *label = memory_alloc(&circuit->memory, circuit->label_words * sizeof *label);
    if (!label)
        return false;
    for (uint32_t s = 0; s < shape->initial_count; s++)
        output_format(out, "    %u : initial\n", s);
    for (uint32_t s = 0; s < shape->state_count; s++) {
        for (size_t t = shape->first[s]; t < shape->first[s + 1]; t++) {
            struct cost cost = shape->costs ? shape->costs[t] : (struct cost){NAN, NAN};
            factor_label(circuit, factor, t, label);
            output_format(out, "    %u -> %u : ", s, shape->to[t]);
            write_ca_label(w, label, cost.least);
            if (cost.least == cost.greatest || isnan(cost.least))
                continue;
            output_format(out, "    %u -> %u : ", s, shape->to[t]);
            write_ca_label(w, label, cost.greatest);
        }
    }
    memory_free(&circuit->memory, label);
    return true;
}

static gordian_status write_factors(const struct writing *w, gordian_error *error)
{
    const gordian_circuit *circuit = w->circuit;
    struct output *out = w->out;
    write_function_tables(w);
    for (uint32_t f = 0; f < circuit->factor_count; f++) {
        const struct shape *shape = factor_shape(circuit, f);
        const struct factor *factor = &circuit->factors[f];
        bool merged = shape->port_count != shape->automaton->port_count;
        write_automaton_head(w, factor, shape, merged);
        if (!merged)
            write_symbolic(w, factor, shape->automaton);
        else if (!write_unfolded(w, f))
            return fail_memory(error);
        output_text(out, "}\n");
    }
    if (out->failure)
        return fail(error, GORDIAN_STATUS_IO, "writing failed: %s", strerror(out->failure));
    return GORDIAN_OK;
}

gordian_status ca_write_circuit(const gordian_circuit *circuit, struct output *out,
                                gordian_error *error)
{
    struct writing w = {.circuit = circuit, .out = out};
    write_data_line(circuit, out);
    TRY(write_factors(&w, error));
    if (circuit->incomplete)
        output_text(out, CA_INCOMPLETE "\n");
    return GORDIAN_OK;
}

gordian_status ca_write_factors(const gordian_circuit *circuit, char *const *renamed,
                                size_t first_function, struct output *out, gordian_error *error)
{
    struct writing w = {circuit, out, renamed, first_function};
    return write_factors(&w, error);
}

/* ------------------------------------------------------------------ a product */

static gordian_status begin_ca(void *context, const gordian_circuit *circuit, uint64_t states,
                               uint64_t transitions, gordian_error *error)
{
    struct ca_sink *sink = context;
    struct output *out = sink->out;
    (void)states, (void)transitions, (void)error;
    sink->circuit = circuit;
    write_data_line(circuit, out);
    output_text(out, "automaton ");
    ca_write_title(circuit->title, out);
    output_text(out, " (");
    for (uint32_t n = 0; n < circuit->name_count; n++) {
        output_text(out, n ? ", " : "");
        write_ca_name(out, names_text(&circuit->names, n));
        output_text(out, circuit->boundary[n] ? direction_mark(circuit->directions[n]) : "");
    }
    output_text(out, ") {\n");
    return GORDIAN_OK;
}

static gordian_status write_ca_row(void *context, const gordian_compose_row *row,
                                   gordian_error *error)
{
    struct ca_sink *sink = context;
    struct output *out = sink->out;
    struct writing w = {.circuit = sink->circuit, .out = out};
    if (row->initial)
        output_format(out, "    %llu : initial\n", (unsigned long long)row->number);
    for (size_t i = 0; i < row->count; i++) {
        output_format(out, "    %llu -> %llu : ", (unsigned long long)row->number,
                      (unsigned long long)row->to[i]);
        write_ca_label(&w, row->labels + i * sink->circuit->label_words, NAN);
    }
    if (out->failure)
        return fail(error, GORDIAN_STATUS_IO, "writing failed: %s", strerror(out->failure));
    return GORDIAN_OK;
}

void ca_sink_open(struct ca_sink *sink, struct output *out)
{
    *sink = (struct ca_sink){.sink = {.context = sink, .begin = begin_ca, .row = write_ca_row},
                             .out = out};
}

void ca_sink_close(struct ca_sink *sink, bool incomplete)
{
    if (!sink->circuit)
        return;
    output_flush(sink->out); /* the brace and the mark go to the file in one write */
    output_text(sink->out, incomplete ? "}\n" CA_INCOMPLETE "\n" : "}\n");
}

/* ------------------------------------------------------------------ a graph */

/* Writing a graph as .ca. */
/* The names and data that labels mention, each once. */
struct mentioned {
    struct label_table names, data;
    bool bare;              /* a name without a datum is among them */
    gordian_circuit *rules; /* what says no to names and data that a .ca cannot have */
    gordian_error *error;
};

static gordian_status mention_graph_label(struct mentioned *mentioned, const char *label)
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

static gordian_status mention_graph_labels(struct mentioned *mentioned, const gordian_graph *graph)
{
    for (size_t i = 0; i < graph->arc_count; i++) {
        if (graph->arcs[i].label == LABEL_TAU)
            return fail(mentioned->error, GORDIAN_STATUS_INPUT,
                        "a hidden step cannot be written as .ca: remove it with --hide");
        TRY(mention_graph_label(mentioned, labels_text(&graph->labels, graph->arcs[i].label)));
    }
    if (mentioned->bare && mentioned->data.count > 0)
        return fail(mentioned->error, GORDIAN_STATUS_INPUT,
                    "some names have a datum and others none: that cannot be written as .ca");
    return GORDIAN_OK;
}

/* Writes all data of the circuit, or the data that occur in the labels of a graph. Labels do not
 * show the datum if there is only one. In that case a second datum is added, which never occurs. */
static void write_graph_data(const struct mentioned *mentioned, const gordian_circuit *circuit,
                             struct output *out)
{
    if (mentioned->data.count == 0)
        return;
    if (circuit) {
        write_data_line(circuit, out);
        return;
    }
    output_text(out, "data");
    for (uint32_t d = 0; d < mentioned->data.count; d++)
        output_format(out, " \"%s\"", labels_text(&mentioned->data, d));
    if (mentioned->data.count == 1)
        output_format(out, " \"not_%s\"", labels_text(&mentioned->data, 0));
    output_char(out, '\n');
}

static void write_graph_firing(const char *label, struct output *out)
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
    THEN(status, mention_graph_labels(&mentioned, graph));
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
                write_graph_firing(labels_text(&graph->labels, graph->arcs[i].label), out);
            }
        output_text(out, graph->incomplete ? "}\n" CA_INCOMPLETE "\n" : "}\n");
    }
    gordian_circuit_close(mentioned.rules);
    labels_free(&mentioned.names);
    labels_free(&mentioned.data);
    return status;
}
