/* Curves as SVG: one panel a plot, both axes logarithmic (cycles, which lie close together, are
 * linear), one line a series. */
#include "harness.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WIDTH   720
#define HEIGHT  420
#define LEFT    70
#define RIGHT   190 /* room for the legend */
#define TOP     40
#define BOTTOM  50
#define SERIES  16
#define COLOURS 8

static const char *const colours[COLOURS] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                             "#56b4e9", "#e69f00", "#000000", "#999933"};

struct panel {
    const struct bench *bench;
    const char *title;
    double low_x, high_x, low_y, high_y; /* logarithms, but for y if it is linear */
    bool linear;
    double step; /* between the lines of a linear y */
    const char *series[SERIES];
    size_t series_count;
    int top; /* where the panel starts */
};

static void stretch(struct panel *panel, double x, double y)
{
    panel->low_x = fmin(panel->low_x, log10(x));
    panel->high_x = fmax(panel->high_x, log10(x));
    panel->low_y = fmin(panel->low_y, panel->linear ? y : floor(log10(y)));
    panel->high_y = fmax(panel->high_y, panel->linear ? y : ceil(log10(y)));
}

/* Room for whole steps: 1, 2 or 5 times a power of ten, four to ten of them. */
static void round_linear(struct panel *panel)
{
    double range = fmax(panel->high_y - panel->low_y, 1);
    panel->step = pow(10, floor(log10(range)));
    if (range / panel->step < 2)
        panel->step /= 5;
    else if (range / panel->step < 5)
        panel->step /= 2;
    panel->low_y = floor(panel->low_y / panel->step) * panel->step;
    panel->high_y = ceil(panel->high_y / panel->step) * panel->step;
}

static void add_series(struct panel *panel, const char *name)
{
    for (size_t i = 0; i < panel->series_count; i++)
        if (strcmp(panel->series[i], name) == 0)
            return;
    if (name[0] && panel->series_count < SERIES)
        panel->series[panel->series_count++] = name;
}

/* The value of a row on a series; false if the row has no point there. */
static bool point(const struct bench_row *row, const char *title, const char *series, double *y)
{
    if (!row->plot || strcmp(row->plot, title) != 0)
        return false;
    if (strcmp(row->series, series) == 0)
        *y = row->value;
    else if (row->baseline && strcmp(row->baseline_series, series) == 0)
        *y = row->baseline_value;
    else
        return false;
    return row->x > 0 && *y > 0;
}

static void measure_panel(struct panel *panel)
{
    panel->low_x = panel->low_y = INFINITY;
    panel->high_x = panel->high_y = -INFINITY;
    for (size_t i = 0; i < panel->bench->row_count; i++) {
        const struct bench_row *row = &panel->bench->rows[i];
        if (!row->plot || strcmp(row->plot, panel->title) != 0)
            continue;
        panel->linear = strcmp(row->unit, "cycles") == 0;
        add_series(panel, row->series);
        if (row->baseline)
            add_series(panel, row->baseline_series);
    }
    for (size_t s = 0; s < panel->series_count; s++)
        for (size_t i = 0; i < panel->bench->row_count; i++) {
            double y;
            if (point(&panel->bench->rows[i], panel->title, panel->series[s], &y))
                stretch(panel, panel->bench->rows[i].x, y);
        }
    if (panel->linear)
        round_linear(panel);
    if (panel->high_x <= panel->low_x)
        panel->high_x = panel->low_x + 1;
    if (panel->high_y <= panel->low_y)
        panel->high_y = panel->low_y + 1;
}

static double place_x(const struct panel *panel, double x)
{
    return LEFT +
           (log10(x) - panel->low_x) / (panel->high_x - panel->low_x) * (WIDTH - LEFT - RIGHT);
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
                      LEFT, y, WIDTH - RIGHT, LEFT - 6, y + 4, value);
    }
    double last = -1;
    for (size_t i = 0; i < panel->bench->row_count; i++) {
        const struct bench_row *row = &panel->bench->rows[i];
        if (!row->plot || strcmp(row->plot, panel->title) != 0 || row->x <= last)
            continue;
        last = row->x;
        output_format(out,
                      "<path d=\"M%.1f %dv5\" stroke=\"#000\"/>"
                      "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.0f</text>\n",
                      place_x(panel, row->x), bottom, place_x(panel, row->x), bottom + 20, row->x);
    }
    output_format(out, "<path d=\"M%d %dV%dH%d\" fill=\"none\" stroke=\"#000\"/>\n", LEFT,
                  panel->top + TOP, bottom, WIDTH - RIGHT);
}

static void draw_series(struct output *out, const struct panel *panel, size_t index)
{
    const char *colour = colours[index % COLOURS];
    char step = 'M';
    output_text(out, "<path d=\"");
    for (size_t i = 0; i < panel->bench->row_count; i++) {
        const struct bench_row *row = &panel->bench->rows[i];
        double y;
        if (!point(row, panel->title, panel->series[index], &y))
            continue;
        output_format(out, "%c%.1f %.1f", step, place_x(panel, row->x), place_y(panel, y));
        step = 'L';
    }
    output_format(out, "\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\"%s/>\n", colour,
                  index >= COLOURS ? " stroke-dasharray=\"5 3\"" : "");
    for (size_t i = 0; i < panel->bench->row_count; i++) {
        double y;
        if (point(&panel->bench->rows[i], panel->title, panel->series[index], &y))
            output_format(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n",
                          place_x(panel, panel->bench->rows[i].x), place_y(panel, y), colour);
    }
    int line = panel->top + TOP + 10 + 18 * (int)index;
    output_format(out,
                  "<path d=\"M%d %dh18\" stroke=\"%s\" stroke-width=\"2\"/>"
                  "<text x=\"%d\" y=\"%d\">%s</text>\n",
                  WIDTH - RIGHT + 12, line, colour, WIDTH - RIGHT + 36, line + 4,
                  panel->series[index]);
}

/* The title of the n-th plot, or NULL. */
static const char *plot_title(const struct bench *bench, size_t wanted)
{
    size_t seen = 0;
    for (size_t i = 0; i < bench->row_count; i++) {
        const char *title = bench->rows[i].plot;
        bool again = !title;
        for (size_t k = 0; k < i && !again; k++)
            again = bench->rows[k].plot && strcmp(bench->rows[k].plot, title) == 0;
        if (!again && seen++ == wanted)
            return title;
    }
    return NULL;
}

static void draw(const struct bench *bench, struct output *out)
{
    size_t panels = 0;
    while (plot_title(bench, panels))
        panels++;
    output_format(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%zu\" "
                  "font-family=\"sans-serif\" font-size=\"12\">\n"
                  "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
                  WIDTH, panels ? panels * HEIGHT : HEIGHT);
    for (size_t i = 0; i < panels; i++) {
        struct panel panel = {
            .bench = bench, .title = plot_title(bench, i), .top = (int)i * HEIGHT};
        measure_panel(&panel);
        draw_axes(out, &panel);
        for (size_t s = 0; s < panel.series_count; s++)
            draw_series(out, &panel, s);
    }
    output_text(out, "</svg>\n");
}

gordian_status bench_plot(const struct bench *bench, const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return fail(bench->error, GORDIAN_STATUS_IO, "cannot write '%s': %s", path,
                    strerror(errno));
    struct output out;
    if (!output_open(&out, fd)) {
        close(fd);
        return fail_memory(bench->error);
    }
    draw(bench, &out);
    bool written = output_close(&out);
    int failure = out.failure;
    if (close(fd) < 0 && written) {
        written = false;
        failure = errno;
    }
    if (!written)
        return fail(bench->error, GORDIAN_STATUS_IO, "cannot write '%s': %s", path,
                    strerror(failure));
    return GORDIAN_OK;
}
