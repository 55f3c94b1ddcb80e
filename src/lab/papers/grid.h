/* A table of texts. The first row is the heading; the first column has the labels. */
#pragma once

#include "foundation/base/io/output.h"
#include "lab/papers/chart.h"

struct grid {
    struct arena arena;
    gordian_allocator memory;
    size_t rows, columns;
    const char **cells; /* row by row; NULL: empty */
};

/* Fills the grid with an item's printed values and the values measured here. */
gordian_status grid_of_values(struct grid *grid, const struct papers *papers,
                              const struct papers_item *item, const struct results *results,
                              gordian_error *error);
/* Fills the grid with the item's speed-ups; no rows if it has none. */
gordian_status grid_of_speedups(struct grid *grid, const struct papers *papers,
                                const struct papers_item *item, const struct results *results,
                                gordian_error *error);
void grid_free(struct grid *grid);

/* Prints columns padded with blanks, two blanks between them, and `-` under the heading. */
void grid_print_text(const struct grid *grid, struct output *out);
void grid_print_markdown(const struct grid *grid, struct output *out);
