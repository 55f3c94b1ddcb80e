/* Curves as SVG: one panel a title, both axes logarithmic unless a panel says otherwise, one line a
 * series. `gordian bench` and `gordian papers` draw with it. */
#pragma once

#include <gordian/gordian.h>

struct plot_point {
    const char *panel;  /* the title of the one it belongs to */
    const char *series; /* which curve of it */
    double x, y;        /* both above 0 */
    bool linear;        /* y is linear on this panel: values that lie close together */
};

/* Panels and series in the order in which they first occur. */
gordian_status plot_write(const struct plot_point *points, size_t count, const char *path,
                          gordian_error *error);
