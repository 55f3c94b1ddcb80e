/* The product of two automata as matrices: see published_product.cu. */
#pragma once

#include <stdint.h>

/*
 * A matrix has a row and a column a state; some of its rows may be all that is there. A cell is so
 * many uint32_t, its *stride*: how many transitions lead from the state of the row to that of the
 * column, then room for them, each two sets of names of `words` words: those that fire, those that
 * must not.
 */
struct published_product_arguments {
    uint64_t left, right, product; /* cells */
    uint32_t left_states, right_states;
    uint32_t left_first, right_first; /* their first row that is there */
    uint32_t left_stride, right_stride, stride;
    uint32_t words;
    uint64_t first, rows; /* of the product */
};

/* What published_product_survey finds. */
struct published_product_survey {
    uint64_t transitions; /* of all cells */
    uint32_t most;        /* of a cell */
    uint32_t unused;
};

struct published_product_survey_arguments {
    uint64_t cells, count;
    uint64_t out; /* struct published_product_survey, zeroed */
    uint32_t stride;
};
