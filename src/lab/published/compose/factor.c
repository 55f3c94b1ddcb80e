/* Builds automata as the matrices that products start from. */
#include "lab/published/compose/product.h"

#include "foundation/base/error.h"

gordian_status product_factor_new(struct product_factor *factor, uint32_t states, uint32_t words,
                                  uint32_t slots, const gordian_allocator *memory,
                                  gordian_error *error)
{
    uint64_t cells = (uint64_t)states * states, capacity = 2 * (uint64_t)slots * words + 1;
    *factor = (struct product_factor){.states = states, .words = words, .slots = slots};
    if (capacity > UINT32_MAX || cells > SIZE_MAX / sizeof(uint32_t) / capacity)
        return fail_memory(error);
    factor->cells = memory_zeroed(memory, (size_t)(cells * capacity) * sizeof(uint32_t));
    return factor->cells ? GORDIAN_OK : fail_memory(error);
}

void product_factors_free(struct product_factor *factors, size_t count,
                          const gordian_allocator *memory)
{
    for (size_t i = 0; factors && i < count; i++)
        memory_free(memory, factors[i].cells);
    memory_free(memory, factors);
}

uint32_t *product_factor_add(struct product_factor *factor, uint32_t from, uint32_t to)
{
    uint32_t stride = product_stride(factor->slots, factor->words);
    uint32_t *cell = factor->cells + ((size_t)from * factor->states + to) * stride;
    return cell + 1 + 2 * factor->words * cell[0]++;
}

/* Adds a transition that fires one of the two names, or none. */
static void add_factor_firing(struct product_factor *factor, uint32_t from, uint32_t to,
                              uint32_t first, uint32_t fires)
{
    uint32_t *names = product_factor_add(factor, from, to);
    for (uint32_t name = first; name < first + 2; name++)
        names[(name == fires ? 0 : factor->words) + name / 32] |= 1u << name % 32;
}

gordian_status product_fifo1(struct product_factor *factor, uint32_t first, uint32_t words,
                             const gordian_allocator *memory, gordian_error *error)
{
    TRY(product_factor_new(factor, 2, words, 1, memory, error));
    add_factor_firing(factor, 0, 0, first, UINT32_MAX);
    add_factor_firing(factor, 1, 1, first, UINT32_MAX);
    add_factor_firing(factor, 0, 1, first, first);
    add_factor_firing(factor, 1, 0, first, first + 1);
    return GORDIAN_OK;
}
