#include "lab/bench/harness/plot.h"

#include "foundation/base/error.h"
#include "foundation/base/io/output.h"
#include "foundation/base/memory.h"
#include "lab/bench/harness/harness.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#define INNER   460 /* between the axes' ends */
#define HEIGHT  420
#define LEFT    70
#define RIGHT   190 /* width of the legend, at least */
#define TOP     40
#define BOTTOM  50
#define SERIES  24
#define COLOURS 8

static const char *const colours[COLOURS] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                             "#56b4e9", "#e69f00", "#000000", "#999933"};

struct plot {
    const struct plot_point *points;
    size_t count;
};

struct panel {
    const struct plot *plot;
    const char *title;
    double low_x, high_x, low_y, high_y; /* logarithms, except a linear y */
    bool linear;
    double step; /* between the grid lines of a linear y */
    const char *series[SERIES];
    size_t series_count;
    int top; /* top edge of the panel */
};

static void add_plot_series(struct panel *panel, const char *name)
{
    for (size_t i = 0; i < panel->series_count; i++)
        if (strcmp(panel->series[i], name) == 0)
            return;
    if (name[0] && panel->series_count < SERIES)
        panel->series[panel->series_count++] = name;
}

static bool is_on(const struct plot_point *point, const struct panel *panel)
{
    return strcmp(point->panel, panel->title) == 0;
}

static void measure_panel(struct panel *panel)
{
    const struct plot *plot = panel->plot;
    panel->low_x = panel->low_y = INFINITY;
    panel->high_x = panel->high_y = -INFINITY;
    for (size_t i = 0; i < plot->count; i++)
        if (is_on(&plot->points[i], panel)) {
            panel->linear = plot->points[i].linear;
            add_plot_series(panel, plot->points[i].series);
            double x = log10(plot->points[i].x), y = plot->points[i].y;
            panel->low_x = fmin(panel->low_x, x);
            panel->high_x = fmax(panel->high_x, x);
            panel->low_y = fmin(panel->low_y, panel->linear ? y : floor(log10(y)));
            panel->high_y = fmax(panel->high_y, panel->linear ? y : ceil(log10(y)));
        }
    if (panel->linear) {
        /* Extend the range to whole steps: 1, 2 or 5 times a power of ten, four to ten of them. */
        double range = fmax(panel->high_y - panel->low_y, 1);
        panel->step = pow(10, floor(log10(range)));
        if (range / panel->step < 2)
            panel->step /= 5;
        else if (range / panel->step < 5)
            panel->step /= 2;
        panel->low_y = floor(panel->low_y / panel->step) * panel->step;
        panel->high_y = ceil(panel->high_y / panel->step) * panel->step;
    }
    if (panel->high_x <= panel->low_x)
        panel->high_x = panel->low_x + 1;
    if (panel->high_y <= panel->low_y)
        panel->high_y = panel->low_y + 1;
}

static double place_x(const struct panel *panel, double x)
{
    return LEFT + (log10(x) - panel->low_x) / (panel->high_x - panel->low_x) * INNER;
}

static double place_y(const struct panel *panel, double y)
{
    return panel->top + HEIGHT - BOTTOM -
           ((panel->linear ? y : log10(y)) - panel->low_y) / (panel->high_y - panel->low_y) *
               (HEIGHT - TOP - BOTTOM);
}

static void draw_axes(struct output *out, const struct panel *panel)
{
    const int bottom = panel->top + HEIGHT - BOTTOM;
    output_format(out, "<text x=\"%d\" y=\"%d\" font-size=\"15\">%s</text>\n", LEFT,
                  panel->top + 22, panel->title);
    for (double e = panel->low_y; e <= panel->high_y; e += panel->linear ? panel->step : 1) {
        double value = panel->linear ? e : pow(10, e), y = place_y(panel, value);
        output_format(out,
                      "<path d=\"M%d %.1fH%d\" stroke=\"#ddd\"/>"
                      "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
                      LEFT, y, LEFT + INNER, LEFT - 6, y + 4, value);
    }
    /* Label the axis where there are points; omit labels that would overlap. */
    double last = 0, shown = -INFINITY;
    for (size_t i = 0; i < panel->plot->count; i++) {
        const struct plot_point *point = &panel->plot->points[i];
        if (!is_on(point, panel) || point->x <= last)
            continue;
        last = point->x;
        const double at = place_x(panel, last);
        output_format(out, "<path d=\"M%.1f %dv5\" stroke=\"#000\"/>", at, bottom);
        if (at - shown > 30) {
            output_format(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.0f</text>", at,
                          bottom + 20, last);
            shown = at;
        }
        output_char(out, '\n');
    }
    output_format(out, "<path d=\"M%d %dV%dH%d\" fill=\"none\" stroke=\"#000\"/>\n", LEFT,
                  panel->top + TOP, bottom, LEFT + INNER);
}

static bool is_point_of(const struct plot_point *point, const struct panel *panel, size_t series)
{
    return is_on(point, panel) && strcmp(point->series, panel->series[series]) == 0;
}

static void draw_series(struct output *out, const struct panel *panel, size_t index)
{
    const struct plot *plot = panel->plot;
    const char *colour = colours[index % COLOURS];
    const char *dashes = index >= COLOURS ? " stroke-dasharray=\"5 3\"" : "";
    char step = 'M';
    output_text(out, "<path d=\"");
    for (size_t i = 0; i < plot->count; i++) {
        const struct plot_point *point = &plot->points[i];
        if (!is_point_of(point, panel, index))
            continue;
        output_format(out, "%c%.1f %.1f", step, place_x(panel, point->x), place_y(panel, point->y));
        step = 'L';
    }
    output_format(out, "\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\"%s/>\n", colour, dashes);
    for (size_t i = 0; i < plot->count; i++)
        if (is_point_of(&plot->points[i], panel, index))
            output_format(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n",
                          place_x(panel, plot->points[i].x), place_y(panel, plot->points[i].y),
                          colour);
    int line = panel->top + TOP + 10 + 16 * (int)index;
    output_format(out,
                  "<path d=\"M%d %dh18\" stroke=\"%s\" stroke-width=\"2\"%s/>"
                  "<text x=\"%d\" y=\"%d\">",
                  LEFT + INNER + 12, line, colour, dashes, LEFT + INNER + 36, line + 4);
    /* Escape characters that are special in SVG. */
    const char *name = panel->series[index];
    for (; *name; name++)
        if (*name == '<')
            output_text(out, "&lt;");
        else if (*name == '&')
            output_text(out, "&amp;");
        else
            output_char(out, *name);
    output_text(out, "</text>\n");
}

/* Returns the title of the n-th panel, or NULL. */
static const char *panel_title(const struct plot *plot, size_t wanted)
{
    size_t seen = 0;
    for (size_t i = 0; i < plot->count; i++) {
        const char *title = plot->points[i].panel;
        bool again = false;
        for (size_t k = 0; k < i && !again; k++)
            again = strcmp(plot->points[k].panel, title) == 0;
        if (!again && seen++ == wanted)
            return title;
    }
    return NULL;
}

/* Width of the longest series name. */
static int legend_width(const struct plot *plot)
{
    size_t longest = 0;
    for (size_t i = 0; i < plot->count; i++) {
        size_t length = strlen(plot->points[i].series);
        longest = length > longest ? length : longest;
    }
    int wanted = 46 + (int)longest * 13 / 2;
    return wanted > RIGHT ? wanted : RIGHT;
}

static void draw_plot(const struct plot *plot, struct output *out)
{
    size_t panels = 0;
    while (panel_title(plot, panels))
        panels++;
    output_format(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%zu\" "
                  "font-family=\"sans-serif\" font-size=\"12\">\n"
                  "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
                  LEFT + INNER + legend_width(plot), panels ? panels * HEIGHT : HEIGHT);
    for (size_t i = 0; i < panels; i++) {
        struct panel panel = {.plot = plot, .title = panel_title(plot, i), .top = (int)i * HEIGHT};
        measure_panel(&panel);
        draw_axes(out, &panel);
        for (size_t s = 0; s < panel.series_count; s++)
            draw_series(out, &panel, s);
    }
    output_text(out, "</svg>\n");
}

gordian_status plot_write(const struct plot_point *points, size_t count, const char *path,
                          gordian_error *error)
{
    const struct plot plot = {points, count};
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return fail(error, GORDIAN_STATUS_IO, "cannot write '%s': %s", path, strerror(errno));
    struct output out;
    if (!output_open(&out, fd)) {
        close(fd);
        return fail_memory(error);
    }
    draw_plot(&plot, &out);
    bool written = output_close(&out);
    int failure = out.failure;
    if (close(fd) < 0 && written) {
        written = false;
        failure = errno;
    }
    if (!written)
        return fail(error, GORDIAN_STATUS_IO, "cannot write '%s': %s", path, strerror(failure));
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ rows of a bench */

/* Returns the points of a row: its own, and its baseline's. */
static size_t points_of(const struct bench_row *row, struct plot_point *points)
{
    size_t count = 0;
    const bool linear = strcmp(row->unit, "cycles") == 0;
    if (!row->plot || row->x <= 0)
        return 0;
    if (row->series[0] && row->value > 0)
        points[count++] = (struct plot_point){row->plot, row->series, row->x, row->value, linear};
    if (row->baseline && row->baseline_series[0] && row->baseline_value > 0)
        points[count++] = (struct plot_point){row->plot, row->baseline_series, row->x,
                                              row->baseline_value, linear};
    return count;
}

gordian_status bench_plot(const struct bench *bench, const char *path)
{
    struct plot_point *points =
        memory_alloc(&bench->memory, (2 * bench->row_count + 1) * sizeof *points);
    if (!points)
        return fail_memory(bench->error);
    size_t count = 0;
    for (size_t i = 0; i < bench->row_count; i++)
        count += points_of(&bench->rows[i], &points[count]);
    gordian_status status = plot_write(points, count, path, bench->error);
    memory_free(&bench->memory, points);
    return status;
}
