/* The composition order: choosing it, and measuring what it costs. */
#include "engines/compose/engine/engine.h"
#include "foundation/base/bits.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"

#include <string.h>

bool compose_order_valid(const gordian_circuit *circuit, const uint32_t *order, size_t count,
                         const char **why)
{
    if (count != circuit->factor_count) {
        *why = "it must name every factor";
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (order[i] >= count) {
            *why = "there is no such factor";
            return false;
        }
    }
    *why = "a factor is listed twice";
    uint64_t *seen = memory_zeroed(&circuit->memory, bits_words(count) * sizeof *seen);
    bool twice = false;
    for (size_t i = 0; i < count && !twice; i++) {
        for (size_t k = 0; !seen && k < i; k++) /* without memory: compares all pairs */
            twice |= order[k] == order[i];
        if (seen) {
            twice = bits_test(seen, order[i]);
            bits_set(seen, order[i]);
        }
    }
    memory_free(&circuit->memory, seen);
    return !twice;
}

/* A factor that shares a name with the prefix, and its score when it was added to the heap. */
struct candidate {
    int64_t gain;
    uint32_t shared, factor;
};

/* The prefix: the factors composed so far. */
struct ordering {
    const gordian_circuit *circuit;
    gordian_allocator memory;
    uint8_t *placed;   /* by factor: it is in the prefix */
    uint32_t *outside; /* by name: factors with this name that are not in the prefix */
    uint8_t *known;    /* by name: a factor of the prefix has it */
    /* A heap with the best candidate on top. A factor whose score changes is added again: when the
     * prefix gets one of its names, and when it is the last factor with a name. Outdated entries
     * are skipped. */
    struct candidate *heap;
    size_t heap_count, heap_room;
};

/* How many open names the prefix would lose with this factor; *shared: names they have in
 * common. */
static int64_t gain_of(const struct ordering *ordering, uint32_t factor, uint32_t *shared)
{
    const gordian_circuit *circuit = ordering->circuit;
    uint32_t ports = factor_shape(circuit, factor)->port_count;
    int64_t closed = 0;
    *shared = 0;
    for (uint32_t p = 0; p < ports; p++) {
        uint32_t name = circuit->factors[factor].names[p];
        bool last = ordering->outside[name] == 1;
        *shared += ordering->known[name];
        if (ordering->known[name])
            closed += last;
        else
            closed -= !last;
    }
    return closed;
}

static bool candidate_before(const struct candidate *one, const struct candidate *other)
{
    if (one->gain != other->gain)
        return one->gain > other->gain;
    if (one->shared != other->shared)
        return one->shared > other->shared;
    return one->factor < other->factor;
}

static bool offer_factor(struct ordering *ordering, uint32_t factor)
{
    struct candidate fresh = {.factor = factor};
    fresh.gain = gain_of(ordering, factor, &fresh.shared);
    if (!memory_extend(&ordering->memory, ordering->heap, ordering->heap_room,
                       ordering->heap_count))
        return false;
    size_t at = ordering->heap_count++;
    for (; at > 0 && candidate_before(&fresh, &ordering->heap[(at - 1) / 2]); at = (at - 1) / 2)
        ordering->heap[at] = ordering->heap[(at - 1) / 2];
    ordering->heap[at] = fresh;
    return true;
}

static struct candidate pop_candidate(struct ordering *ordering)
{
    struct candidate *heap = ordering->heap, best = heap[0], last = heap[--ordering->heap_count];
    size_t at = 0, count = ordering->heap_count;
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        child += child + 1 < count && candidate_before(&heap[child + 1], &heap[child]);
        if (!candidate_before(&heap[child], &last))
            break;
        heap[at] = heap[child];
    }
    heap[at] = last;
    return best;
}

/* Returns the best factor that shares a name with the prefix; NONE: there is none. */
static uint32_t choose_factor(struct ordering *ordering)
{
    while (ordering->heap_count > 0) {
        uint32_t shared;
        struct candidate best = pop_candidate(ordering);
        if (!ordering->placed[best.factor] &&
            gain_of(ordering, best.factor, &shared) == best.gain && shared == best.shared)
            return best.factor;
    }
    return GORDIAN_NONE;
}

/* False: out of memory. */
static bool place_factor(struct ordering *ordering, uint32_t factor)
{
    const gordian_circuit *circuit = ordering->circuit;
    uint32_t ports = factor_shape(circuit, factor)->port_count;
    ordering->placed[factor] = 1;
    for (uint32_t p = 0; p < ports; p++)
        ordering->outside[circuit->factors[factor].names[p]]--;
    for (uint32_t p = 0; p < ports; p++) {
        uint32_t name = circuit->factors[factor].names[p];
        bool news = !ordering->known[name] || ordering->outside[name] == 1;
        ordering->known[name] = 1;
        for (size_t u = circuit->users_first[name]; news && u < circuit->users_first[name + 1]; u++)
            if (!ordering->placed[circuit->users[u]] && !offer_factor(ordering, circuit->users[u]))
                return false;
    }
    return true;
}

gordian_status compose_order(const gordian_circuit *circuit, uint32_t *order,
                             const gordian_allocator *wanted, gordian_error *error)
{
    gordian_allocator memory = memory_allocator(wanted);
    struct ordering ordering = {.circuit = circuit, .memory = memory};
    size_t names = circuit->name_count, factors = circuit->factor_count;
    ordering.placed = memory_zeroed(&memory, factors);
    ordering.known = memory_zeroed(&memory, names);
    ordering.outside = memory_alloc(&memory, names * sizeof(uint32_t));
    bool fine = ordering.placed && ordering.known && ordering.outside;
    for (size_t n = 0; fine && n < names; n++)
        ordering.outside[n] = (uint32_t)(circuit->users_first[n + 1] - circuit->users_first[n]);
    uint32_t lowest = 0;
    for (size_t i = 0; fine && i < factors; i++) {
        uint32_t next = choose_factor(&ordering);
        while (next == GORDIAN_NONE && ordering.placed[lowest])
            lowest++;
        order[i] = next == GORDIAN_NONE ? lowest : next;
        fine = place_factor(&ordering, order[i]);
    }
    memory_free_all(&memory, ordering.placed, ordering.known, ordering.outside, ordering.heap);
    return fine ? GORDIAN_OK : fail_memory(error);
}

gordian_status compose_take_order(const gordian_circuit *circuit,
                                  const gordian_compose_options *options,
                                  gordian_compose_result *result, gordian_error *error)
{
    const char *why;
    size_t count = circuit->factor_count;
    if (options->order && !compose_order_valid(circuit, options->order, count, &why))
        return fail(error, GORDIAN_STATUS_INPUT, "the order of composition: %s", why);
    result->order = memory_alloc(&result->allocator, count * sizeof *result->order);
    if (!result->order)
        return fail_memory(error);
    if (options->order)
        memcpy(result->order, options->order, count * sizeof *result->order);
    gordian_status status = GORDIAN_OK;
    if (!options->order)
        status = compose_order(circuit, result->order, &result->allocator, error);
    if (status != GORDIAN_OK) {
        memory_free(&result->allocator, result->order);
        result->order = NULL;
    }
    return status;
}

/* ------------------------------------------------------------------ cost of an order */

/* The cost of composing pairwise: measures the prefixes of an order. */
/* A prefix of an order as a circuit. It borrows everything from the whole circuit except what
 * depends on the factors in it. Names that no factor of the prefix has never fire. */
struct part {
    gordian_circuit circuit;
    const gordian_circuit *whole;
    gordian_allocator memory;
    uint32_t *inside; /* by name: factors of the prefix that have it */
    uint32_t open;
};

static void part_free(struct part *part)
{
    memory_free_all(&part->memory, part->circuit.factors, part->circuit.users_first,
                    part->circuit.users, part->inside);
}

/* Allocates a prefix with capacity for all factors. */
static gordian_status part_make(struct part *part, const gordian_circuit *whole,
                                const gordian_allocator *wanted, gordian_error *error)
{
    gordian_circuit *circuit = &part->circuit;
    *part = (struct part){.circuit = *whole, .whole = whole, .memory = memory_allocator(wanted)};
    const gordian_allocator *memory = &part->memory;
    circuit->factor_count = 0;
    circuit->factors = memory_alloc(memory, (whole->factor_count + 1) * sizeof *circuit->factors);
    circuit->users_first =
        memory_alloc(memory, ((size_t)whole->name_count + 1) * sizeof *circuit->users_first);
    circuit->users =
        memory_alloc(memory, (whole->users_first[whole->name_count] + 1) * sizeof *circuit->users);
    part->inside = memory_zeroed(memory, ((size_t)whole->name_count + 1) * sizeof *part->inside);
    if (circuit->factors && circuit->users_first && circuit->users && part->inside)
        return GORDIAN_OK;
    part_free(part);
    return fail_memory(error);
}

/* Computes what circuit_seal computes. */
static void part_settle(struct part *part)
{
    gordian_circuit *circuit = &part->circuit;
    /* The factors that have each name: counted, then filled in from the end. */
    for (uint32_t n = 0; n <= circuit->name_count; n++)
        circuit->users_first[n] = 0;
    for (uint32_t f = 0; f < circuit->factor_count; f++)
        for (uint32_t p = 0; p < factor_shape(circuit, f)->port_count; p++)
            circuit->users_first[circuit->factors[f].names[p]]++;
    for (uint32_t n = 1; n <= circuit->name_count; n++)
        circuit->users_first[n] += circuit->users_first[n - 1];
    for (uint32_t f = (uint32_t)circuit->factor_count; f-- > 0;)
        for (uint32_t p = 0; p < factor_shape(circuit, f)->port_count; p++)
            circuit->users[--circuit->users_first[circuit->factors[f].names[p]]] = f;
    circuit->whole = circuit->initial = 1;
    circuit->whole_fits = true;
    for (uint32_t f = 0; f < circuit->factor_count; f++) {
        const struct shape *shape = factor_shape(circuit, f);
        circuit->whole_fits &=
            !__builtin_mul_overflow(circuit->whole, shape->state_count, &circuit->whole);
        if (__builtin_mul_overflow(circuit->initial, shape->initial_count, &circuit->initial))
            circuit->initial = UINT64_MAX;
    }
}

/* Each prefix is composed from the start, so the cost of a long order is quadratic. The memory of
 * the prefixes measures the work; beyond this limit no more prefixes are composed. */
#define EXPLAIN_MOST (UINT64_C(1) << 29)

static gordian_status measure_prefix(const struct part *part, uint64_t max_states,
                                     const gordian_allocator *memory, gordian_compose_stage *stage,
                                     uint64_t *spent, gordian_error *error)
{
    const struct compose_engine *engine;
    gordian_compose_options options;
    gordian_compose_result result = {0};
    gordian_compose_options_init(&options);
    options.max_states = max_states;
    options.max_deadlocks = 0;
    options.allocator = memory;
    TRY(compose_choose(&part->circuit, &options, &engine, error));
    TRY(engine->run(&part->circuit, &options, NULL, &result, error));
    if (result.stop == GORDIAN_COMPOSE_STOP_COMPLETE) {
        stage->states = result.states;
        stage->transitions = result.transitions;
    }
    *spent += result.memory;
    gordian_compose_result_free(&result);
    return GORDIAN_OK;
}

gordian_status gordian_compose_explain(const gordian_circuit *circuit, const uint32_t *order,
                                       uint64_t max_states, gordian_compose_stage *stages,
                                       const gordian_allocator *memory, gordian_error *error)
{
    struct part part;
    bool fits = true;
    uint64_t spent = 0;
    gordian_compose_result chosen = {.allocator = memory_allocator(memory)};
    gordian_status status =
        compose_take_order(circuit, &(gordian_compose_options){.order = order}, &chosen, error);
    THEN(status, part_make(&part, circuit, memory, error));
    if (status != GORDIAN_OK) {
        gordian_compose_result_free(&chosen);
        return status;
    }
    for (size_t i = 0; i < circuit->factor_count && status == GORDIAN_OK; i++) {
        /* Adds a factor. A name is open if a factor of the prefix shares it with a later one. */
        uint32_t factor = chosen.order[i];
        const gordian_circuit *whole = part.whole;
        for (uint32_t p = 0; p < factor_shape(whole, factor)->port_count; p++) {
            uint32_t name = whole->factors[factor].names[p];
            size_t users = whole->users_first[name + 1] - whole->users_first[name];
            part.open += part.inside[name]++ == 0;
            part.open -= part.inside[name] == users;
        }
        part.circuit.factors[part.circuit.factor_count++] = whole->factors[factor];
        stages[i] = (gordian_compose_stage){chosen.order[i], UINT64_MAX, UINT64_MAX, part.open};
        if (!fits)
            continue;
        part_settle(&part);
        status = measure_prefix(&part, max_states, memory, &stages[i], &spent, error);
        fits = stages[i].states != UINT64_MAX && spent < EXPLAIN_MOST;
    }
    part_free(&part);
    gordian_compose_result_free(&chosen);
    return status;
}
