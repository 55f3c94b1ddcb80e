/* Curves as SVG: one panel per title, both axes logarithmic unless a panel says otherwise, one line
 * per series. `gordian bench` and `gordian papers` draw with it. */
#pragma once

#include <gordian/gordian.h>

struct plot_point {
    const char *panel;  /* the title of its panel */
    const char *series; /* the curve it belongs to */
    double x, y;        /* both above 0 */
    bool linear;        /* y is linear on this panel: for values close together */
};

/* Draws panels and series in the order in which they first occur. */
gordian_status plot_write(const struct plot_point *points, size_t count, const char *path,
                          gordian_error *error);
