/* Unfolds an automaton over the data: control states and cells become plain states, guards become
 * transitions with concrete data. States that the automaton can reach on its own come first. */
#include "engines/compose/circuit/circuit.h"
#include "engines/compose/circuit/record_table.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct unfolding {
    const gordian_allocator *memory;
    const struct automaton *automaton;
    const struct data *data;
    const uint32_t *merge;
    struct shape *shape;
    uint32_t value_bits, most;
    size_t width; /* of a state: control state and cells */

    struct record_table states; /* in order of discovery; the shape takes the list */
    uint32_t *candidate;        /* `width` numbers */
    uint8_t *own;               /* by cell: it has its own domain */

    size_t *first_of; /* transitions of the automaton by control state, in `by_state` */
    uint32_t *by_state;

    /* Transitions in order of discovery. */
    size_t first_room, to_room, label_room, cost_room;
    double cost;
    uint64_t *label; /* of the current transition */
    uint32_t control;
    const uint64_t *fires;
};

uint32_t data_value_bits(const struct data *data)
{
    uint32_t bits = 0;
    while (bits < 32 && data->port_size > (UINT64_C(1) << bits))
        bits++;
    return bits;
}

void shape_free(struct shape *shape, const gordian_allocator *memory)
{
    memory_free_all(memory, shape->values, shape->first, shape->to, shape->labels, shape->costs);
    *shape = (struct shape){0};
}

/* Returns the number of the state in `candidate`, and adds the state if it is new. */
static gordian_status number_state(struct unfolding *unfolding, uint32_t *number,
                                   gordian_error *error)
{
    struct shape *shape = unfolding->shape;
    uint64_t hash;
    *number = record_table_find(&unfolding->states, unfolding->candidate, &hash);
    if (*number != GORDIAN_NONE)
        return GORDIAN_OK;
    if (shape->state_count >= unfolding->most)
        return fail(error, GORDIAN_STATUS_INPUT, "'%s' has more than %u states over these data",
                    unfolding->automaton->title, unfolding->most);
    if (!record_table_add(&unfolding->states, unfolding->candidate, hash))
        return fail_memory(error);
    *number = shape->state_count++;
    shape->values = unfolding->states.list;
    return GORDIAN_OK;
}

/* Makes the label of a solution. Returns false if merged ports do not do the same. */
static bool make_label(struct unfolding *unfolding, const uint32_t *at_ports)
{
    const struct shape *shape = unfolding->shape;
    memset(unfolding->label, 0, shape->label_words * sizeof(uint64_t));
    for (uint32_t p = 0; p < unfolding->automaton->port_count; p++) {
        uint32_t port = unfolding->merge ? unfolding->merge[p] : p;
        if (!bits_test(unfolding->fires, p))
            continue;
        size_t value_at = shape->port_count + (size_t)port * unfolding->value_bits;
        if (!bits_test(unfolding->label, port)) {
            bits_set(unfolding->label, port);
            label_set_bits(unfolding->label, value_at, unfolding->value_bits, at_ports[p] - 1);
            continue;
        }
        if (label_bits(unfolding->label, value_at, unfolding->value_bits) != at_ports[p] - 1)
            return false;
    }
    return true;
}

static gordian_status take_solution(void *context, const uint32_t *at_ports, const uint32_t *next,
                                    gordian_error *error)
{
    struct unfolding *unfolding = context;
    struct shape *shape = unfolding->shape;
    if (!make_label(unfolding, at_ports))
        return GORDIAN_OK;
    unfolding->candidate[0] = unfolding->control;
    if (unfolding->width > 1)
        memcpy(unfolding->candidate + 1, next, (unfolding->width - 1) * sizeof *next);
    size_t count = shape->transition_count;
    uint32_t to;
    if (count >= unfolding->most)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "'%s' has more than %u transitions over these data",
                    unfolding->automaton->title, unfolding->most);
    TRY(number_state(unfolding, &to, error));
    if (!memory_extend(unfolding->memory, shape->to, unfolding->to_room, count) ||
        !memory_grow(unfolding->memory, &shape->labels, &unfolding->label_room,
                     (count + 1) * shape->label_words, sizeof *shape->labels))
        return fail_memory(error);
    if (unfolding->automaton->costs) {
        if (!memory_extend(unfolding->memory, shape->costs, unfolding->cost_room, count))
            return fail_memory(error);
        shape->costs[count] = (struct cost){unfolding->cost, unfolding->cost};
    }
    shape->to[count] = to;
    memcpy(shape->labels + count * shape->label_words, unfolding->label,
           shape->label_words * sizeof(uint64_t));
    shape->transition_count++;
    return GORDIAN_OK;
}

/* Do merged ports all fire, or none? */
static bool firing_fits(const struct unfolding *unfolding, const uint64_t *fires)
{
    if (!unfolding->merge)
        return true;
    for (uint32_t p = 0; p < unfolding->automaton->port_count; p++)
        for (uint32_t q = 0; q < p; q++)
            if (unfolding->merge[p] == unfolding->merge[q] &&
                bits_test(fires, p) != bits_test(fires, q))
                return false;
    return true;
}

/* Finds all transitions of a state. */
static gordian_status unfold_state(struct unfolding *unfolding, uint32_t state,
                                   gordian_error *error)
{
    const struct automaton *automaton = unfolding->automaton;
    size_t width = unfolding->width, words = automaton_words(automaton);
    /* A copy, because the array of states grows meanwhile. */
    uint32_t *here = memory_alloc(unfolding->memory, width * sizeof *here);
    if (!here)
        return fail_memory(error);
    memcpy(here, unfolding->shape->values + state * width, width * sizeof *here);
    gordian_status status = GORDIAN_OK;
    for (size_t i = unfolding->first_of[here[0]];
         i < unfolding->first_of[here[0] + 1] && status == GORDIAN_OK; i++) {
        uint32_t t = unfolding->by_state[i];
        const struct automaton_transition *transition = &automaton->transitions[t];
        unfolding->fires = automaton->fires + t * words;
        unfolding->control = transition->to;
        unfolding->cost = transition->cost;
        if (!firing_fits(unfolding, unfolding->fires))
            continue;
        struct guard_question question = {
            .guards = &automaton->guards,
            .data = unfolding->data,
            .guard = transition->guard,
            .ports = (uint32_t)automaton->port_count,
            .cells = (uint32_t)automaton->cell_count,
            .fires = unfolding->fires,
            .now = here + 1,
            .own = unfolding->own,
            .solution = take_solution,
            .context = unfolding,
        };
        status = guard_solve(&question, error);
        if (status == GORDIAN_STATUS_INPUT && error && !error->line) {
            error->line = transition->line;
            error->column = transition->column;
        }
    }
    memory_free(unfolding->memory, here);
    return status;
}

static gordian_status sort_by_state(struct unfolding *unfolding, gordian_error *error)
{
    const struct automaton *automaton = unfolding->automaton;
    size_t states = automaton->state_count, count = automaton->transition_count;
    unfolding->first_of = memory_zeroed(unfolding->memory, (states + 2) * sizeof(size_t));
    unfolding->by_state = memory_alloc(unfolding->memory, count * sizeof(uint32_t));
    if (!unfolding->first_of || !unfolding->by_state)
        return fail_memory(error);
    size_t *next = unfolding->first_of + 1; /* shifted by one: the counts become the starts */
    for (size_t t = 0; t < count; t++)
        next[automaton->transitions[t].from + 1]++;
    for (size_t s = 1; s <= states; s++)
        next[s] += next[s - 1];
    for (size_t t = 0; t < count; t++)
        unfolding->by_state[next[automaton->transitions[t].from]++] = (uint32_t)t;
    return GORDIAN_OK;
}

static gordian_status find_initial(struct unfolding *unfolding, gordian_error *error)
{
    const struct automaton *automaton = unfolding->automaton;
    for (size_t c = 0; c < automaton->cell_count; c++) {
        uint32_t symbol = automaton->cells[c].initial;
        unfolding->candidate[1 + c] =
            symbol == GORDIAN_NONE ? VALUE_NULL : unfolding->data->index[symbol];
        if (symbol != GORDIAN_NONE && !unfolding->data->index[symbol])
            return fail(error, GORDIAN_STATUS_INPUT,
                        "'%s' starts with '%s', which is not among the data", automaton->title,
                        data_text(unfolding->data, symbol));
    }
    for (size_t s = 0; s < automaton->state_count; s++) {
        uint32_t number;
        if (!automaton->states[s].initial)
            continue;
        unfolding->candidate[0] = (uint32_t)s;
        TRY(number_state(unfolding, &number, error));
    }
    unfolding->shape->initial_count = unfolding->shape->state_count;
    if (unfolding->shape->initial_count == 0)
        return fail(error, GORDIAN_STATUS_INPUT, "'%s' has no initial state", automaton->title);
    return GORDIAN_OK;
}

/* Explores the states numbered `from` and above. */
static gordian_status unfold_states(struct unfolding *unfolding, uint32_t from,
                                    gordian_error *error)
{
    struct shape *shape = unfolding->shape;
    for (uint32_t s = from; s < shape->state_count; s++) {
        if (!memory_grow(unfolding->memory, &shape->first, &unfolding->first_room, (size_t)s + 2,
                         sizeof *shape->first))
            return fail_memory(error);
        shape->first[s] = shape->transition_count;
        TRY(unfold_state(unfolding, s, error));
        shape->first[s + 1] = shape->transition_count;
    }
    return GORDIAN_OK;
}

/* Adds the control states that the automaton cannot reach on its own, with the initial values of
 * its cells. Only --full counts them. */
static gordian_status explore_stray(struct unfolding *unfolding, gordian_error *error)
{
    const struct automaton *automaton = unfolding->automaton;
    struct shape *shape = unfolding->shape;
    gordian_status status = GORDIAN_OK;
    size_t states = automaton->state_count;
    bool *seen = memory_zeroed(unfolding->memory, states + 1);
    uint32_t *cells = memory_alloc(unfolding->memory, unfolding->width * sizeof *cells);
    if (!seen || !cells)
        status = fail_memory(error);
    else
        memcpy(cells, shape->values, unfolding->width * sizeof *cells);
    uint32_t looked = 0;
    for (size_t c = 0; c < states && status == GORDIAN_OK; c++) {
        for (; looked < shape->state_count; looked++)
            seen[shape->values[looked * unfolding->width]] = true;
        if (seen[c])
            continue;
        uint32_t number, from = shape->state_count;
        memcpy(unfolding->candidate, cells, unfolding->width * sizeof *cells);
        unfolding->candidate[0] = (uint32_t)c;
        status = number_state(unfolding, &number, error);
        THEN(status, unfold_states(unfolding, from, error));
    }
    memory_free_all(unfolding->memory, seen, cells);
    return status;
}

/* ------------------------------------------------------------------ order */

struct entry {
    const struct shape *shape;
    const uint64_t *label;
    uint32_t to, value_bits;
    struct cost cost;
};

static int compare_entries(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    int labels = label_compare(a->label, b->label, a->shape->label_words, a->shape->port_count,
                               a->value_bits);
    return labels ? labels : (a->to > b->to) - (a->to < b->to);
}

/* Merges the costs of two transitions. No cost is the best cost. */
static void join_costs(struct cost *cost, const struct cost *other)
{
    if (isnan(cost->least) || isnan(other->least)) {
        *cost = (struct cost){NAN, NAN};
        return;
    }
    cost->least = fmin(cost->least, other->least);
    cost->greatest = fmax(cost->greatest, other->greatest);
}

/* Sorts the transitions of every state by (label, to) and removes duplicates. */
static gordian_status put_in_order(struct unfolding *unfolding, gordian_error *error)
{
    struct shape *shape = unfolding->shape;
    size_t words = shape->label_words, count = shape->transition_count, kept = 0;
    uint64_t *labels = memory_alloc(unfolding->memory, count * words * sizeof *labels);
    struct entry *entries = memory_alloc(unfolding->memory, count * sizeof *entries);
    gordian_status status = labels && entries ? GORDIAN_OK : fail_memory(error);
    for (size_t t = 0; t < count && status == GORDIAN_OK; t++) {
        entries[t] = (struct entry){.shape = shape,
                                    .label = shape->labels + t * words,
                                    .to = shape->to[t],
                                    .value_bits = unfolding->value_bits};
        if (shape->costs)
            entries[t].cost = shape->costs[t];
    }
    for (uint32_t s = 0; s < shape->state_count && status == GORDIAN_OK; s++) {
        size_t start = shape->first[s], end = shape->first[s + 1];
        if (end > start)
            qsort(entries + start, end - start, sizeof *entries, compare_entries);
        shape->first[s] = kept;
        for (size_t t = start; t < end; t++) {
            if (t > start && compare_entries(&entries[t - 1], &entries[t]) == 0) {
                if (shape->costs)
                    join_costs(&shape->costs[kept - 1], &entries[t].cost);
                continue;
            }
            if (shape->costs)
                shape->costs[kept] = entries[t].cost;
            shape->to[kept] = entries[t].to;
            memcpy(labels + kept++ * words, entries[t].label, words * sizeof *labels);
        }
    }
    memory_free(unfolding->memory, entries);
    if (status != GORDIAN_OK) {
        memory_free(unfolding->memory, labels);
        return status;
    }
    shape->first[shape->state_count] = kept;
    shape->transition_count = kept;
    memory_free(unfolding->memory, shape->labels);
    shape->labels = labels;
    return GORDIAN_OK;
}

gordian_status shape_unfold(struct shape *shape, const struct automaton *automaton,
                            const struct data *data, const uint32_t *merge, uint32_t ports,
                            uint32_t most, const gordian_allocator *memory, gordian_error *error)
{
    struct unfolding unfolding = {
        .memory = memory,
        .automaton = automaton,
        .data = data,
        .merge = merge,
        .shape = shape,
        .value_bits = data_value_bits(data),
        .most = most,
        .width = 1 + automaton->cell_count,
        .states = {.memory = *memory, .size = (1 + automaton->cell_count) * sizeof(uint32_t)},
    };
    *shape = (struct shape){.automaton = automaton, .port_count = ports};
    shape->label_words = (uint32_t)bits_words((size_t)ports * (1 + unfolding.value_bits));
    unfolding.candidate = memory_alloc(memory, unfolding.width * sizeof(uint32_t));
    unfolding.label = memory_alloc(memory, ((size_t)shape->label_words + 1) * sizeof(uint64_t));
    unfolding.own = memory_alloc(memory, unfolding.width);
    gordian_status status =
        unfolding.candidate && unfolding.label && unfolding.own ? GORDIAN_OK : fail_memory(error);
    for (size_t c = 0; c < automaton->cell_count && unfolding.own; c++)
        unfolding.own[c] = automaton->cells[c].own;
    THEN(status, sort_by_state(&unfolding, error));
    THEN(status, find_initial(&unfolding, error));
    THEN(status, unfold_states(&unfolding, 0, error));
    THEN(status, explore_stray(&unfolding, error));
    THEN(status, put_in_order(&unfolding, error));
    shape->routing = status == GORDIAN_OK && !merge && automaton_is_routing(automaton);
    memory_free_all(memory, unfolding.candidate, unfolding.label, unfolding.own);
    hash_free(&unfolding.states.table, memory);
    memory_free_all(memory, unfolding.first_of, unfolding.by_state);
    if (status != GORDIAN_OK)
        shape_free(shape, memory);
    return status;
}
