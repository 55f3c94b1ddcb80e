/*
 * Composition as published in the thesis on constraint automata. Automata are matrices of cells. A
 * cell
 * of the product depends on one cell of each factor and on nothing else. Many automata are
 * composed
 * pair by pair: each iteration halves their number.
 *
 * Because the cells are independent, the product can be divided: a rank, or a device with little
 * memory, computes some rows of the product. It computes the rows of the factors it needs itself,
 * so
 * ranks need no communication.
 *
 * The diagonal of a matrix holds the idle loops, one for each state: a transition that fires
 * nothing.
 * A pair of states (l, r) has the number l * states of the right + r.
 *
 * kernels/published_product.cu lists what was corrected.
 */
#pragma once

#include "lab/published/published.h"

/* Where products are computed: on a device that has published_kernels, or (NULL) on one core, like
 * the thesis's reference. */
struct product_place {
    gordian_allocator memory;
    struct gpu *gpu;
};

/* An automaton in the host's memory: states x states cells, in the layout of
 * kernels/published_product.h. */
struct product_factor {
    uint32_t states;
    uint32_t words; /* of a set of names */
    uint32_t slots; /* capacity of a cell, in transitions */
    uint32_t *cells;
};

/* Rows of a matrix, in the place's memory. */
struct product_matrix {
    uint32_t states; /* columns */
    uint32_t first, rows;
    uint32_t words, slots;
    uint32_t most; /* transitions of the fullest cell */
    gpu_address cells;
};

/* Size of a cell in uint32_t's. */
static inline uint32_t product_stride(uint32_t slots, uint32_t words)
{
    return 1 + slots * 2 * words;
}

/* ------------------------------------------------------------------ automata */

/* Makes an automaton without transitions. GORDIAN_STATUS_MEMORY: too large. */
gordian_status product_factor_new(struct product_factor *factor, uint32_t states, uint32_t words,
                                  uint32_t slots, const gordian_allocator *memory,
                                  gordian_error *error);
/* Frees an array of factors and their contents. */
void product_factors_free(struct product_factor *factors, size_t count,
                          const gordian_allocator *memory);
/* Appends a transition to a cell with free capacity. Returns its set of names that fire, followed
 * by the set of names that must not; both are empty. */
uint32_t *product_factor_add(struct product_factor *factor, uint32_t from, uint32_t to);
/* The thesis's FIFO1: name `first` fills it, the next name empties it. */
gordian_status product_fifo1(struct product_factor *factor, uint32_t first, uint32_t words,
                             const gordian_allocator *memory, gordian_error *error);

/* ------------------------------------------------------------------ matrices */

/* Loads rows of a factor. */
gordian_status product_load(const struct product_place *place, const struct product_factor *factor,
                            uint32_t first, uint32_t rows, struct product_matrix *matrix,
                            gordian_error *error);
void product_free(const struct product_place *place, struct product_matrix *matrix);

/* Allocates these rows of the product of two matrices, which have the rows needed for it; all cells
 * are empty. Free it even if this fails. */
gordian_status product_make(const struct product_place *place, const struct product_matrix *left,
                            const struct product_matrix *right, uint32_t first, uint32_t rows,
                            struct product_matrix *product, gordian_error *error);
/* Computes the cells: on a device it launches one kernel and does not wait for it. */
gordian_status product_fill(const struct product_place *place, const struct product_matrix *left,
                            const struct product_matrix *right,
                            const struct product_matrix *product, gordian_error *error);
/* Counts the transitions of all cells, including idle loops, and sets matrix->most. */
gordian_status product_survey(const struct product_place *place, struct product_matrix *matrix,
                              uint64_t *transitions, gordian_error *error);
/* For tests: copies all cells into the caller's `cells`. */
gordian_status product_read(const struct product_place *place, const struct product_matrix *matrix,
                            uint32_t *cells, gordian_error *error);

/* ------------------------------------------------------------------ many automata */

/* Returns the number of states of the whole product; GORDIAN_STATUS_UNAVAILABLE: more than 32 bits
 * can count. */
gordian_status product_states(const struct product_factor *factors, size_t count, uint32_t *states,
                              gordian_error *error);
/* Computes `rows` rows of the whole product, from row `first` on (at least one factor, at least one
 * row), by pairwise products in halving iterations. */
gordian_status product_tree(const struct product_place *place, const struct product_factor *factors,
                            size_t count, uint32_t first, uint32_t rows,
                            struct product_matrix *product, gordian_error *error);

/* The rows that a rank is responsible for. */
struct product_part {
    uint32_t first, rows; /* rows is 0 for some ranks if there are fewer states than ranks */
};
/* For tests. */
struct product_part product_part(uint32_t states, uint32_t rank, uint32_t ranks);
/* Computes the rank's rows and counts their transitions, without the idle loops. The sum over all
 * ranks is the product's count; ranks exchange nothing else. */
gordian_status product_count_part(const struct product_place *place,
                                  const struct product_factor *factors, size_t count, uint32_t rank,
                                  uint32_t ranks, uint64_t *transitions, gordian_error *error);
