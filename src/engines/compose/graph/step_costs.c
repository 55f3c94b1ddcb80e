/* Costs of steps, and Dijkstra's search for the best path (step_costs.h). */
#include "engines/compose/graph/step_costs.h"

#include "foundation/base/error.h"
#include "foundation/base/io/output.h"
#include "foundation/base/memory.h"

#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------ semirings */

/* The best cost, which is also neutral. */
static double best_of(gordian_semiring semiring)
{
    return semiring == GORDIAN_SEMIRING_WEIGHTED ? 0 : 1;
}

static bool is_preferred(gordian_semiring semiring, double a, double b)
{
    return semiring == GORDIAN_SEMIRING_WEIGHTED ? a < b : a > b;
}

static double multiply(gordian_semiring semiring, double a, double b)
{
    return semiring == GORDIAN_SEMIRING_WEIGHTED ? a + b
           : semiring == GORDIAN_SEMIRING_FUZZY  ? fmin(a, b)
                                                 : a * b;
}

/* ------------------------------------------------------------------ sinks */

gordian_status prices_open(struct prices *prices, const gordian_circuit *circuit,
                           gordian_semiring semiring, const gordian_allocator *memory,
                           gordian_error *error)
{
    *prices = (struct prices){.memory = *memory, .circuit = circuit, .semiring = semiring};
    prices->labels.memory = *memory;
    prices->labels.size = circuit->label_words * sizeof(uint64_t);
    prices->factors = memory_alloc(memory, (circuit->factor_count + 1) * sizeof(uint32_t));
    if (!prices->factors)
        return fail_memory(error);
    for (uint32_t f = 0; f < circuit->factor_count; f++) {
        const struct shape *shape = factor_shape(circuit, f);
        if (!shape->costs)
            continue;
        prices->factors[prices->factor_count++] = f;
        for (size_t t = 0; t < shape->transition_count; t++)
            if (prices->semiring != GORDIAN_SEMIRING_WEIGHTED && shape->costs[t].greatest > 1)
                return fail(error, GORDIAN_STATUS_INPUT,
                            "a step of '%s' costs %.15g: this semiring needs costs from 0 to 1",
                            shape->automaton->title, shape->costs[t].greatest);
    }
    if (prices->factor_count == 0)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "no step has a cost: give costs in #SCA atoms, as in 'p -> q : {a}, 3'");
    return GORDIAN_OK;
}

gordian_status prices_begin(struct prices *prices, uint64_t states, gordian_error *error)
{
    if (states > GRAPH_STATES_MAX) /* the graph would be too large as well */
        return GORDIAN_OK;
    prices->locals = memory_alloc(&prices->memory,
                                  ((size_t)states * prices->factor_count + 1) * sizeof(uint32_t));
    prices->first = memory_zeroed(&prices->memory, ((size_t)states + 2) * sizeof(size_t));
    return prices->locals && prices->first ? GORDIAN_OK : fail_memory(error);
}

gordian_status prices_row(struct prices *prices, const gordian_compose_row *row,
                          gordian_error *error)
{
    size_t words = prices->circuit->label_words;
    if (!prices->first)
        return GORDIAN_OK;
    for (size_t i = 0; i < prices->factor_count; i++)
        prices->locals[row->number * prices->factor_count + i] = row->state[prices->factors[i]];
    if (!memory_grow(&prices->memory, &prices->arcs, &prices->arc_room,
                     prices->arc_count + row->count, sizeof *prices->arcs))
        return fail_memory(error);
    for (size_t i = 0; i < row->count; i++) {
        gordian_graph_arc *arc = &prices->arcs[prices->arc_count++];
        arc->to = (uint32_t)row->to[i];
        const uint64_t *label = row->labels + i * words;
        uint64_t hash;
        arc->label = record_table_find(&prices->labels, label, &hash);
        if (arc->label != GORDIAN_NONE)
            continue;
        arc->label = prices->labels.count;
        if (!record_table_add(&prices->labels, label, hash))
            return fail_memory(error);
    }
    prices->first[row->number + 1] = prices->arc_count;
    prices->state_count = (uint32_t)row->number + 1;
    return GORDIAN_OK;
}

void prices_close(struct prices *prices)
{
    memory_free_all(&prices->memory, prices->factors, prices->locals, prices->arcs, prices->first);
    record_table_free(&prices->labels);
    *prices = (struct prices){.memory = prices->memory};
}

/* ------------------------------------------------------------------ cost of a step */

static const uint64_t *priced_label(const struct prices *prices, const gordian_graph_arc *arc)
{
    return (const uint64_t *)prices->labels.list + arc->label * prices->circuit->label_words;
}

/* Does transition t of the factor fire the factor's names in the label, with the same data? `own`,
 * `mask`: buffers of label_words words. */
static bool fires_like(const struct prices *prices, uint32_t factor, size_t t,
                       const uint64_t *label, uint64_t *own, const uint64_t *mask)
{
    factor_label(prices->circuit, factor, t, own);
    for (size_t w = 0; w < prices->circuit->label_words; w++)
        if ((own[w] ^ label[w]) & mask[w])
            return false;
    return true;
}

static double step_cost(const struct prices *prices, uint32_t from, const gordian_graph_arc *arc,
                        uint64_t *own, uint64_t *mask)
{
    const gordian_circuit *circuit = prices->circuit;
    const uint64_t *label = priced_label(prices, arc);
    const uint32_t *here = prices->locals + (size_t)from * prices->factor_count;
    const uint32_t *there = prices->locals + (size_t)arc->to * prices->factor_count;
    double cost = best_of(prices->semiring);
    for (size_t i = 0; i < prices->factor_count; i++) {
        uint32_t factor = prices->factors[i];
        const struct shape *shape = factor_shape(circuit, factor);
        factor_mask(circuit, factor, mask);
        for (size_t t = shape->first[here[i]]; t < shape->first[here[i] + 1]; t++)
            if (shape->to[t] == there[i] && fires_like(prices, factor, t, label, own, mask)) {
                /* If several transitions were merged into this one, the best cost counts. */
                bool least = prices->semiring == GORDIAN_SEMIRING_WEIGHTED;
                double price = least ? shape->costs[t].least : shape->costs[t].greatest;
                if (!isnan(price))
                    cost = multiply(prices->semiring, cost, price);
                break;
            }
    }
    return cost;
}

/* ------------------------------------------------------------------ the search */

struct search {
    const struct prices *prices;
    struct check *check;
    uint64_t *own, *mask;
    double *costs;    /* by state: of the best path found; NAN: none */
    size_t *by;       /* by state: the last arc of the path; SIZE_MAX: it begins there */
    uint32_t *from;   /* by state: the source of that arc */
    uint32_t *heap;   /* states, the best first */
    uint32_t *place;  /* by state: 1 + its index in the heap; 0: not in it, UINT32_MAX: done */
    uint32_t waiting; /* in the heap */
};

static bool comes_first(const struct search *search, uint32_t a, uint32_t b)
{
    return is_preferred(search->prices->semiring, search->costs[a], search->costs[b]) ||
           (a < b && search->costs[a] == search->costs[b]);
}

static void put_at(struct search *search, uint32_t place, uint32_t state)
{
    search->heap[place] = state;
    search->place[state] = place + 1;
}

static void move_up(struct search *search, uint32_t place, uint32_t state)
{
    while (place > 0 && comes_first(search, state, search->heap[(place - 1) / 2])) {
        put_at(search, place, search->heap[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    put_at(search, place, state);
}

/* Offers a path to a state with this cost. */
static void offer_path(struct search *search, uint32_t state, double cost, uint32_t from, size_t by)
{
    uint32_t place = search->place[state];
    if (place == UINT32_MAX ||
        (place && !is_preferred(search->prices->semiring, cost, search->costs[state])))
        return;
    search->costs[state] = cost;
    search->from[state] = from;
    search->by[state] = by;
    move_up(search, place ? place - 1 : search->waiting++, state);
}

/* Returns the best state in which the formula holds, or GORDIAN_NONE. */
static uint32_t search_best(struct search *search)
{
    const struct prices *prices = search->prices;
    const gordian_graph *graph = search->check->graph;
    const uint8_t *wanted = search->check->holds[search->check->formula->top];
    for (size_t i = 0; i < graph->initial_count; i++)
        offer_path(search, graph->initial[i], best_of(prices->semiring), GORDIAN_NONE, SIZE_MAX);
    while (search->waiting > 0) {
        uint32_t first = search->heap[0], last = search->heap[--search->waiting], place = 0;
        search->place[first] = UINT32_MAX;
        while (search->waiting > 0) {
            uint32_t child = 2 * place + 1;
            if (child + 1 < search->waiting &&
                comes_first(search, search->heap[child + 1], search->heap[child]))
                child++;
            if (child >= search->waiting || !comes_first(search, search->heap[child], last)) {
                put_at(search, place, last);
                break;
            }
            put_at(search, place, search->heap[child]);
            place = child;
        }
        uint32_t state = first;
        if (wanted[state])
            return state;
        for (size_t i = prices->first[state]; i < prices->first[state + 1]; i++) {
            double step = step_cost(prices, state, &prices->arcs[i], search->own, search->mask);
            double cost = multiply(prices->semiring, search->costs[state], step);
            if (prices->semiring == GORDIAN_SEMIRING_WEIGHTED || cost > 0)
                offer_path(search, prices->arcs[i].to, cost, state, i);
        }
    }
    return GORDIAN_NONE;
}

/* Finds the step in the graph. */
static gordian_status show_step(struct search *search, uint32_t state, struct output *text)
{
    const struct prices *prices = search->prices;
    struct check *check = search->check;
    const gordian_graph_arc *arc = &prices->arcs[search->by[state]];
    text->used = 0;
    circuit_write_label(prices->circuit, priced_label(prices, arc), text);
    if (text->failure)
        return fail_memory(check->error);
    uint32_t label = labels_find(&check->graph->labels, text->buffer, text->used);
    size_t at = check->result->path_count;
    check->result->costs[at] =
        step_cost(prices, search->from[state], arc, search->own, search->mask);
    return check_add_arc(check, false, (gordian_graph_arc){label, arc->to});
}

static gordian_status show_path(struct search *search, uint32_t end)
{
    gordian_check *result = search->check->result;
    gordian_status status = GORDIAN_OK;
    struct output text;
    size_t length = 0;
    for (uint32_t s = end; search->from[s] != GORDIAN_NONE; s = search->from[s])
        length++;
    uint32_t *states = memory_alloc(&result->allocator, (length + 1) * sizeof *states);
    result->costs = memory_alloc(&result->allocator, (length + 1) * sizeof *result->costs);
    bool open = output_open(&text, OUTPUT_MEMORY);
    if (!states || !result->costs || !open)
        status = fail_memory(search->check->error);
    for (size_t i = length + 1; status == GORDIAN_OK && i-- > 0;) {
        states[i] = end;
        end = search->from[end];
    }
    for (size_t i = 1; i <= length && status == GORDIAN_OK; i++)
        status = show_step(search, states[i], &text);
    if (status == GORDIAN_OK)
        result->start = states[0];
    if (open)
        output_close(&text);
    memory_free(&result->allocator, states);
    return status;
}

gordian_status prices_best(const struct prices *prices, struct check *check)
{
    const gordian_allocator *memory = &prices->memory;
    size_t states = (size_t)prices->state_count + 1, words = prices->circuit->label_words + 1;
    struct search search = {
        .prices = prices,
        .check = check,
        .own = memory_alloc(memory, words * sizeof(uint64_t)),
        .mask = memory_alloc(memory, words * sizeof(uint64_t)),
        .costs = memory_alloc(memory, states * sizeof(double)),
        .by = memory_alloc(memory, states * sizeof(size_t)),
        .from = memory_alloc(memory, states * sizeof(uint32_t)),
        .heap = memory_alloc(memory, states * sizeof(uint32_t)),
        .place = memory_zeroed(memory, states * sizeof(uint32_t)),
    };
    gordian_status status = GORDIAN_OK;
    if (!search.own || !search.mask || !search.costs || !search.by || !search.from ||
        !search.heap || !search.place)
        status = fail_memory(check->error);
    if (status == GORDIAN_OK) {
        uint32_t end = search_best(&search);
        check->result->holds = end != GORDIAN_NONE;
        check->result->start = check->graph->initial[0];
        check->result->cost = check->result->holds ? search.costs[end] : 0;
        if (check->result->holds)
            status = show_path(&search, end);
    }
    memory_free_all(memory, search.own, search.mask, search.costs, search.by, search.from,
                    search.heap, search.place);
    return status;
}
