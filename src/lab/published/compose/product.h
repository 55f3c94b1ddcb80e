/*
 * Composition as the thesis on constraint automata publishes it: automata are matrices of cells,
 * a cell of the product is made from one cell of each factor and from nothing else, and many
 * automata are composed pair by pair, their number halved in each iteration.
 *
 * That no cell depends on another one of the product is what lets it be divided: a rank, or a
 * device with little memory, makes some rows of the product, for which it needs some rows of the
 * factors, which it makes itself. Nobody asks anybody for anything.
 *
 * The diagonal of a matrix holds the idle loops, one a state: a transition that fires nothing. A
 * pair of states (l, r) has the number l * states of the right + r.
 *
 * kernels/published_product.cu tells what was put right.
 */
#pragma once

#include "lab/published/published.h"

/* Where products are made: on a device that has published_kernels, or (NULL) on one core, where the
 * thesis has its reference. */
struct product_place {
    gordian_allocator memory;
    struct gpu *gpu;
};

/* An automaton, in the host's memory: states x states cells, laid out as
 * kernels/published_product.h has them. */
struct product_factor {
    uint32_t states;
    uint32_t words; /* of a set of names */
    uint32_t slots; /* transitions that a cell has room for */
    uint32_t *cells;
};

/* Rows of a matrix, in the place's memory. */
struct product_matrix {
    uint32_t states; /* columns */
    uint32_t first, rows;
    uint32_t words, slots;
    uint32_t most; /* transitions of a cell there are, at most */
    gpu_address cells;
};

/* uint32_t's of a cell. */
static inline uint32_t product_stride(uint32_t slots, uint32_t words)
{
    return 1 + slots * 2 * words;
}

/* ------------------------------------------------------------------ automata */

/* Without any transition. GORDIAN_STATUS_MEMORY: too large. */
gordian_status product_factor_new(struct product_factor *factor, uint32_t states, uint32_t words,
                                  uint32_t slots, const gordian_allocator *memory,
                                  gordian_error *error);
/* An array of them, and what they hold. */
void product_factors_free(struct product_factor *factors, size_t count,
                          const gordian_allocator *memory);
/* Room for one more transition in a cell that has it: its names that fire, and behind them those
 * that must not, all none. */
uint32_t *product_factor_add(struct product_factor *factor, uint32_t from, uint32_t to);
/* The thesis's FIFO1: name `first` fills it, the next one empties it. */
gordian_status product_fifo1(struct product_factor *factor, uint32_t first, uint32_t words,
                             const gordian_allocator *memory, gordian_error *error);

/* ------------------------------------------------------------------ matrices */

/* Rows of a factor. */
gordian_status product_load(const struct product_place *place, const struct product_factor *factor,
                            uint32_t first, uint32_t rows, struct product_matrix *matrix,
                            gordian_error *error);
void product_free(const struct product_place *place, struct product_matrix *matrix);

/* Room for these rows of the product of two, whose rows that it takes are there; all cells empty.
 * To be freed even if it fails. */
gordian_status product_make(const struct product_place *place, const struct product_matrix *left,
                            const struct product_matrix *right, uint32_t first, uint32_t rows,
                            struct product_matrix *product, gordian_error *error);
/* Fills it: on a device one kernel, started and not waited for. */
gordian_status product_fill(const struct product_place *place, const struct product_matrix *left,
                            const struct product_matrix *right,
                            const struct product_matrix *product, gordian_error *error);
/* Counts the transitions of all its cells, idle loops too, and finds matrix->most. */
gordian_status product_survey(const struct product_place *place, struct product_matrix *matrix,
                              uint64_t *transitions, gordian_error *error);
/* For tests: all cells, into `cells` of the caller's. */
gordian_status product_read(const struct product_place *place, const struct product_matrix *matrix,
                            uint32_t *cells, gordian_error *error);

/* ------------------------------------------------------------------ many automata */

/* States of the product of all; GORDIAN_STATUS_UNAVAILABLE: more than 32 bits count. */
gordian_status product_states(const struct product_factor *factors, size_t count, uint32_t *states,
                              gordian_error *error);
/* Rows `first` and so many on of the product of all (at least one factor, at least one row), made
 * from the factors by pairwise products in halving iterations. */
gordian_status product_tree(const struct product_place *place, const struct product_factor *factors,
                            size_t count, uint32_t first, uint32_t rows,
                            struct product_matrix *product, gordian_error *error);

/* The rows that a rank answers for. */
struct product_part {
    uint32_t first, rows; /* rows 0: there are fewer states than ranks */
};
/* For tests. */
struct product_part product_part(uint32_t states, uint32_t rank, uint32_t ranks);
/* Makes the rank's rows and counts their transitions, without the idle loops. Over all ranks they
 * add up to those of the product: that sum is all that ranks have to talk about. */
gordian_status product_count_part(const struct product_place *place,
                                  const struct product_factor *factors, size_t count, uint32_t rank,
                                  uint32_t ranks, uint64_t *transitions, gordian_error *error);
