#include "lab/published/compose/circuit.h"

#include "foundation/base/error.h"

/* Copies sets of 64-bit words as 32-bit words. */
static void copy_halves(uint32_t *to, uint32_t words, const uint64_t *label, const uint64_t *mask)
{
    for (uint32_t w = 0; w < words; w++) {
        uint32_t shift = w % 2 * 32;
        to[w] = (uint32_t)(label[w / 2] >> shift);
        to[words + w] = (uint32_t)((mask[w / 2] & ~label[w / 2]) >> shift);
    }
}

/* Returns the number of transitions of the fullest cell, including idle loops. `counts`: for the
 * cells of a row. */
static uint32_t fullest_cell(const struct shape *shape, uint32_t *counts)
{
    uint32_t most = 1;
    for (uint32_t s = 0; s < shape->state_count; s++) {
        for (uint32_t to = 0; to < shape->state_count; to++)
            counts[to] = to == s;
        for (size_t t = shape->first[s]; t < shape->first[s + 1]; t++)
            if (++counts[shape->to[t]] > most)
                most = counts[shape->to[t]];
    }
    return most;
}

/* `label`, `mask`: capacity for one each, `label` all zero. */
static void fill_factor(struct product_factor *factor, const gordian_circuit *circuit,
                        uint32_t number, uint64_t *label, uint64_t *mask)
{
    const struct shape *shape = factor_shape(circuit, number);
    factor_mask(circuit, number, mask);
    for (uint32_t s = 0; s < shape->state_count; s++)
        copy_halves(product_factor_add(factor, s, s), factor->words, label, mask);
    for (uint32_t s = 0; s < shape->state_count; s++)
        for (size_t t = shape->first[s]; t < shape->first[s + 1]; t++) {
            factor_label(circuit, number, t, label);
            copy_halves(product_factor_add(factor, s, shape->to[t]), factor->words, label, mask);
        }
}

static gordian_status make_factor(struct product_factor *factor, const gordian_circuit *circuit,
                                  uint32_t number, const gordian_allocator *memory,
                                  gordian_error *error)
{
    const struct shape *shape = factor_shape(circuit, number);
    size_t words = circuit->label_words ? circuit->label_words : 1;
    uint32_t bits = circuit->name_count * (1 + circuit->value_bits);
    uint32_t *counts = memory_alloc(memory, shape->state_count * sizeof *counts);
    uint64_t *label = memory_zeroed(memory, words * sizeof *label);
    uint64_t *mask = memory_zeroed(memory, words * sizeof *mask);
    gordian_status status = counts && label && mask ? GORDIAN_OK : fail_memory(error);
    THEN(status, product_factor_new(factor, shape->state_count, bits > 0 ? (bits + 31) / 32 : 1,
                                    fullest_cell(shape, counts), memory, error));
    if (status == GORDIAN_OK)
        fill_factor(factor, circuit, number, label, mask);
    memory_free_all(memory, counts, label, mask);
    return status;
}

gordian_status product_of_circuit(struct product_factor **factors, const gordian_circuit *circuit,
                                  const gordian_allocator *memory, gordian_error *error)
{
    size_t count = circuit->factor_count;
    gordian_status status = GORDIAN_OK;
    *factors = memory_zeroed(memory, (count ? count : 1) * sizeof **factors);
    if (!*factors)
        return fail_memory(error);
    for (uint32_t i = 0; i < count && status == GORDIAN_OK; i++)
        status = make_factor(&(*factors)[i], circuit, i, memory, error);
    if (status != GORDIAN_OK) {
        product_factors_free(*factors, count, memory);
        *factors = NULL;
    }
    return status;
}
