/*
 * The `dense` engine: the product as in the paper, by matrix multiplication, with its errors fixed.
 *
 * An automaton is a square matrix of cells. Cell (i, j) contains the transitions from state i to
 * state j; the diagonal also has the idle loops. An entry states for every name of the automaton
 * whether it fires or must not fire. The product of two matrices has a cell for every pair of
 * cells, with the union of every pair of entries that do not contradict each other on a common
 * name. The cells of the product are independent of each other. The idle loop of a product is the
 * union of two idle loops, so one rule replaces the three of the textbook.
 *
 * The paper stores one transition per cell, removes duplicates afterwards and represents names by
 * letters. Here a cell has any number of entries. Different pairs of entries never have the same
 * union in a cell, because an entry is determined by its own names. Names are bits.
 *
 * The engine builds all states, reachable or not. It is for small circuits only.
 */
#include "engines/compose/engine/engine.h"
#include "engines/compose/graph/explicit.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"
#include "foundation/base/meter.h"

#include <string.h>

#define DENSE_STATES_MAX 4096u

struct matrix {
    const gordian_allocator *memory;
    size_t words;  /* of a label */
    uint32_t size; /* states */
    uint64_t *mask;
    size_t *first;    /* entries of cell (i, j): first[i * size + j] up to the next cell's */
    uint64_t *labels; /* `words` words per entry; all zero: the idle loop */
    size_t count, label_room;
};

static void matrix_free(struct matrix *matrix)
{
    memory_free_all(matrix->memory, matrix->mask, matrix->first, matrix->labels);
    *matrix = (struct matrix){.memory = matrix->memory};
}

static gordian_status matrix_make(struct matrix *matrix, size_t words, uint32_t size,
                                  const gordian_allocator *memory, gordian_error *error)
{
    *matrix = (struct matrix){.memory = memory, .words = words, .size = size};
    matrix->mask = memory_zeroed(memory, words * sizeof(uint64_t));
    matrix->first = memory_alloc(memory, ((size_t)size * size + 1) * sizeof(size_t));
    if (matrix->mask && matrix->first)
        return GORDIAN_OK;
    matrix_free(matrix);
    return fail_memory(error);
}

/* Adds an entry to the current cell. */
static uint64_t *new_entry(struct matrix *matrix)
{
    if (!memory_grow(matrix->memory, &matrix->labels, &matrix->label_room,
                     (matrix->count + 1) * matrix->words, sizeof *matrix->labels))
        return NULL;
    return matrix->labels + matrix->count++ * matrix->words;
}

/* The unit matrix: one state that idles. */
static gordian_status matrix_one(struct matrix *matrix, size_t words,
                                 const gordian_allocator *memory, gordian_error *error)
{
    TRY(matrix_make(matrix, words, 1, memory, error));
    uint64_t *idle = new_entry(matrix);
    if (!idle) {
        matrix_free(matrix);
        return fail_memory(error);
    }
    memset(idle, 0, words * sizeof *idle);
    matrix->first[0] = 0;
    matrix->first[1] = 1;
    return GORDIAN_OK;
}

static gordian_status fill_from_factor(struct matrix *matrix, const gordian_circuit *circuit,
                                       uint32_t factor, gordian_error *error)
{
    const struct shape *shape = factor_shape(circuit, factor);
    for (uint32_t i = 0; i < shape->state_count; i++) {
        for (uint32_t j = 0; j < shape->state_count; j++) {
            matrix->first[(size_t)i * shape->state_count + j] = matrix->count;
            if (i == j) {
                uint64_t *idle = new_entry(matrix);
                if (!idle)
                    return fail_memory(error);
                memset(idle, 0, matrix->words * sizeof *idle);
            }
            for (size_t t = shape->first[i]; t < shape->first[i + 1]; t++) {
                if (shape->to[t] != j)
                    continue;
                uint64_t *entry = new_entry(matrix);
                if (!entry)
                    return fail_memory(error);
                factor_label(circuit, factor, t, entry);
            }
        }
    }
    matrix->first[(size_t)matrix->size * matrix->size] = matrix->count;
    return GORDIAN_OK;
}

static gordian_status matrix_of_factor(struct matrix *matrix, const gordian_circuit *circuit,
                                       uint32_t factor, const gordian_allocator *memory,
                                       gordian_error *error)
{
    TRY(matrix_make(matrix, circuit->label_words, factor_shape(circuit, factor)->state_count,
                    memory, error));
    factor_mask(circuit, factor, matrix->mask);
    gordian_status status = fill_from_factor(matrix, circuit, factor, error);
    if (status != GORDIAN_OK)
        matrix_free(matrix);
    return status;
}

/* Multiplies one cell of each side. */
static gordian_status multiply_dense_cells(struct matrix *product, const struct matrix *left,
                                           size_t one, const struct matrix *right, size_t other,
                                           gordian_error *error)
{
    size_t words = product->words;
    for (size_t i = left->first[one]; i < left->first[one + 1]; i++) {
        const uint64_t *x = left->labels + i * words;
        for (size_t k = right->first[other]; k < right->first[other + 1]; k++) {
            const uint64_t *y = right->labels + k * words;
            uint64_t contradiction = 0;
            for (size_t w = 0; w < words; w++)
                contradiction |= (x[w] ^ y[w]) & left->mask[w] & right->mask[w];
            if (contradiction)
                continue;
            uint64_t *both = new_entry(product);
            if (!both)
                return fail_memory(error);
            for (size_t w = 0; w < words; w++)
                both[w] = x[w] | y[w];
        }
    }
    return GORDIAN_OK;
}

/* State (l, r) of the product has the number l + (states of the left) * r. */
static gordian_status multiply_matrices(struct matrix *product, const struct matrix *left,
                                        const struct matrix *right, gordian_error *error)
{
    gordian_status status =
        matrix_make(product, left->words, left->size * right->size, left->memory, error);
    if (status != GORDIAN_OK)
        return status;
    for (size_t w = 0; w < left->words; w++)
        product->mask[w] = left->mask[w] | right->mask[w];
    size_t cell = 0;
    for (uint32_t i = 0; i < product->size; i++) {
        for (uint32_t j = 0; j < product->size && status == GORDIAN_OK; j++) {
            size_t one = (size_t)(i % left->size) * left->size + j % left->size;
            size_t other = (size_t)(i / left->size) * right->size + j / left->size;
            product->first[cell++] = product->count;
            status = multiply_dense_cells(product, left, one, right, other, error);
        }
    }
    if (status == GORDIAN_OK)
        product->first[cell] = product->count;
    else
        matrix_free(product);
    return status;
}

/* ------------------------------------------------------------------ the engine */

static bool dense_supports(const void *asked, const char **why)
{
    const gordian_circuit *circuit = ((const struct compose_problem *)asked)->circuit;
    if (circuit->whole_fits && circuit->whole <= DENSE_STATES_MAX)
        return true;
    *why = "the matrix is too large: at most 4096 combinations of local states";
    return false;
}

/* The mixed-radix number of a state whose local states were combined in another order. */
static uint32_t reorder_state(const gordian_circuit *circuit, const uint32_t *order,
                              uint32_t *locals, uint32_t number)
{
    uint64_t result = 0, weight = 1;
    for (size_t i = 0; i < circuit->factor_count; i++) {
        uint32_t states = factor_shape(circuit, order[i])->state_count;
        locals[order[i]] = number % states;
        number /= states;
    }
    for (uint32_t f = 0; f < circuit->factor_count; f++) {
        result += locals[f] * weight;
        weight *= factor_shape(circuit, f)->state_count;
    }
    return (uint32_t)result;
}

/* Extracts the transitions of the matrix without idle loops, with states numbered in the circuit's
 * order. */
static gordian_status extract_steps(struct explicit_product *out, const struct matrix *matrix,
                                    const uint32_t *order, gordian_error *error)
{
    const gordian_circuit *circuit = out->circuit;
    uint32_t *locals = memory_alloc(matrix->memory, circuit->factor_count * sizeof *locals);
    uint32_t *number = memory_alloc(matrix->memory, matrix->size * sizeof *number);
    out->steps = memory_alloc(matrix->memory, matrix->count * sizeof *out->steps);
    gordian_status status = locals && number && out->steps ? GORDIAN_OK : fail_memory(error);
    for (uint32_t s = 0; s < matrix->size && status == GORDIAN_OK; s++)
        number[s] = reorder_state(circuit, order, locals, s);
    for (uint32_t i = 0; i < matrix->size && status == GORDIAN_OK; i++) {
        for (uint32_t j = 0; j < matrix->size; j++) {
            size_t cell = (size_t)i * matrix->size + j;
            for (size_t e = matrix->first[cell]; e < matrix->first[cell + 1]; e++) {
                const uint64_t *label = matrix->labels + e * matrix->words;
                uint64_t any = 0;
                for (size_t w = 0; w < matrix->words; w++)
                    any |= label[w];
                if (any)
                    out->steps[out->step_count++] =
                        (struct explicit_step){number[i], number[j], label};
            }
        }
    }
    memory_free_all(matrix->memory, locals, number);
    return status;
}

static bool dense_goes_on(const gordian_compose_options *options, struct meter *meter,
                          gordian_compose_result *result)
{
    gordian_compose_progress progress = {.pass = 1, .memory = meter_now(meter)};
    if (compose_goes_on(options, &progress))
        return true;
    result->stop = GORDIAN_COMPOSE_STOP_STOPPED;
    return false;
}

/* Multiplies all factors. If stopped, the matrix is empty and result->stop has the reason. */
static gordian_status build_product(struct matrix *product, const gordian_circuit *circuit,
                                    const gordian_compose_options *options, struct meter *meter,
                                    gordian_compose_result *result, gordian_error *error)
{
    struct matrix factor, next;
    gordian_status status = matrix_one(product, circuit->label_words, &meter->memory, error);
    for (size_t i = 0; i < circuit->factor_count && status == GORDIAN_OK; i++) {
        if (!dense_goes_on(options, meter, result)) {
            matrix_free(product);
            return GORDIAN_OK;
        }
        status = matrix_of_factor(&factor, circuit, result->order[i], &meter->memory, error);
        if (status == GORDIAN_OK) {
            status = multiply_matrices(&next, product, &factor, error);
            matrix_free(&factor);
        }
        matrix_free(product);
        if (status == GORDIAN_OK)
            *product = next;
    }
    return status;
}

static gordian_status multiply_and_finish(const gordian_circuit *circuit,
                                          const gordian_compose_options *options,
                                          const gordian_compose_sink *sink, struct meter *meter,
                                          gordian_compose_result *result, gordian_error *error)
{
    struct matrix product;
    struct explicit_product steps = {.circuit = circuit};
    gordian_status status = build_product(&product, circuit, options, meter, result, error);
    if (status != GORDIAN_OK || result->stop != GORDIAN_COMPOSE_STOP_COMPLETE)
        return status;
    steps.state_count = product.size;
    status = extract_steps(&steps, &product, result->order, error);
    if (status == GORDIAN_OK && dense_goes_on(options, meter, result))
        status = explicit_finish(&steps, options, sink, result, &meter->memory, error);
    memory_free(&meter->memory, steps.steps);
    matrix_free(&product);
    return status;
}

static gordian_status dense_run(const gordian_circuit *circuit,
                                const gordian_compose_options *options,
                                const gordian_compose_sink *sink, gordian_compose_result *result,
                                gordian_error *error)
{
    struct meter meter;
    const char *why;
    *result = (gordian_compose_result){.allocator = memory_allocator(options->allocator)};
    if (!dense_supports(&(struct compose_problem){circuit, options}, &why))
        return fail(error, GORDIAN_STATUS_UNAVAILABLE, "engine 'dense' is not available: %s", why);
    TRY(compose_take_order(circuit, options, result, error));
    meter_open(&meter, options->allocator, options->max_memory);
    gordian_status status = multiply_and_finish(circuit, options, sink, &meter, result, error);
    bool kept = status == GORDIAN_STATUS_MEMORY && result->deadlocks > 0;
    if (status == GORDIAN_STATUS_MEMORY &&
        ((meter.refused && result->states == 0) || (kept && !sink))) {
        result->stop = GORDIAN_COMPOSE_STOP_MEMORY;
        status = GORDIAN_OK;
    }
    result->memory = meter.most;
    result->engine = compose_dense.about.name;
    meter_close(&meter);
    if (status != GORDIAN_OK && !kept)
        gordian_compose_result_free(result);
    return status;
}

const struct compose_engine compose_dense = {
    .about.name = "dense",
    .about.summary = "the paper's matrix of all pairs of states: a reference for small circuits",
    .about.supports = dense_supports,
    .run = dense_run,
};
