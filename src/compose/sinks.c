/* What engines and commands share: the table's defaults, results, the sink that makes a graph, and
 * the check of a deadlock. */
#include "base/error.h"
#include "base/memory.h"
#include "base/output.h"
#include "compose/engine.h"
#include "compose/graph/graph.h"

#include <string.h>

void compose_options_init(struct compose_options *options)
{
    *options = (struct compose_options){.count_transitions = true, .max_deadlocks = 1};
}

void compose_leave_out(struct compose_result *result)
{
    static const char why[] =
        "stopped with too many transitions to find those among the states: they are left out";
    _Static_assert(sizeof why <= sizeof result->note, "it fits");
    result->transitions = 0;
    result->uncounted = true;
    memcpy(result->note, why, sizeof why);
}

void compose_result_free(struct compose_result *result)
{
    for (size_t i = 0; i < result->found_count; i++) {
        memory_free(&result->allocator, result->found[i].state);
        memory_free(&result->allocator, result->found[i].labels);
    }
    if (result->found)
        memory_free(&result->allocator, result->found);
    if (result->order)
        memory_free(&result->allocator, result->order);
    *result = (struct compose_result){.allocator = result->allocator};
}

/* ------------------------------------------------------------------ the graph */

static gordian_status begin(void *context, const struct circuit *circuit, uint64_t states,
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

static gordian_status take_row(void *context, const struct compose_row *row, gordian_error *error)
{
    struct graph_sink *sink = context;
    struct graph *graph = sink->graph;
    gordian_status status = graph_state(graph, error);
    if (status == GORDIAN_OK && row->initial)
        status = graph_initial(graph, (uint32_t)row->number, error);
    for (size_t i = 0; i < row->count && status == GORDIAN_OK; i++) {
        uint32_t label;
        sink->text->used = 0;
        circuit_write_label(sink->circuit, row->labels + i * sink->circuit->label_words, NULL,
                            sink->text);
        if (sink->text->failure)
            return fail_memory(error);
        status = labels_put(&graph->labels, sink->text->buffer, sink->text->used, &label, error);
        if (status == GORDIAN_OK)
            status = graph_arc(graph, label, (uint32_t)row->to[i], error);
    }
    return status;
}

gordian_status graph_sink_open(struct graph_sink *sink, const gordian_allocator *memory,
                               gordian_error *error)
{
    *sink = (struct graph_sink){.sink = {.context = sink, .begin = begin, .row = take_row},
                                .memory = memory_allocator(memory)};
    gordian_status status = graph_new(&sink->graph, &sink->memory, error);
    if (status != GORDIAN_OK)
        return status;
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
    graph_free(sink->graph);
    sink->text = NULL;
    sink->graph = NULL;
}

gordian_status graph_sink_close(struct graph_sink *sink, struct graph **graph, gordian_error *error)
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

/* ------------------------------------------------------------------ checking a deadlock */

/* A walk through the circuit, one factor after another. */
struct walker {
    const struct circuit *circuit;
    uint32_t *state;
    uint64_t *label, *other; /* label_words words */
};

/* Does the factor do in `state` exactly what the label says about its names? If so where it goes
 * may be one of several; only those in `next` from `from` on are looked at. */
static bool factor_can(const struct walker *walker, uint32_t factor, uint32_t state,
                       const uint64_t *label, uint32_t to)
{
    const struct circuit *circuit = walker->circuit;
    const struct shape *shape = factor_shape(circuit, factor);
    uint64_t *mask = walker->other, *mine = walker->label;
    bool idle = true;
    for (uint32_t p = 0; p < shape->port_count; p++)
        idle &= !label_fires(label, circuit->factors[factor].names[p]);
    if (idle)
        return state == to;
    factor_mask(circuit, factor, mask);
    for (size_t t = shape->first[state]; t < shape->first[state + 1]; t++) {
        if (shape->to[t] != to)
            continue;
        factor_label(circuit, factor, t, mine);
        size_t w = 0;
        while (w < circuit->label_words && ((label[w] ^ mine[w]) & mask[w]) == 0)
            w++;
        if (w == circuit->label_words)
            return true;
    }
    return false;
}

/* The local states a factor can be in after the steps, as a set; factors that know only their own
 * part of the labels are independent of each other once the labels are given. */
static bool factor_follows(const struct walker *walker, uint32_t factor,
                           const struct compose_deadlock *deadlock, bool *now, bool *next)
{
    const struct shape *shape = factor_shape(walker->circuit, factor);
    for (uint32_t s = 0; s < shape->state_count; s++)
        now[s] = s < shape->initial_count;
    for (size_t i = 0; i < deadlock->step_count; i++) {
        const uint64_t *label = deadlock->labels + i * walker->circuit->label_words;
        for (uint32_t to = 0; to < shape->state_count; to++) {
            next[to] = false;
            for (uint32_t s = 0; s < shape->state_count && !next[to]; s++)
                next[to] = now[s] && factor_can(walker, factor, s, label, to);
        }
        memcpy(now, next, shape->state_count);
    }
    return now[deadlock->state[factor]];
}

/* Can the factors from `factor` on agree with what those before have settled? `label` has their
 * union, `mask` the bits settled. `moved`: one of them does something. */
static bool can_move(const struct walker *walker, const uint32_t *state, uint32_t factor,
                     const uint64_t *label, const uint64_t *mask, bool moved, uint64_t *scratch)
{
    const struct circuit *circuit = walker->circuit;
    size_t words = circuit->label_words;
    if (factor == circuit->factor_count)
        return moved;
    const struct shape *shape = factor_shape(circuit, factor);
    uint64_t *mine = scratch, *my_mask = scratch + words, *both = scratch + 2 * words,
             *settled = scratch + 3 * words;
    size_t first = shape->first[state[factor]], last = shape->first[state[factor] + 1];
    for (size_t t = first; t <= last; t++) { /* the last one is idling */
        factor_mask(circuit, factor, my_mask);
        if (t < last)
            factor_label(circuit, factor, t, mine);
        else
            memset(mine, 0, words * sizeof *mine);
        bool agrees = true;
        for (size_t w = 0; w < words; w++) {
            agrees &= ((label[w] ^ mine[w]) & mask[w] & my_mask[w]) == 0;
            both[w] = label[w] | mine[w];
            settled[w] = mask[w] | my_mask[w];
        }
        if (agrees && can_move(walker, state, factor + 1, both, settled, moved || t < last,
                               scratch + 4 * words))
            return true;
    }
    return false;
}

static bool check_all(const struct walker *walker, const struct compose_deadlock *deadlock,
                      bool *now, bool *next, uint64_t *scratch, const char **why)
{
    const struct circuit *circuit = walker->circuit;
    size_t words = circuit->label_words;
    for (size_t i = 0; i < deadlock->step_count; i++) {
        bool fires = false;
        for (size_t w = 0; w < words; w++)
            fires |= deadlock->labels[i * words + w] != 0;
        if (!fires) {
            *why = "a step fires nothing";
            return false;
        }
    }
    for (uint32_t f = 0; f < circuit->factor_count; f++) {
        if (!factor_follows(walker, f, deadlock, now, next)) {
            *why = "a factor cannot take these steps to that state";
            return false;
        }
    }
    memset(scratch, 0, 2 * words * sizeof *scratch);
    if (can_move(walker, deadlock->state, 0, scratch, scratch + words, false,
                 scratch + 2 * words)) {
        *why = "something leads out of that state";
        return false;
    }
    return true;
}

bool compose_check_deadlock(const struct circuit *circuit, const struct compose_deadlock *deadlock,
                            const char **why)
{
    gordian_allocator memory = memory_allocator(NULL);
    size_t words = circuit->label_words, states = 1;
    for (size_t s = 0; s < circuit->shape_count; s++)
        if (circuit->shapes[s].state_count > states)
            states = circuit->shapes[s].state_count;
    struct walker walker = {.circuit = circuit};
    walker.label = memory_alloc(&memory, words * sizeof(uint64_t));
    walker.other = memory_alloc(&memory, words * sizeof(uint64_t));
    bool *now = memory_alloc(&memory, states), *next = memory_alloc(&memory, states);
    uint64_t *scratch =
        memory_alloc(&memory, (4 * circuit->factor_count + 6) * words * sizeof *scratch);
    bool fine = walker.label && walker.other && now && next && scratch;
    *why = "out of memory";
    if (fine)
        fine = check_all(&walker, deadlock, now, next, scratch, why);
    memory_free(&memory, walker.label);
    memory_free(&memory, walker.other);
    memory_free(&memory, now);
    memory_free(&memory, next);
    memory_free(&memory, scratch);
    return fine;
}
