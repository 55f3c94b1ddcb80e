/* Computes the same product cell by cell, like the thesis's reference for processors. It visits the
 * cells in order, so it knows the states of each without searching. */
#include "lab/published/compose/cpu.h"

#include <stdbool.h>

static const uint32_t *product_cell_at(uint64_t cells, uint64_t number, uint32_t stride)
{
    return (const uint32_t *)(uintptr_t)cells + number * stride;
}

/* Returns the union of two transitions; false if they contradict each other. */
static bool unite_names(const uint32_t *left, const uint32_t *right, uint32_t *both, uint32_t words)
{
    for (uint32_t w = 0; w < words; w++)
        if ((left[w] & right[words + w]) || (left[words + w] & right[w]))
            return false;
    for (uint32_t w = 0; w < 2 * words; w++)
        both[w] = left[w] | right[w];
    return true;
}

static void fill_cell(const uint32_t *left, const uint32_t *right, uint32_t *product,
                      uint32_t words)
{
    uint32_t *both = product + 1;
    product[0] = 0;
    for (uint32_t i = 0; i < left[0]; i++)
        for (uint32_t k = 0; k < right[0]; k++)
            if (unite_names(left + 1 + 2 * words * i, right + 1 + 2 * words * k, both, words)) {
                product[0]++;
                both += 2 * words;
            }
}

static void fill_product_row(const struct published_product_arguments *a, uint64_t row)
{
    uint64_t side = (uint64_t)a->left_states * a->right_states, state = a->first + row;
    uint64_t left = (state / a->right_states - a->left_first) * a->left_states;
    uint64_t right = (state % a->right_states - a->right_first) * a->right_states;
    uint32_t *product = (uint32_t *)(uintptr_t)a->product + row * side * a->stride;
    for (uint32_t l = 0; l < a->left_states; l++)
        for (uint32_t r = 0; r < a->right_states; r++, product += a->stride)
            fill_cell(product_cell_at(a->left, left + l, a->left_stride),
                      product_cell_at(a->right, right + r, a->right_stride), product, a->words);
}

void product_fill_cpu(const struct published_product_arguments *arguments)
{
    for (uint64_t row = 0; row < arguments->rows; row++)
        fill_product_row(arguments, row);
}
