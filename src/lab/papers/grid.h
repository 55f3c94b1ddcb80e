/* A table of texts, the first row its heading, the first column its labels. */
#pragma once

#include "foundation/base/io/output.h"
#include "lab/papers/chart.h"

struct grid {
    struct arena arena;
    gordian_allocator memory;
    size_t rows, columns;
    const char **cells; /* row by row; NULL: empty */
};

/* An item as it is printed, and what was measured here beside it. */
gordian_status grid_of_values(struct grid *grid, const struct papers *papers,
                              const struct papers_item *item, const struct results *results,
                              gordian_error *error);
/* Its speed-ups; no rows if there are none. */
gordian_status grid_of_speedups(struct grid *grid, const struct papers *papers,
                                const struct papers_item *item, const struct results *results,
                                gordian_error *error);
void grid_free(struct grid *grid);

/* Columns padded with blanks, two between them; `-` under the heading. */
void grid_print_text(const struct grid *grid, struct output *out);
void grid_print_markdown(const struct grid *grid, struct output *out);
