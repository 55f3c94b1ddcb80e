#include "compose/oracle.h"

#include "engines/compose/graph/graph_sink.h"
#include "foundation/base/bits.h"
#include "foundation/base/error.h"
#include "foundation/base/io/output.h"
#include "foundation/base/memory.h"

#include <stdlib.h>
#include <string.h>

/* A step of a part of the product. */
struct step {
    uint32_t from, to;
    const struct part *part;
    uint64_t *label;
};

/* The product of the first factors: which local states each state stands for, and its steps. */
struct part {
    const gordian_circuit *circuit;
    const gordian_allocator *memory;
    size_t factors; /* how many */
    uint64_t *mask; /* the names it has, with their data */
    uint32_t state_count;
    uint32_t *locals; /* `factors` of each state */
    bool *initial;
    struct step *steps;
    size_t step_count, step_room;
};

static void part_free(struct part *part)
{
    for (size_t i = 0; i < part->step_count; i++)
        memory_free(part->memory, part->steps[i].label);
    memory_free(part->memory, part->steps);
    memory_free(part->memory, part->mask);
    memory_free(part->memory, part->locals);
    memory_free(part->memory, part->initial);
    *part = (struct part){.memory = part->memory};
}

static gordian_status too_large(gordian_error *error)
{
    return fail(error, GORDIAN_STATUS_INPUT, "too large for the plain product");
}

/* Room for a part; what it holds is not filled in. */
static gordian_status part_make(struct part *part, const gordian_circuit *circuit, size_t factors,
                                uint64_t states, const gordian_allocator *memory,
                                gordian_error *error)
{
    *part = (struct part){.circuit = circuit, .memory = memory, .factors = factors};
    if (states > PLAIN_STATES_MAX)
        return too_large(error);
    part->state_count = (uint32_t)states;
    part->mask = memory_zeroed(memory, circuit->label_words * sizeof(uint64_t));
    part->locals = memory_alloc(memory, states * factors * sizeof(uint32_t));
    part->initial = memory_alloc(memory, states);
    if (part->mask && part->locals && part->initial)
        return GORDIAN_OK;
    part_free(part);
    return fail_memory(error);
}

/* Adds a step whose label is the union of two (the second may be NULL). */
static gordian_status add_step(struct part *part, uint32_t from, uint32_t to, const uint64_t *one,
                               const uint64_t *other, gordian_error *error)
{
    size_t words = part->circuit->label_words;
    if (part->step_count == PLAIN_STEPS_MAX)
        return too_large(error);
    uint64_t *label = memory_alloc(part->memory, words * sizeof *label);
    if (!label || !memory_grow(part->memory, &part->steps, &part->step_room, part->step_count + 1,
                               sizeof *part->steps)) {
        memory_free(part->memory, label);
        return fail_memory(error);
    }
    for (size_t w = 0; w < words; w++)
        label[w] = one[w] | (other ? other[w] : 0);
    part->steps[part->step_count++] = (struct step){from, to, NULL, label};
    return GORDIAN_OK;
}

/* One factor by itself. */
static gordian_status part_of_factor(struct part *part, const gordian_circuit *circuit,
                                     uint32_t factor, const gordian_allocator *memory,
                                     gordian_error *error)
{
    const struct shape *shape = factor_shape(circuit, factor);
    gordian_status status = part_make(part, circuit, 1, shape->state_count, memory, error);
    uint64_t *label = NULL;
    if (status == GORDIAN_OK) {
        label = memory_alloc(memory, circuit->label_words * sizeof *label);
        status = label ? GORDIAN_OK : fail_memory(error);
        factor_mask(circuit, factor, part->mask);
    }
    for (uint32_t s = 0; s < shape->state_count && status == GORDIAN_OK; s++) {
        part->locals[s] = s;
        part->initial[s] = s < shape->initial_count;
        for (size_t t = shape->first[s]; t < shape->first[s + 1] && status == GORDIAN_OK; t++) {
            factor_label(circuit, factor, t, label);
            status = add_step(part, s, shape->to[t], label, NULL, error);
        }
    }
    memory_free(memory, label);
    return status;
}

/* Does the label fire a name of the set? */
static bool touches(const struct part *part, const uint64_t *label, const uint64_t *mask)
{
    for (uint32_t n = 0; n < part->circuit->name_count; n++)
        if (bits_test(label, n) && bits_test(mask, n))
            return true;
    return false;
}

/* Rule 1: the same names of those that both have, with the same data. */
static bool agree(const struct part *left, const uint64_t *one, const struct part *right,
                  const uint64_t *other)
{
    const gordian_circuit *circuit = left->circuit;
    for (uint32_t n = 0; n < circuit->name_count; n++) {
        if (!bits_test(left->mask, n) || !bits_test(right->mask, n))
            continue;
        if (bits_test(one, n) != bits_test(other, n))
            return false;
        if (bits_test(one, n) &&
            gordian_circuit_value(circuit, one, n) != gordian_circuit_value(circuit, other, n))
            return false;
    }
    return true;
}

/* The three rules. State (l, r) has the number l + states of the left * r. */
static gordian_status apply_rules(struct part *product, const struct part *left,
                                  const struct part *right, gordian_error *error)
{
    uint32_t width = left->state_count;
    gordian_status status = GORDIAN_OK;
    for (size_t i = 0; i < left->step_count && status == GORDIAN_OK; i++) {
        const struct step *a = &left->steps[i];
        for (size_t k = 0; k < right->step_count && status == GORDIAN_OK; k++) {
            const struct step *b = &right->steps[k];
            if (agree(left, a->label, right, b->label))
                status = add_step(product, a->from + width * b->from, a->to + width * b->to,
                                  a->label, b->label, error);
        }
        if (touches(product, a->label, right->mask))
            continue;
        for (uint32_t r = 0; r < right->state_count && status == GORDIAN_OK; r++)
            status =
                add_step(product, a->from + width * r, a->to + width * r, a->label, NULL, error);
    }
    for (size_t k = 0; k < right->step_count && status == GORDIAN_OK; k++) {
        const struct step *b = &right->steps[k];
        if (touches(product, b->label, left->mask))
            continue;
        for (uint32_t l = 0; l < left->state_count && status == GORDIAN_OK; l++)
            status =
                add_step(product, l + width * b->from, l + width * b->to, b->label, NULL, error);
    }
    return status;
}

static gordian_status multiply(struct part *product, const struct part *left,
                               const struct part *right, gordian_error *error)
{
    size_t factors = left->factors + right->factors;
    gordian_status status =
        part_make(product, left->circuit, factors, (uint64_t)left->state_count * right->state_count,
                  left->memory, error);
    if (status != GORDIAN_OK)
        return status;
    for (size_t w = 0; w < left->circuit->label_words; w++)
        product->mask[w] = left->mask[w] | right->mask[w];
    for (uint32_t s = 0; s < product->state_count; s++) {
        uint32_t l = s % left->state_count, r = s / left->state_count;
        memcpy(product->locals + s * factors, left->locals + l * left->factors,
               left->factors * sizeof(uint32_t));
        memcpy(product->locals + s * factors + left->factors, right->locals + r * right->factors,
               right->factors * sizeof(uint32_t));
        product->initial[s] = left->initial[l] && right->initial[r];
    }
    return apply_rules(product, left, right, error);
}

/* ------------------------------------------------------------------ the reachable part */

static int compare_steps(const void *left, const void *right)
{
    const struct step *a = left, *b = right;
    const gordian_circuit *circuit = a->part->circuit;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    int labels = label_compare(a->label, b->label, circuit->label_words, circuit->name_count,
                               circuit->value_bits);
    return labels ? labels : (a->to > b->to) - (a->to < b->to);
}

/* Sorts the steps, drops what is there twice; *first gets the start of every state's. */
static gordian_status sort_steps(struct part *part, size_t **first, gordian_error *error)
{
    size_t kept = 0;
    *first = memory_zeroed(part->memory, ((size_t)part->state_count + 2) * sizeof **first);
    if (!*first)
        return fail_memory(error);
    for (size_t i = 0; i < part->step_count; i++)
        part->steps[i].part = part;
    if (part->step_count > 0)
        qsort(part->steps, part->step_count, sizeof *part->steps, compare_steps);
    for (size_t i = 0; i < part->step_count; i++) {
        if (kept > 0 && compare_steps(&part->steps[kept - 1], &part->steps[i]) == 0) {
            memory_free(part->memory, part->steps[i].label);
            continue;
        }
        (*first)[part->steps[i].from + 1]++;
        part->steps[kept++] = part->steps[i];
    }
    part->step_count = kept;
    for (uint32_t s = 0; s < part->state_count; s++)
        (*first)[s + 1] += (*first)[s];
    return GORDIAN_OK;
}

/* Marks what is reachable from the initial states, or everything. */
static gordian_status mark(const struct part *part, const size_t *first, bool full, bool *reached,
                           gordian_error *error)
{
    uint32_t *stack = memory_alloc(part->memory, ((size_t)part->state_count + 1) * sizeof *stack);
    size_t depth = 0;
    if (!stack)
        return fail_memory(error);
    for (uint32_t s = 0; s < part->state_count; s++) {
        reached[s] = full || part->initial[s];
        if (reached[s])
            stack[depth++] = s;
    }
    while (depth > 0) {
        uint32_t s = stack[--depth];
        for (size_t i = first[s]; i < first[s + 1]; i++) {
            if (!reached[part->steps[i].to]) {
                reached[part->steps[i].to] = true;
                stack[depth++] = part->steps[i].to;
            }
        }
    }
    memory_free(part->memory, stack);
    return GORDIAN_OK;
}

/* Keeps the marked states, in their order, and the steps among them. */
static void keep_marked(struct part *part, const bool *reached, uint32_t *number)
{
    uint32_t states = 0;
    size_t steps = 0;
    for (uint32_t s = 0; s < part->state_count; s++) {
        if (!reached[s])
            continue;
        memmove(part->locals + states * part->factors, part->locals + s * part->factors,
                part->factors * sizeof(uint32_t));
        part->initial[states] = part->initial[s];
        number[s] = states++;
    }
    for (size_t i = 0; i < part->step_count; i++) {
        struct step step = part->steps[i];
        if (!reached[step.from] || !reached[step.to]) {
            memory_free(part->memory, step.label);
            continue;
        }
        step.from = number[step.from];
        step.to = number[step.to];
        part->steps[steps++] = step;
    }
    part->state_count = states;
    part->step_count = steps;
}

static gordian_status prune(struct part *part, bool full, gordian_error *error)
{
    size_t *first = NULL;
    bool *reached = memory_alloc(part->memory, part->state_count);
    uint32_t *number = memory_alloc(part->memory, part->state_count * sizeof *number);
    gordian_status status = reached && number ? GORDIAN_OK : fail_memory(error);
    if (status == GORDIAN_OK)
        status = sort_steps(part, &first, error);
    if (status == GORDIAN_OK)
        status = mark(part, first, full, reached, error);
    if (status == GORDIAN_OK)
        keep_marked(part, reached, number);
    memory_free(part->memory, first);
    memory_free(part->memory, reached);
    memory_free(part->memory, number);
    return status;
}

/* ------------------------------------------------------------------ as a graph */

static gordian_status deliver(const struct part *part, gordian_graph **out, gordian_error *error)
{
    struct graph_sink sink;
    const gordian_circuit *circuit = part->circuit;
    size_t words = circuit->label_words, next = 0;
    gordian_status status = graph_sink_open(&sink, part->memory, error);
    if (status != GORDIAN_OK)
        return status;
    status =
        sink.sink.begin(sink.sink.context, circuit, part->state_count, part->step_count, error);
    for (uint32_t s = 0; s < part->state_count && status == GORDIAN_OK; s++) {
        size_t count = 0;
        while (next + count < part->step_count && part->steps[next + count].from == s)
            count++;
        uint64_t *labels = memory_alloc(part->memory, count * words * sizeof *labels);
        uint64_t *to = memory_alloc(part->memory, count * sizeof *to);
        status = labels && to ? GORDIAN_OK : fail_memory(error);
        for (size_t i = 0; i < count && status == GORDIAN_OK; i++) {
            memcpy(labels + i * words, part->steps[next + i].label, words * sizeof *labels);
            to[i] = part->steps[next + i].to;
        }
        gordian_compose_row row = {
            s, part->locals + s * part->factors, part->initial[s], count, labels, to};
        if (status == GORDIAN_OK)
            status = sink.sink.row(sink.sink.context, &row, error);
        next += count;
        memory_free(part->memory, labels);
        memory_free(part->memory, to);
    }
    if (status == GORDIAN_OK)
        return graph_sink_close(&sink, out, error);
    graph_sink_abandon(&sink);
    return status;
}

/* The product of no factors: one state, no steps. */
static gordian_status nothing(struct part *part, const gordian_circuit *circuit,
                              const gordian_allocator *memory, gordian_error *error)
{
    gordian_status status = part_make(part, circuit, 0, 1, memory, error);
    if (status == GORDIAN_OK)
        part->initial[0] = true;
    return status;
}

gordian_status plain_product(gordian_graph **out, const gordian_circuit *circuit, bool full,
                             const gordian_allocator *wanted, gordian_error *error)
{
    gordian_allocator memory = memory_allocator(wanted);
    struct part product, factor, next;
    *out = NULL;
    if (full && circuit->whole > PLAIN_STATES_MAX)
        return too_large(error);
    gordian_status status = nothing(&product, circuit, &memory, error);
    if (status != GORDIAN_OK)
        return status;
    for (uint32_t f = 0; f < circuit->factor_count && status == GORDIAN_OK; f++) {
        next = (struct part){.memory = &memory};
        status = part_of_factor(&factor, circuit, f, &memory, error);
        if (status == GORDIAN_OK)
            status = multiply(&next, &product, &factor, error);
        if (status == GORDIAN_OK)
            status = prune(&next, full, error);
        part_free(&factor);
        part_free(&product);
        product = next;
    }
    if (status == GORDIAN_OK)
        status = deliver(&product, out, error);
    part_free(&product);
    return status;
}
