/* Runs an engine on a circuit: limits, order, progress, ctrl-C, statistics on the way; then what is
 * done to the product as a graph. */
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/reader.h"
#include "cli/compose/compose.h"
#include "cli/interrupt.h"

#include <string.h>

/* ------------------------------------------------------------------ ctrl-C and progress */

static void show_progress(struct compose *compose, const struct compose_progress *now)
{
    struct progress *line = &compose->cli->progress;
    double seconds = progress_seconds(line);
    double memory = (double)now->memory / 1e6;
    if (now->pass == 2)
        progress_show(line, "%.2f million transitions written, %.2f million/s, %.0f MB",
                      (double)now->written / 1e6, (double)now->written / 1e6 / seconds, memory);
    else
        progress_show(line,
                      "%.2f million states (%.2f waiting), %.2f million transitions, "
                      "%.2f million states/s, %.0f MB",
                      (double)now->states / 1e6, (double)now->waiting / 1e6,
                      (double)now->transitions / 1e6, (double)now->states / 1e6 / seconds, memory);
}

static bool go_on(void *context, const struct compose_progress *now)
{
    struct compose *compose = context;
    if (progress_due(&compose->cli->progress))
        show_progress(compose, now);
    if (interrupt_seen())
        compose->interrupted = true;
    return !compose->interrupted;
}

/* ------------------------------------------------------------------ the order */

static gordian_status take_place(const char *text, size_t length, size_t count, uint32_t *order,
                                 size_t used, gordian_error *error)
{
    uint64_t number;
    const char *why;
    if (!parse_u64(text, length, &number, &why))
        return fail(error, GORDIAN_STATUS_INPUT, "--order: '%.*s' %s", (int)length, text, why);
    if (number < 1 || number > count)
        return fail(error, GORDIAN_STATUS_INPUT, "--order: there are automata 1 to %zu, not %llu",
                    count, (unsigned long long)number);
    for (size_t i = 0; i < used; i++)
        if (order[i] == number - 1)
            return fail(error, GORDIAN_STATUS_INPUT, "--order: %llu is there twice",
                        (unsigned long long)number);
    order[used] = (uint32_t)number - 1;
    return GORDIAN_OK;
}

/* "2,1,3": numbers as --explain shows them; "text": as they stand there. */
static gordian_status read_order(const char *text, size_t count, uint32_t *order,
                                 gordian_error *error)
{
    size_t used = 0;
    if (strcmp(text, "text") == 0) {
        for (; used < count; used++)
            order[used] = (uint32_t)used;
        return GORDIAN_OK;
    }
    for (bool more = true; more;) {
        size_t length = strcspn(text, ",");
        if (used == count)
            return fail(error, GORDIAN_STATUS_INPUT, "--order: there are %zu automata only", count);
        gordian_status status = take_place(text, length, count, order, used++, error);
        if (status != GORDIAN_OK)
            return status;
        more = text[length] == ',';
        text += length + more;
    }
    if (used < count)
        return fail(error, GORDIAN_STATUS_INPUT, "--order: %zu of the %zu automata are missing",
                    count - used, count);
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ statistics on the way */

struct counting_sink {
    struct compose_sink sink, next; /* next.row NULL: nobody */
    const struct circuit *circuit;
    struct statistics *statistics;
};

static gordian_status begin_counting(void *context, const struct circuit *circuit, uint64_t states,
                                     uint64_t transitions, gordian_error *error)
{
    struct counting_sink *counting = context;
    gordian_allocator memory = memory_allocator(NULL);
    counting->circuit = circuit;
    counting->statistics->fired =
        memory_zeroed(&memory, (circuit->name_count + 1) * sizeof(uint64_t));
    if (!counting->statistics->fired)
        return fail_memory(error);
    if (!counting->next.begin)
        return GORDIAN_OK;
    return counting->next.begin(counting->next.context, circuit, states, transitions, error);
}

static void count_label(struct counting_sink *counting, const uint64_t *label)
{
    uint64_t together = 0;
    for (uint32_t n = 0; n < counting->circuit->name_count; n++) {
        bool fires = label_fires(label, n);
        together += fires;
        counting->statistics->fired[n] += fires;
    }
    if (together > counting->statistics->together)
        counting->statistics->together = together;
}

static gordian_status count_row(void *context, const struct compose_row *row, gordian_error *error)
{
    struct counting_sink *counting = context;
    struct statistics *statistics = counting->statistics;
    statistics->rows++;
    statistics->transitions += row->count;
    if (row->count > statistics->branching)
        statistics->branching = row->count;
    for (size_t i = 0; i < row->count; i++) {
        statistics->loops += row->to[i] == row->number;
        count_label(counting, row->labels + i * counting->circuit->label_words);
    }
    return counting->next.row ? counting->next.row(counting->next.context, row, error) : GORDIAN_OK;
}

/* ------------------------------------------------------------------ the run */

bool compose_needs_graph(const struct compose *compose)
{
    return compose->hide || compose->minimal || compose->livelock || compose->equal;
}

static gordian_status run_engine(struct compose *compose, const struct compose_engine *engine,
                                 const struct circuit *circuit,
                                 const struct compose_options *options,
                                 const struct compose_sink *sink, struct composed *composed,
                                 gordian_error *error)
{
    struct counting_sink counting = {.statistics = &composed->statistics};
    if (compose->statistics) {
        counting.sink = (struct compose_sink){&counting, begin_counting, count_row};
        if (sink)
            counting.next = *sink;
        sink = &counting.sink;
    }
    struct sigaction before;
    interrupt_catch(&before);
    gordian_status status = engine->run(circuit, options, sink, &composed->result, error);
    interrupt_release(&before);
    progress_clear(&compose->cli->progress);
    return status;
}

/* Into a graph, a file, or nowhere. */
static gordian_status run_into(struct compose *compose, const struct circuit *circuit,
                               const struct compose_options *options, struct composed *composed,
                               struct product_file *to, gordian_error *error)
{
    struct graph_sink graph;
    const struct compose_engine *engine;
    gordian_status status = compose_choose(compose->cli->engine, circuit, options, &engine, error);
    if (status != GORDIAN_OK)
        return status;
    if (!compose_needs_graph(compose)) {
        if (!to || !to->out)
            return run_engine(compose, engine, circuit, options, NULL, composed, error);
        product_file_stream(to);
        status = run_engine(compose, engine, circuit, options, &to->sink, composed, error);
        product_file_end(to);
        return status;
    }
    status = graph_sink_open(&graph, &composed->meter.memory, error);
    if (status != GORDIAN_OK)
        return status;
    status = run_engine(compose, engine, circuit, options, &graph.sink, composed, error);
    if (status != GORDIAN_OK || composed->result.stop != COMPOSE_COMPLETE) {
        graph_sink_abandon(&graph); /* a part of the product would only mislead */
        return status;
    }
    return graph_sink_close(&graph, &composed->product, error);
}

/* The order, and what the parts would be if they were composed two at a time in it. */
static gordian_status explain_circuit(struct compose *compose, const struct circuit *circuit,
                                      const uint32_t *given, gordian_error *error)
{
    gordian_allocator memory = memory_allocator(NULL);
    size_t count = circuit->factor_count + 1;
    uint32_t *order = memory_alloc(&memory, count * sizeof *order);
    struct compose_stage *stages = memory_zeroed(&memory, count * sizeof *stages);
    uint64_t most = compose->max_states && compose->max_states < COMPOSE_EXPLAINED
                        ? compose->max_states
                        : COMPOSE_EXPLAINED;
    gordian_status status = order && stages ? GORDIAN_OK : fail_memory(error);
    if (status == GORDIAN_OK && !given)
        status = compose_order(circuit, order, &memory, error);
    if (status == GORDIAN_OK)
        status = compose_explain(circuit, given ? given : order, most, stages, &memory, error);
    if (status == GORDIAN_OK && !compose->dot)
        status = (compose->cli->json ? &compose_json : &compose_text)
                     ->explain(compose, circuit, stages, error);
    if (compose->cli->out_is_terminal)
        output_flush(&compose->cli->out);
    memory_free(&memory, order);
    memory_free(&memory, stages);
    return status;
}

static gordian_status run_circuit(struct compose *compose, struct composed *composed,
                                  struct product_file *to, gordian_error *error)
{
    const struct circuit *circuit = composed->subject->circuit;
    gordian_allocator memory = memory_allocator(NULL);
    uint32_t *order = NULL;
    struct compose_options options;
    gordian_status status = GORDIAN_OK;
    if (compose->full && !circuit->whole_fits)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "--full: there are more than 2^64 combinations of the automata's states");
    compose_options_init(&options);
    options.full = compose->full;
    options.count_transitions = composed->counted = !compose->quick;
    options.max_states = compose->max_states;
    options.max_memory = compose->max_memory;
    options.max_deadlocks = compose->trace ? COMPOSE_TRACES : 1;
    options.threads = compose->threads;
    options.go_on = go_on;
    options.context = compose;
    if (compose->order) {
        order = memory_alloc(&memory, (circuit->factor_count + 1) * sizeof *order);
        if (!order)
            return fail_memory(error);
        status = read_order(compose->order, circuit->factor_count, order, error);
        options.order = order;
    }
    if (status == GORDIAN_OK && compose->explain)
        status = explain_circuit(compose, circuit, order, error);
    if (status == GORDIAN_OK)
        status = run_into(compose, circuit, &options, composed, to, error);
    composed->counted = composed->counted && !composed->result.uncounted;
    memory_free(&memory, order);
    return status;
}

/* ------------------------------------------------------------------ what is done to the graph */

static bool is_listed(const char *list, const char *name, size_t length)
{
    for (bool more = true; more;) {
        size_t item = strcspn(list, ",");
        if (item == length && memcmp(list, name, length) == 0)
            return true;
        more = list[item] == ',';
        list += item + more;
    }
    return false;
}

/* A graph that was read says nothing of a boundary: without a list only tau is hidden. */
static bool hides_name(void *context, const char *name, size_t length)
{
    const struct kept_context *kept = context;
    if (kept->list)
        return !is_listed(kept->list, name, length);
    if (!kept->circuit)
        return false;
    uint32_t id = names_find(&kept->circuit->names, name, length);
    return id == GORDIAN_NONE || !kept->circuit->boundary[id];
}

struct hiding compose_hiding(const struct compose *compose, const struct subject *subject,
                             struct kept_context *context)
{
    *context = (struct kept_context){subject->circuit, compose->keep};
    return (struct hiding){hides_name, context};
}

static gordian_status operate(struct compose *compose, struct composed *composed,
                              gordian_error *error)
{
    const struct graph *graph =
        composed->subject->graph ? composed->subject->graph : composed->product;
    struct kept_context context;
    struct hiding hiding = compose_hiding(compose, composed->subject, &context);
    gordian_status status = GORDIAN_OK;
    if (compose->livelock)
        status = graph_livelock(graph, &hiding, &composed->livelock, error);
    if (status == GORDIAN_OK && compose->hide) {
        status = graph_hide(&composed->hidden, graph, &hiding, error);
        graph = composed->hidden;
    }
    if (status == GORDIAN_OK && compose->minimal)
        status = graph_minimise(&composed->minimal, graph, error);
    return status;
}

const struct graph *composed_graph(const struct composed *composed)
{
    if (composed->minimal)
        return composed->minimal;
    if (composed->hidden)
        return composed->hidden;
    return composed->product ? composed->product : composed->subject->graph;
}

gordian_status compose_subject(struct compose *compose, const struct subject *subject,
                               struct product_file *to, struct composed *composed,
                               gordian_error *error)
{
    *composed = (struct composed){.subject = subject};
    uint64_t start = clock_ns();
    meter_open(&composed->meter, NULL, compose->max_memory);
    gordian_status status = subject->circuit ? run_circuit(compose, composed, to, error)
                                             : graph_summarise(composed, subject->graph, error);
    if (status == GORDIAN_OK && compose_needs_graph(compose) &&
        composed->result.stop == COMPOSE_COMPLETE)
        status = operate(compose, composed, error);
    composed->seconds = (double)(clock_ns() - start) / 1e9;
    if (status == GORDIAN_STATUS_MEMORY && compose->max_memory)
        return fail(error, GORDIAN_STATUS_MEMORY,
                    "this takes more memory than --max-memory allows%s",
                    compose_needs_graph(compose) ? ": it needs the product as a graph" : "");
    return status;
}

void composed_free(struct composed *composed)
{
    gordian_allocator memory = memory_allocator(NULL);
    graph_free(composed->product);
    graph_free(composed->hidden);
    graph_free(composed->minimal);
    if (composed->livelock.memory.resize)
        livelock_free(&composed->livelock);
    compose_result_free(&composed->result);
    memory_free(&memory, composed->statistics.fired);
    memory_free(&memory, composed->nearest);
    if (composed->subject)
        meter_close(&composed->meter);
    *composed = (struct composed){0};
}

const struct compose_deadlock *composed_nearest(const struct composed *composed)
{
    return composed->result.found_count ? &composed->result.found[0] : NULL;
}

/* ------------------------------------------------------------------ traces */

bool route_open(struct route *trace)
{
    trace->steps = 0;
    return output_open(&trace->text, -1);
}

void route_close(struct route *trace)
{
    output_close(&trace->text);
}

bool route_of_arcs(struct route *trace, const struct graph *graph, const size_t *arcs, size_t count)
{
    trace->text.used = 0;
    trace->steps = count;
    for (size_t i = 0; i < count; i++) {
        output_text(&trace->text, labels_text(&graph->labels, graph->arcs[arcs[i]].label));
        output_char(&trace->text, '\0');
    }
    return !trace->text.failure;
}

bool route_of(struct route *trace, const struct composed *composed,
              const struct compose_deadlock *deadlock)
{
    const struct circuit *circuit = composed->subject->circuit;
    if (!circuit)
        return route_of_arcs(trace, composed->subject->graph, composed->nearest,
                             composed->nearest_count);
    trace->text.used = 0;
    trace->steps = deadlock->step_count;
    for (size_t i = 0; i < deadlock->step_count; i++) {
        circuit_write_label(circuit, deadlock->labels + i * circuit->label_words, NULL,
                            &trace->text);
        output_char(&trace->text, '\0');
    }
    return !trace->text.failure;
}

const char *compose_stop_text(enum compose_stop stop)
{
    switch (stop) {
    case COMPOSE_STATES:
        return "max-states";
    case COMPOSE_MEMORY:
        return "memory";
    case COMPOSE_STOPPED:
        return "interrupted";
    case COMPOSE_COMPLETE:
        break;
    }
    return NULL;
}
