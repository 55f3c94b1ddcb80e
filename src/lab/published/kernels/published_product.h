/* The product of two automata as matrices: see published_product.cu. */
#pragma once

#include <stdint.h>

/*
 * A matrix has a row and a column for each state; some of its rows may be missing. A cell has
 * *stride* uint32_t's: the number of transitions from the row's state to the column's, then space
 * for them. A transition is two sets of names of `words` words: names that fire, and names that
 * must not.
 */
struct published_product_arguments {
    uint64_t left, right, product; /* cells */
    uint32_t left_states, right_states;
    uint32_t left_first, right_first; /* index of their first row */
    uint32_t left_stride, right_stride, stride;
    uint32_t words;
    uint64_t first, rows; /* of the product */
};

/* Result of published_product_survey. */
struct published_product_survey {
    uint64_t transitions; /* of all cells */
    uint32_t most;        /* of the fullest cell */
    uint32_t unused;
};

struct published_product_survey_arguments {
    uint64_t cells, count;
    uint64_t out; /* struct published_product_survey, zeroed */
    uint32_t stride;
};
