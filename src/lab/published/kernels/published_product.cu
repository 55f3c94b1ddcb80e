/*
 * The product of two constraint automata as in their thesis (algorithms 1 and 2): a thread for
 * each cell
 * of the product. A thread finds the pairs of states of its row and its column by counting up to
 * them. Then it takes the one relevant cell of each factor and writes their union, unless a name
 * fires
 * in one and must not fire in the other.
 *
 * Corrected: names are bits, not letters, so no pairwise comparison and no removal of duplicates
 * is
 * needed. A cell has any number of transitions, and each is combined with each of the other
 * cell's.
 * Matrices have any size; if a block has too few threads, more blocks are used.
 */
#include "foundation/gpu/language/kernel.h"
#include "lab/published/kernels/published_product.h"

/* The pair of states of a number: found by counting, as published. */
struct state_pair {
    uint32_t left, right;
};

struct cell_pairs {
    struct state_pair from, to;
};

DEVICE struct cell_pairs find_pairs(uint32_t left_states, uint32_t right_states, uint32_t from,
                                    uint32_t to)
{
    struct cell_pairs pairs = {{0, 0}, {0, 0}};
    uint32_t count = 0;
    for (uint32_t left = 0; left < left_states; left++)
        for (uint32_t right = 0; right < right_states; right++) {
            if (count == from) {
                pairs.from.left = left;
                pairs.from.right = right;
            }
            if (count == to) {
                pairs.to.left = left;
                pairs.to.right = right;
            }
            count++;
        }
    return pairs;
}

/* Does a name fire in one and must not fire in the other? */
DEVICE bool names_contradict(const uint32_t *one, const uint32_t *other, uint32_t words)
{
    uint32_t found = 0;
    for (uint32_t w = 0; w < words; w++)
        found |= (one[w] & other[words + w]) | (one[words + w] & other[w]);
    return found != 0;
}

/* Combines each transition of one cell with each transition of the other. */
DEVICE void multiply_cells(const uint32_t *left, const uint32_t *right, uint32_t *product,
                           uint32_t words)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < left[0]; i++) {
        const uint32_t *one = left + 1 + (uint64_t)i * 2 * words;
        for (uint32_t k = 0; k < right[0]; k++) {
            const uint32_t *other = right + 1 + (uint64_t)k * 2 * words;
            uint32_t *both = product + 1 + (uint64_t)count * 2 * words;
            if (names_contradict(one, other, words))
                continue;
            for (uint32_t w = 0; w < 2 * words; w++)
                both[w] = one[w] | other[w];
            count++;
        }
    }
    product[0] = count;
}

KERNEL(published_product, struct published_product_arguments)
{
    uint64_t mine = (uint64_t)BLOCK_INDEX * BLOCK_SIZE + THREAD_INDEX;
    uint64_t side = (uint64_t)a.left_states * a.right_states;
    if (mine >= a.rows * side)
        return;
    struct cell_pairs pairs = find_pairs(
        a.left_states, a.right_states, (uint32_t)(a.first + mine / side), (uint32_t)(mine % side));
    uint64_t left = (uint64_t)(pairs.from.left - a.left_first) * a.left_states + pairs.to.left;
    uint64_t right = (uint64_t)(pairs.from.right - a.right_first) * a.right_states + pairs.to.right;
    multiply_cells(GPU_POINTER(const uint32_t, a.left) + left * a.left_stride,
                   GPU_POINTER(const uint32_t, a.right) + right * a.right_stride,
                   GPU_POINTER(uint32_t, a.product) + mine * a.stride, a.words);
}

/* Not in the thesis: counts the transitions and finds the capacity that a cell needs. */
KERNEL(published_product_survey, struct published_product_survey_arguments)
{
    struct published_product_survey *out = GPU_POINTER(struct published_product_survey, a.out);
    uint64_t transitions = 0;
    uint32_t most = 0;
    for (uint64_t i = (uint64_t)BLOCK_INDEX * BLOCK_SIZE + THREAD_INDEX; i < a.count;
         i += (uint64_t)GRID_SIZE * BLOCK_SIZE) {
        uint32_t count = GPU_POINTER(const uint32_t, a.cells)[i * a.stride];
        transitions += count;
        most = count > most ? count : most;
    }
    atomic_add64(&out->transitions, transitions);
    atomic_max32(&out->most, most);
}
