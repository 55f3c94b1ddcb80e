/* The public interface of composition (<gordian/compose.h>): reading and writing, running an
 * engine. */
#include "engines/compose/circuit/net_safety.h"
#include "engines/compose/engine/engine.h"
#include "engines/compose/explore/stubborn_sets.h"
#include "engines/compose/format/aut.h"
#include "engines/compose/format/ca.h"
#include "engines/compose/format/dot.h"
#include "engines/compose/format/pnml.h"
#include "engines/compose/format/process.h"
#include "engines/compose/graph/graph_sink.h"
#include "engines/compose/treo/treo.h"
#include "foundation/base/clock.h"
#include "foundation/base/error.h"
#include "foundation/base/io/output.h"

#include <string.h>

gordian_format gordian_format_of(const char *path)
{
    static const struct {
        const char *ending;
        gordian_format format;
    } formats[] = {{".aut", GORDIAN_FORMAT_AUT},     {".ca", GORDIAN_FORMAT_CA},
                   {".dot", GORDIAN_FORMAT_DOT},     {".pnml", GORDIAN_FORMAT_PNML},
                   {".mcrl2", GORDIAN_FORMAT_MCRL2}, {".pml", GORDIAN_FORMAT_PROMELA},
                   {".treo", GORDIAN_FORMAT_TREO}};
    size_t length = strlen(path);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        size_t tail = strlen(formats[i].ending);
        if (length > tail && strcmp(path + length - tail, formats[i].ending) == 0)
            return formats[i].format;
    }
    return GORDIAN_FORMAT_NONE;
}

/* ------------------------------------------------------------------ reading */

void gordian_circuit_options_init(gordian_circuit_options *options)
{
    *options = (gordian_circuit_options){0};
}

gordian_status gordian_circuit_read(gordian_circuit **out, gordian_format format, const char *name,
                                    const gordian_source *source,
                                    const gordian_circuit_options *options, gordian_fault *fault,
                                    gordian_error *error)
{
    struct text text;
    *out = NULL;
    if (format != GORDIAN_FORMAT_TREO && format != GORDIAN_FORMAT_CA &&
        format != GORDIAN_FORMAT_PNML)
        return fail(error, GORDIAN_STATUS_INPUT, "a circuit is read from .treo, .ca or .pnml");
    if (fault)
        *fault = (gordian_fault){0};
    TRY(text_read(&text, name ? name : "", source, options ? options->allocator : NULL, error));
    gordian_status status =
        (format == GORDIAN_FORMAT_CA     ? ca_read
         : format == GORDIAN_FORMAT_PNML ? pnml_read
                                         : treo_read)(out, &text, options, fault, error);
    text_free(&text);
    return status;
}

gordian_status gordian_graph_read(gordian_graph **out, const char *name,
                                  const gordian_source *source, const gordian_allocator *allocator,
                                  bool *cut, gordian_fault *fault, gordian_error *error)
{
    struct text text;
    bool ignored;
    *out = NULL;
    if (fault)
        *fault = (gordian_fault){0};
    TRY(text_read(&text, name ? name : "", source, allocator, error));
    gordian_status status = aut_read(out, &text, cut ? cut : &ignored, allocator, fault, error);
    text_free(&text);
    return status;
}

/* ------------------------------------------------------------------ composing */

/* Implements max_ns: the engine asks whether to continue, and the time may be over. */
struct time_limit {
    const gordian_compose_options *options;
    uint64_t start;
    bool over;
};

static bool go_on_in_time(void *context, const gordian_compose_progress *progress)
{
    struct time_limit *limit = context;
    const gordian_compose_options *options = limit->options;
    limit->over = clock_ns() - limit->start >= options->max_ns;
    return !limit->over && compose_goes_on(options, progress);
}

static gordian_status begin_nothing(void *context, const gordian_circuit *circuit, uint64_t states,
                                    uint64_t transitions, gordian_error *error)
{
    (void)context, (void)circuit, (void)states, (void)transitions, (void)error;
    return GORDIAN_OK;
}

static gordian_status run_engine(const gordian_circuit *circuit,
                                 const gordian_compose_options *options,
                                 const gordian_compose_sink *sink, gordian_compose_result *result,
                                 gordian_error *error)
{
    const struct compose_engine *engine;
    /* Engines require both functions. */
    gordian_compose_sink both = sink ? *sink : (gordian_compose_sink){0};
    both.begin = both.begin ? both.begin : begin_nothing;
    if (options->reduce)
        return compose_reduced(circuit, options, result, error);
    TRY(compose_choose(circuit, options, &engine, error));
    return engine->run(circuit, options, sink ? &both : NULL, result, error);
}

/* Composes nets that may not be 1-safe: searches for second tokens first, only briefly unless the
 * product is delivered, and thoroughly after the run if necessary. */
static gordian_status run_watched(const gordian_circuit *circuit,
                                  const gordian_compose_options *options,
                                  const gordian_compose_sink *sink, gordian_compose_result *result,
                                  gordian_error *error)
{
    gordian_compose_stop stop;
    gordian_status status = safety_search(circuit, options, sink != NULL, result, &stop, error);
    if (status != GORDIAN_OK || stop == GORDIAN_COMPOSE_STOP_UNSAFE)
        return status;
    status = run_engine(circuit, options, sink, result, error);
    THEN(status, safety_review(circuit, result, error));
    if (status == GORDIAN_OK && result->stop == GORDIAN_COMPOSE_STOP_COMPLETE && !sink &&
        stop != GORDIAN_COMPOSE_STOP_COMPLETE)
        status = safety_search(circuit, options, true, result, &stop, error);
    if (result->stop == GORDIAN_COMPOSE_STOP_COMPLETE)
        result->stop = stop;
    return status;
}

/* The circuit lacks transitions, so a state without a successor need not be a deadlock. */
static void void_deadlocks(gordian_compose_result *result)
{
    if (result->stop == GORDIAN_COMPOSE_STOP_UNSAFE)
        return; /* found[0] is the path to a second token */
    compose_forget_deadlocks(result);
    if (result->stop == GORDIAN_COMPOSE_STOP_COMPLETE)
        result->stop = GORDIAN_COMPOSE_STOP_CUT;
}

gordian_status gordian_compose(const gordian_circuit *circuit,
                               const gordian_compose_options *options,
                               const gordian_compose_sink *sink, gordian_compose_result *result,
                               gordian_error *error)
{
    gordian_compose_options own;
    gordian_compose_options_init(&own);
    own = options ? *options : own;
    struct time_limit limit = {.options = options, .start = clock_ns()};
    if (own.max_ns) {
        own.go_on = go_on_in_time;
        own.context = &limit;
    }
    *result = (gordian_compose_result){.allocator = memory_allocator(own.allocator)};
    if (own.reduce && (sink || own.full))
        return fail(error, GORDIAN_STATUS_INPUT, "a search that omits states has no product");
    gordian_status status =
        (circuit->safety_count ? run_watched : run_engine)(circuit, &own, sink, result, error);
    if (circuit->incomplete)
        void_deadlocks(result);
    if (status == GORDIAN_STATUS_MEMORY && result->deadlocks > 0) {
        result->stop = GORDIAN_COMPOSE_STOP_MEMORY; /* the deadlocks found remain */
        status = GORDIAN_OK;
    }
    if (status != GORDIAN_OK)
        gordian_compose_result_free(result);
    if (result->stop == GORDIAN_COMPOSE_STOP_STOPPED && limit.over)
        result->stop = GORDIAN_COMPOSE_STOP_TIME;
    return status;
}

/* Calls two sinks, one after the other. With `keep`, a sink that runs out of memory ends the run,
 * but its results remain. */
struct both_sinks {
    gordian_compose_sink sink;
    const gordian_compose_sink *first, *second; /* first NULL: only the second */
    const gordian_compose_options *options;
    bool keep, full;
};

static gordian_status bound_status(struct both_sinks *both, gordian_status status)
{
    both->full |= both->keep && status == GORDIAN_STATUS_MEMORY;
    return both->full ? GORDIAN_OK : status;
}

static gordian_status begin_both(void *context, const gordian_circuit *circuit, uint64_t states,
                                 uint64_t transitions, gordian_error *error)
{
    struct both_sinks *both = context;
    gordian_status status = GORDIAN_OK;
    if (both->first && both->first->begin) /* the sink of a caller may have none */
        status = both->first->begin(both->first->context, circuit, states, transitions, error);
    THEN(status, both->second->begin(both->second->context, circuit, states, transitions, error));
    return bound_status(both, status);
}

static gordian_status give_both(void *context, const gordian_compose_row *row, gordian_error *error)
{
    struct both_sinks *both = context;
    gordian_status status = GORDIAN_OK;
    if (both->full)
        return GORDIAN_OK;
    if (both->first)
        status = both->first->row(both->first->context, row, error);
    THEN(status, both->second->row(both->second->context, row, error));
    return bound_status(both, status);
}

static bool go_on_bounded(void *context, const gordian_compose_progress *progress)
{
    struct both_sinks *both = context;
    return !both->full && compose_goes_on(both->options, progress);
}

static gordian_status compose_both(const gordian_circuit *circuit,
                                   const gordian_compose_options *options, struct both_sinks *both,
                                   gordian_compose_result *result, gordian_error *error)
{
    gordian_compose_options own, defaults;
    gordian_compose_options_init(&defaults);
    both->sink = (gordian_compose_sink){both, begin_both, give_both};
    both->options = options ? options : &defaults;
    own = *both->options;
    own.go_on = go_on_bounded;
    own.context = both;
    gordian_status status = gordian_compose(circuit, &own, &both->sink, result, error);
    if (status != GORDIAN_OK || !both->full)
        return status;
    if (result->deadlocks == 0) {
        gordian_compose_result_free(result);
        return fail_memory(error);
    }
    result->stop = GORDIAN_COMPOSE_STOP_MEMORY;
    return GORDIAN_OK;
}

static gordian_status collect_graph(gordian_graph **out, const gordian_circuit *circuit,
                                    const gordian_compose_options *options,
                                    const gordian_compose_sink *sink,
                                    const gordian_allocator *allocator, bool keep,
                                    gordian_compose_result *result, gordian_error *error)
{
    struct graph_sink graph;
    *out = NULL;
    *result = (gordian_compose_result){0};
    TRY(graph_sink_open(&graph, allocator, error));
    struct both_sinks both = {.first = sink, .second = &graph.sink, .keep = keep};
    gordian_status status = compose_both(circuit, options, &both, result, error);
    if (status != GORDIAN_OK || result->stop != GORDIAN_COMPOSE_STOP_COMPLETE) {
        graph_sink_abandon(&graph);
        return status;
    }
    status = graph_sink_close(&graph, out, error);
    if (status == GORDIAN_STATUS_MEMORY && keep && result->deadlocks > 0) {
        result->stop = GORDIAN_COMPOSE_STOP_MEMORY;
        return GORDIAN_OK;
    }
    if (status != GORDIAN_OK)
        gordian_compose_result_free(result);
    return status;
}

gordian_status gordian_compose_graph(gordian_graph **out, const gordian_circuit *circuit,
                                     const gordian_compose_options *options,
                                     const gordian_compose_sink *sink,
                                     const gordian_allocator *allocator,
                                     gordian_compose_result *result, gordian_error *error)
{
    return collect_graph(out, circuit, options, sink, allocator, true, result, error);
}

gordian_status compose_whole_graph(gordian_graph **out, const gordian_circuit *circuit,
                                   const gordian_compose_options *options,
                                   const gordian_compose_sink *sink,
                                   const gordian_allocator *allocator,
                                   gordian_compose_result *result, gordian_error *error)
{
    bool limited = options && options->max_memory;
    gordian_status status =
        collect_graph(out, circuit, options, sink, allocator, false, result, error);
    if (status != GORDIAN_OK || result->stop != GORDIAN_COMPOSE_STOP_MEMORY || limited)
        return status;
    gordian_compose_result_free(result);
    return fail_memory(error);
}

/* ------------------------------------------------------------------ writing */

static gordian_status no_format(const char *what, gordian_error *error)
{
    return fail(error, GORDIAN_STATUS_INPUT, "%s cannot be written in this format", what);
}

/* Other formats cannot mark a product as incomplete, so their readers would find false
 * deadlocks. */
static gordian_status check_mark(bool incomplete, gordian_format format, gordian_error *error)
{
    if (!incomplete || format == GORDIAN_FORMAT_AUT || format == GORDIAN_FORMAT_CA ||
        format == GORDIAN_FORMAT_DOT)
        return GORDIAN_OK;
    return fail(error, GORDIAN_STATUS_INPUT,
                "an incomplete product can only be written as .aut, .ca or .dot");
}

/* Flushes the output. A write error overrides `status`. */
static gordian_status end_writing(struct output *out, gordian_status status, gordian_error *error)
{
    if (output_close(out))
        return status;
    return fail(error, GORDIAN_STATUS_IO, "writing failed: %s", strerror(out->failure));
}

gordian_status gordian_compose_write(const gordian_circuit *circuit,
                                     const gordian_compose_options *options,
                                     const gordian_compose_sink *sink, gordian_format format,
                                     const gordian_writer *writer, gordian_compose_result *result,
                                     gordian_error *error)
{
    struct output out;
    struct aut_sink aut;
    struct ca_sink ca;
    struct dot_sink dot;
    *result = (gordian_compose_result){0};
    if (format == GORDIAN_FORMAT_NONE || format > GORDIAN_FORMAT_PROMELA)
        return no_format("a product", error);
    if (format < GORDIAN_FORMAT_CA || format > GORDIAN_FORMAT_DOT) {
        /* These formats cannot be streamed. */
        gordian_graph *graph;
        gordian_status status =
            gordian_compose_graph(&graph, circuit, options, sink, NULL, result, error);
        if (status == GORDIAN_OK && graph)
            status = gordian_graph_write(graph, circuit->title, circuit, format, writer, error);
        gordian_graph_close(graph);
        if (status != GORDIAN_OK)
            gordian_compose_result_free(result);
        return status;
    }
    if (!output_open_writer(&out, writer))
        return fail_memory(error);
    aut_sink_open(&aut, &out);
    ca_sink_open(&ca, &out);
    dot_sink_open(&dot, &out);
    const gordian_compose_sink *second = format == GORDIAN_FORMAT_AUT  ? &aut.sink
                                         : format == GORDIAN_FORMAT_CA ? &ca.sink
                                                                       : &dot.sink;
    struct both_sinks both = {.first = sink, .second = second};
    gordian_status status = compose_both(circuit, options, &both, result, error);
    bool incomplete = status != GORDIAN_OK || result->stop != GORDIAN_COMPOSE_STOP_COMPLETE;
    aut_sink_close(&aut, incomplete);
    ca_sink_close(&ca, incomplete); /* does nothing if the sink was not used */
    dot_sink_close(&dot, incomplete);
    status = end_writing(&out, status, error);
    if (status != GORDIAN_OK)
        gordian_compose_result_free(result);
    return status;
}

gordian_status gordian_circuit_write(const gordian_circuit *circuit, gordian_format format,
                                     const gordian_writer *writer, gordian_error *error)
{
    struct output out;
    gordian_status status = GORDIAN_OK;
    if (format != GORDIAN_FORMAT_CA && format != GORDIAN_FORMAT_DOT &&
        format != GORDIAN_FORMAT_PNML && format != GORDIAN_FORMAT_PROMELA)
        return no_format("a circuit", error);
    TRY(check_mark(circuit->incomplete, format, error));
    if (!output_open_writer(&out, writer))
        return fail_memory(error);
    if (format == GORDIAN_FORMAT_CA)
        status = ca_write_circuit(circuit, &out, error);
    else if (format == GORDIAN_FORMAT_PNML)
        status = pnml_write_circuit(circuit, &out, error);
    else if (format == GORDIAN_FORMAT_PROMELA)
        status = promela_write_circuit(circuit, &out, error);
    else
        dot_write_circuit(circuit, &out);
    return end_writing(&out, status, error);
}

gordian_status gordian_graph_write(const gordian_graph *graph, const char *title,
                                   const gordian_circuit *circuit, gordian_format format,
                                   const gordian_writer *writer, gordian_error *error)
{
    struct output out;
    gordian_status status = GORDIAN_OK;
    TRY(check_mark(graph->incomplete, format, error));
    if (!output_open_writer(&out, writer))
        return fail_memory(error);
    switch (format) {
    case GORDIAN_FORMAT_TREO:
        status = treo_write(graph, title, &out, error);
        break;
    case GORDIAN_FORMAT_CA:
        status = ca_write_graph(graph, circuit, title, &out, error);
        break;
    case GORDIAN_FORMAT_AUT:
        aut_write(graph, &out);
        break;
    case GORDIAN_FORMAT_DOT:
        dot_write_graph(graph, title, &out);
        break;
    case GORDIAN_FORMAT_PNML:
        status = pnml_write_graph(graph, title, &out, error);
        break;
    case GORDIAN_FORMAT_MCRL2:
        status = mcrl2_write(graph, title, &out, error);
        break;
    case GORDIAN_FORMAT_PROMELA:
        status = promela_write(graph, title, &out, error);
        break;
    default:
        status = no_format("a graph", error);
    }
    return end_writing(&out, status, error);
}

/* ------------------------------------------------------------------ circuits */

void gordian_circuit_describe(const gordian_circuit *circuit, gordian_circuit_info *info)
{
    *info = (gordian_circuit_info){
        .title = circuit->title,
        .name_count = circuit->name_count,
        .datum_count = circuit->data.port_size,
        .automaton_count = circuit->factor_count,
        .label_words = circuit->label_words,
        .combinations = circuit->whole_fits ? circuit->whole : UINT64_MAX,
        .initial = circuit->initial,
    };
}

const char *gordian_circuit_notes(const gordian_circuit *circuit)
{
    return circuit->notes ? circuit->notes : "";
}

const char *gordian_circuit_name(const gordian_circuit *circuit, uint32_t name)
{
    return name < circuit->name_count ? names_text(&circuit->names, name) : NULL;
}

const char *gordian_circuit_datum(const gordian_circuit *circuit, uint32_t datum)
{
    const struct data *data = &circuit->data;
    return datum < data->port_size ? data_text(data, data->domain[datum]) : NULL;
}

bool gordian_circuit_is_port(const gordian_circuit *circuit, uint32_t name)
{
    return name < circuit->name_count && circuit->boundary[name];
}

gordian_status gordian_circuit_automaton(const gordian_circuit *circuit, size_t index,
                                         gordian_automaton_info *info)
{
    if (index >= circuit->factor_count)
        return GORDIAN_STATUS_END;
    const struct shape *shape = factor_shape(circuit, (uint32_t)index);
    *info = (gordian_automaton_info){shape->state_count, shape->transition_count};
    return GORDIAN_OK;
}

size_t gordian_circuit_label_text(const gordian_circuit *circuit, const uint64_t *label,
                                  char *buffer, size_t size)
{
    struct output out;
    output_fixed(&out, buffer, size);
    circuit_write_label(circuit, label, &out);
    return output_fixed_end(&out);
}

size_t gordian_circuit_automaton_text(const gordian_circuit *circuit, size_t automaton,
                                      char *buffer, size_t size)
{
    struct output out;
    output_fixed(&out, buffer, size);
    if (automaton < circuit->factor_count)
        circuit_write_factor(circuit, (uint32_t)automaton, &out);
    return output_fixed_end(&out);
}

size_t gordian_circuit_state_text(const gordian_circuit *circuit, size_t automaton, uint32_t state,
                                  char *buffer, size_t size)
{
    struct output out;
    output_fixed(&out, buffer, size);
    if (automaton < circuit->factor_count &&
        state < factor_shape(circuit, (uint32_t)automaton)->state_count)
        circuit_write_state(circuit, (uint32_t)automaton, state, &out);
    return output_fixed_end(&out);
}

/* ------------------------------------------------------------------ graphs */

uint32_t gordian_graph_states(const gordian_graph *graph)
{
    return graph->state_count;
}

size_t gordian_graph_transitions(const gordian_graph *graph)
{
    return graph->arc_count;
}

const uint32_t *gordian_graph_initial(const gordian_graph *graph, size_t *count)
{
    *count = graph->initial_count;
    return graph->initial;
}

const gordian_graph_arc *gordian_graph_arcs(const gordian_graph *graph, uint32_t state,
                                            size_t *count)
{
    *count = state < graph->state_count ? graph->first[state + 1] - graph->first[state] : 0;
    return *count ? graph->arcs + graph->first[state] : NULL;
}

const char *gordian_graph_label(const gordian_graph *graph, uint32_t label)
{
    return label < graph->labels.count ? labels_text(&graph->labels, label) : NULL;
}
