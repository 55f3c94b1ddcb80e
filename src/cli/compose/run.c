/* Composition of a circuit with limits, order, progress, ctrl-C and statistics; then operations on
 * the product graph. */
#include "cli/base/interrupt.h"
#include "cli/compose/compose.h"
#include "foundation/base/bits.h"
#include "foundation/base/clock.h"
#include "foundation/base/error.h"
#include "foundation/base/io/reader.h"
#include "foundation/base/memory.h"

#include <string.h>

/* ------------------------------------------------------------------ ctrl-C and progress */

static bool go_on(void *context, const gordian_compose_progress *now)
{
    struct compose *compose = context;
    if (progress_due(&compose->cli->progress)) {
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
                          (double)now->transitions / 1e6, (double)now->states / 1e6 / seconds,
                          memory);
    }
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
        return fail(error, GORDIAN_STATUS_INPUT,
                    "--order: automata are numbered 1 to %zu: there is no %llu", count,
                    (unsigned long long)number);
    for (size_t i = 0; i < used; i++)
        if (order[i] == number - 1)
            return fail(error, GORDIAN_STATUS_INPUT, "--order: %llu is listed twice",
                        (unsigned long long)number);
    order[used] = (uint32_t)number - 1;
    return GORDIAN_OK;
}

/* Parses "2,1,3": numbers as --explain shows them; "text": the order of the text. */
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
            return fail(error, GORDIAN_STATUS_INPUT, "--order: there are only %zu automata", count);
        TRY(take_place(text, length, count, order, used++, error));
        more = text[length] == ',';
        text += length + more;
    }
    if (used < count)
        return fail(error, GORDIAN_STATUS_INPUT, "--order: %zu of the %zu automata are missing",
                    count - used, count);
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ statistics */

static gordian_status begin_counting(void *context, const gordian_circuit *circuit, uint64_t states,
                                     uint64_t transitions, gordian_error *error)
{
    struct statistics *statistics = context;
    gordian_allocator memory = memory_allocator(NULL);
    gordian_circuit_info info;
    (void)states, (void)transitions;
    gordian_circuit_describe(circuit, &info);
    statistics->names = info.name_count;
    statistics->words = info.label_words;
    statistics->fired = memory_zeroed(&memory, (info.name_count + 1) * sizeof(uint64_t));
    return statistics->fired ? GORDIAN_OK : fail_memory(error);
}

static gordian_status count_row(void *context, const gordian_compose_row *row, gordian_error *error)
{
    struct statistics *statistics = context;
    (void)error;
    statistics->rows++;
    statistics->transitions += row->count;
    if (row->count > statistics->branching)
        statistics->branching = row->count;
    for (size_t i = 0; i < row->count; i++) {
        statistics->loops += row->to[i] == row->number;
        const uint64_t *label = row->labels + i * statistics->words;
        uint64_t together = 0;
        for (uint32_t n = 0; n < statistics->names; n++) {
            bool fires = bits_test(label, n);
            together += fires;
            statistics->fired[n] += fires;
        }
        if (together > statistics->together)
            statistics->together = together;
    }
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ the run */

bool compose_needs_graph(const struct compose *compose)
{
    return compose->hide || compose->minimal || compose->livelock || compose->equal ||
           compose->question.formula;
}

/* Composes into a graph, a file, or only counts. */
static gordian_status run_into(struct compose *compose, const gordian_circuit *circuit,
                               const gordian_compose_options *options, struct composed *composed,
                               const struct product_file *to, gordian_error *error)
{
    gordian_compose_sink counting = {&composed->statistics, begin_counting, count_row};
    /* With --quick nothing may iterate over all transitions. */
    const gordian_compose_sink *sink = compose->statistics && !compose->quick ? &counting : NULL;
    gordian_compose_result *result = &composed->result;
    struct sigaction before;
    gordian_status status;
    interrupt_catch(&before);
    if (compose->question.formula)
        status = gordian_compose_check(&composed->product, circuit, options, &compose->question,
                                       &composed->meter.memory, &composed->check, result, error);
    else if (compose_needs_graph(compose))
        status = gordian_compose_graph(&composed->product, circuit, options, sink,
                                       &composed->meter.memory, result, error);
    else if (to && to->writer.write)
        status =
            gordian_compose_write(circuit, options, sink, to->format, &to->writer, result, error);
    else
        status = gordian_compose(circuit, options, sink, result, error);
    interrupt_release(&before);
    progress_clear(&compose->cli->progress);
    return status;
}

/* Explains the order, and the products of the first automata in it. */
static gordian_status explain_circuit(struct compose *compose, const struct subject *subject,
                                      const uint32_t *order, gordian_error *error)
{
    gordian_allocator memory = memory_allocator(NULL);
    gordian_compose_stage *stages =
        memory_zeroed(&memory, (subject->info.automaton_count + 1) * sizeof *stages);
    uint64_t most = compose->max_states && compose->max_states < COMPOSE_EXPLAINED
                        ? compose->max_states
                        : COMPOSE_EXPLAINED;
    gordian_status status = stages ? GORDIAN_OK : fail_memory(error);
    THEN(status, gordian_compose_explain(subject->circuit, order, most, stages, NULL, error));
    if (status == GORDIAN_OK && !compose->dot)
        status = (compose->cli->json ? &compose_json : &compose_text)
                     ->explain(compose, subject, stages, error);
    if (compose->cli->out_is_terminal)
        output_flush(&compose->cli->out);
    memory_free(&memory, stages);
    return status;
}

/* Returns what is left of --max-memory after reading; 0: no limit. */
static uint64_t memory_left(struct compose *compose)
{
    uint64_t used = meter_now(&compose->reading);
    if (!compose->max_memory)
        return 0;
    return used < compose->max_memory ? compose->max_memory - used : 1;
}

static gordian_status run_circuit(struct compose *compose, struct composed *composed,
                                  struct product_file *to, gordian_error *error)
{
    const struct subject *subject = composed->subject;
    size_t count = subject->info.automaton_count;
    gordian_allocator memory = memory_allocator(NULL);
    uint32_t *order = NULL;
    gordian_compose_options options;
    gordian_status status = GORDIAN_OK;
    if (compose->full && subject->info.combinations == UINT64_MAX)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "--full: there are more than 2^64 combinations of the automata's states");
    gordian_compose_options_init(&options);
    options.engine = compose->cli->engine;
    options.full = compose->full;
    options.reduce = compose->reduce;
    options.count_transitions = composed->counted = !compose->quick;
    options.max_states = compose->max_states;
    options.max_memory = memory_left(compose);
    options.max_deadlocks = compose->trace ? COMPOSE_TRACES : 1;
    options.threads = compose->threads;
    options.go_on = go_on;
    options.context = compose;
    if (compose->order) {
        order = memory_alloc(&memory, (count + 1) * sizeof *order);
        if (!order)
            return fail_memory(error);
        status = read_order(compose->order, count, order, error);
        options.order = order;
    }
    if (status == GORDIAN_OK && compose->explain)
        status = explain_circuit(compose, subject, order, error);
    THEN(status, run_into(compose, subject->circuit, &options, composed, to, error));
    composed->counted = composed->counted && !composed->result.uncounted;
    memory_free(&memory, order);
    return status;
}

/* Examines a graph that was read: its size, and its nearest deadlock. */
static gordian_status look_at_graph(const struct compose *compose, struct composed *composed,
                                    gordian_error *error)
{
    const gordian_graph *graph = composed->subject->graph;
    gordian_graph_deadlocks *found = &composed->deadlocks;
    gordian_compose_result *result = &composed->result;
    gordian_status status = gordian_graph_find_deadlocks(graph, found, error);
    composed->counted = true;
    result->engine = "graph";
    result->states = compose->full ? gordian_graph_states(graph) : found->states;
    result->transitions = compose->full ? gordian_graph_transitions(graph) : found->transitions;
    if (composed->subject->cut) /* a truncated state may have lost its transitions */
        found->deadlocks = 0;
    result->deadlocks = found->deadlocks;
    if (status == GORDIAN_OK && compose->question.formula && !composed->subject->cut)
        status = gordian_graph_check(graph, &compose->question, &composed->check, error);
    return status;
}

/* ------------------------------------------------------------------ operations on the graph */

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

/* --keep. A graph that was read has no boundary: without --keep only tau is hidden. */
static bool hides_others(void *context, const char *name, size_t length)
{
    const struct compose *compose = context;
    return compose->keep && !is_listed(compose->keep, name, length);
}

static gordian_status run_operation(struct compose *compose, struct composed *composed,
                                    gordian_error *error)
{
    const gordian_graph *graph =
        composed->subject->graph ? composed->subject->graph : composed->product;
    gordian_hiding hiding = {hides_others, compose};
    if (!compose->keep && composed->subject->circuit)
        hiding = gordian_hide_inner(composed->subject->circuit);
    gordian_status status = GORDIAN_OK;
    if (compose->livelock)
        status = gordian_graph_livelock(graph, &hiding, &composed->livelock, error);
    if (status == GORDIAN_OK && compose->hide) {
        status = gordian_graph_hide(&composed->hidden, graph, &hiding, error);
        graph = composed->hidden;
    }
    if (status == GORDIAN_OK && compose->minimal)
        status = gordian_graph_minimise(&composed->minimal, graph, error);
    return status;
}

const gordian_graph *composed_graph(const struct composed *composed)
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
    meter_open(&composed->meter, NULL, memory_left(compose));
    gordian_status status = subject->circuit ? run_circuit(compose, composed, to, error)
                                             : look_at_graph(compose, composed, error);
    if (status == GORDIAN_OK && compose_needs_graph(compose) &&
        composed->result.stop == GORDIAN_COMPOSE_STOP_COMPLETE)
        status = run_operation(compose, composed, error);
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
    gordian_graph_close(composed->product);
    gordian_graph_close(composed->hidden);
    gordian_graph_close(composed->minimal);
    gordian_livelock_free(&composed->livelock);
    gordian_check_free(&composed->check);
    gordian_graph_deadlocks_free(&composed->deadlocks);
    gordian_compose_result_free(&composed->result);
    memory_free(&memory, composed->statistics.fired);
    if (composed->subject)
        meter_close(&composed->meter);
    *composed = (struct composed){0};
}

const gordian_compose_deadlock *composed_nearest(const struct composed *composed)
{
    return composed->result.found_count ? &composed->result.found[0] : NULL;
}

bool composed_is_complete(const struct composed *composed)
{
    return composed->result.stop == GORDIAN_COMPOSE_STOP_COMPLETE && !composed->subject->cut;
}

bool composed_describes(const struct composed *composed)
{
    return composed_nearest(composed) || composed->deadlocks.deadlocks > 0;
}

/* ------------------------------------------------------------------ texts */

static bool text_of_label(struct output *text, const gordian_circuit *circuit,
                          const uint64_t *label)
{
    size_t size = gordian_circuit_label_text(circuit, label, NULL, 0) + 1;
    char *space = output_reserve(text, size);
    if (space) {
        gordian_circuit_label_text(circuit, label, space, size);
        text->used += size;
    }
    return space != NULL;
}

bool text_of_automaton(struct output *text, const gordian_circuit *circuit, size_t automaton)
{
    size_t size = gordian_circuit_automaton_text(circuit, automaton, NULL, 0) + 1;
    char *space = output_reserve(text, size);
    if (space) {
        gordian_circuit_automaton_text(circuit, automaton, space, size);
        text->used += size;
    }
    return space != NULL;
}

bool text_of_state(struct output *text, const gordian_circuit *circuit, size_t automaton,
                   uint32_t state)
{
    size_t size = gordian_circuit_state_text(circuit, automaton, state, NULL, 0) + 1;
    char *space = output_reserve(text, size);
    if (space) {
        gordian_circuit_state_text(circuit, automaton, state, space, size);
        text->used += size;
    }
    return space != NULL;
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

bool route_of_arcs(struct route *trace, const gordian_graph *graph, const gordian_graph_arc *arcs,
                   size_t count)
{
    trace->text.used = 0;
    trace->steps = count;
    for (size_t i = 0; i < count; i++) {
        output_text(&trace->text, gordian_graph_label(graph, arcs[i].label));
        output_char(&trace->text, '\0');
    }
    return !trace->text.failure;
}

bool route_of(struct route *trace, const struct composed *composed,
              const gordian_compose_deadlock *deadlock)
{
    const gordian_circuit *circuit = composed->subject->circuit;
    if (!circuit)
        return route_of_arcs(trace, composed->subject->graph, composed->deadlocks.path,
                             composed->deadlocks.path_count);
    trace->text.used = 0;
    trace->steps = deadlock->step_count;
    for (size_t i = 0; i < deadlock->step_count; i++)
        if (!text_of_label(&trace->text, circuit,
                           deadlock->labels + i * composed->subject->info.label_words))
            return false;
    return true;
}

const char *compose_stop_text(gordian_compose_stop stop)
{
    switch (stop) {
    case GORDIAN_COMPOSE_STOP_STATES:
        return "max-states";
    case GORDIAN_COMPOSE_STOP_MEMORY:
        return "memory";
    case GORDIAN_COMPOSE_STOP_TIME:
        return "time";
    case GORDIAN_COMPOSE_STOP_STOPPED:
        return "interrupted";
    case GORDIAN_COMPOSE_STOP_UNSAFE:
        return "not-1-safe";
    case GORDIAN_COMPOSE_STOP_CUT:
        return "file-cut";
    case GORDIAN_COMPOSE_STOP_COMPLETE:
        break;
    }
    return NULL;
}

const char *compose_fairness_text(gordian_fairness fairness)
{
    return fairness == GORDIAN_FAIRNESS_STRONG ? "strong"
           : fairness == GORDIAN_FAIRNESS_WEAK ? "weak"
                                               : "none";
}

const char *compose_semiring_text(gordian_semiring semiring)
{
    return semiring == GORDIAN_SEMIRING_PROBABILITY ? "probability"
           : semiring == GORDIAN_SEMIRING_FUZZY     ? "fuzzy"
                                                    : "weighted";
}
