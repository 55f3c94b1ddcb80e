/* An item's numbers as curves over its points: the paper's own, and what was measured here. What is
 * printed, drawn and written as JSON all comes from here. */
#pragma once

#include "lab/papers/measures.h"

struct chart_curve {
    const char *name; /* a series, a measure's label, or "old / new" of a speed-up */
    bool ours;        /* measured here */
    bool drawn;
    const struct papers_measure *measure; /* NULL: the paper's, or a speed-up */
    double *y; /* of each point; NaN: none. Nanoseconds, cycles, or a ratio */
    const struct results_value **values; /* where a measure's are from; NULL: none */
};

struct chart {
    struct arena arena;
    gordian_allocator memory;
    const struct papers_item *item;
    const char *head; /* what its points are called */
    struct papers_point *points;
    size_t point_count, point_room;
    struct chart_curve *curves;
    size_t curve_count, curve_room;
};

/* The numbers of an item, of all its tables if it joins some. */
gordian_status chart_open_values(struct chart *chart, const struct papers *papers,
                                 const struct papers_item *item, const struct results *results,
                                 gordian_error *error);
/* Speed-ups, each old time / new time: of the item, or of the tables it is worked out from. */
gordian_status chart_open_speedups(struct chart *chart, const struct papers *papers,
                                   const struct papers_item *item, const struct results *results,
                                   gordian_error *error);
/* Has the curve a value at any point? */
bool chart_has(const struct chart *chart, const struct chart_curve *curve);
void chart_close(struct chart *chart); /* one that is all zeros is fine */
