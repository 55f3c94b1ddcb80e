/* An item's numbers as curves over its points: the paper's values and those measured here. Text,
 * pictures and JSON are all made from these curves. */
#pragma once

#include "lab/papers/measures.h"

struct chart_curve {
    const char *name; /* a series, a measure's label, or "old / new" of a speed-up */
    bool ours;        /* measured here */
    bool drawn;
    const struct papers_measure *measure; /* NULL: a curve of the paper, or a speed-up */
    double *y; /* one value per point; NaN: none. Nanoseconds, cycles, or a ratio */
    const struct results_value **values; /* source of the values of a measure; NULL: none */
};

struct chart {
    struct arena arena;
    gordian_allocator memory;
    const struct papers_item *item;
    const char *head; /* name of the points */
    struct papers_point *points;
    size_t point_count, point_capacity;
    struct chart_curve *curves;
    size_t curve_count, curve_capacity;
};

/* Opens the numbers of an item, including all tables that it joins. */
gordian_status chart_open_values(struct chart *chart, const struct papers *papers,
                                 const struct papers_item *item, const struct results *results,
                                 gordian_error *error);
/* Opens the speed-ups, each old time / new time, of the item or of the tables it is computed from.
 */
gordian_status chart_open_speedups(struct chart *chart, const struct papers *papers,
                                   const struct papers_item *item, const struct results *results,
                                   gordian_error *error);
/* Has the curve a value at any point? */
bool chart_has(const struct chart *chart, const struct chart_curve *curve);
void chart_close(struct chart *chart); /* accepts an all-zero chart */
