/* Draws matrices as an SVG: a square for each element that is not zero. Adjacent equal elements
 * share one box, which keeps the files of large matrices small. */
#include "cli/detect/matrices.h"

#define NAMED_MOST 64    /* most rows and columns with names */
#define CELL       16.0  /* size of an element with names */
#define SIDE       640.0 /* size of a larger matrix */
#define LETTER     7.0   /* approximate width of a letter */
#define MARGIN     24.0
#define TITLE      28.0 /* space above each matrix */

struct panel {
    struct matrices *matrices;
    struct matrix_view view;
    struct output *out;
    double left, top, cell;
    bool named;
};

/* Returns the width of the longest name, if names are drawn. */
static double names_width(const struct panel *panel, const struct matrix_side *side)
{
    const struct style style = {.utf8 = true};
    size_t most = 0;
    for (size_t i = 0; panel->named && i < side->count; i++) {
        const size_t width = style_width(&style, matrix_label(panel->matrices, side, i));
        most = width > most ? width : most;
    }
    return (double)most * LETTER;
}

static void draw_names_of(const struct panel *panel)
{
    for (size_t i = 0; i < panel->view.rows.count; i++) {
        output_format(panel->out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">",
                      panel->left - 5, panel->top + ((double)i + 0.75) * panel->cell);
        style_xml(panel->out, matrix_label(panel->matrices, &panel->view.rows, i));
        output_text(panel->out, "</text>\n");
    }
    for (size_t i = 0; i < panel->view.columns.count; i++) {
        const double x = panel->left + ((double)i + 0.75) * panel->cell;
        output_format(panel->out, "<text transform=\"translate(%.1f %.1f) rotate(-90)\">", x,
                      panel->top - 5);
        style_xml(panel->out, matrix_label(panel->matrices, &panel->view.columns, i));
        output_text(panel->out, "</text>\n");
    }
}

/* Draws a box for each run of equal elements, with the number if it is above 1. */
static void draw_row(const struct panel *panel, size_t row)
{
    const uint64_t *values = panel->matrices->values;
    const double y = panel->top + (double)row * panel->cell;
    for (size_t i = 0, end; i < panel->view.columns.count; i = end) {
        end = i + 1;
        while (end < panel->view.columns.count && values[end] == values[i] && values[i] == 1)
            end++;
        if (!values[i])
            continue;
        const double x = panel->left + (double)i * panel->cell;
        output_format(panel->out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"/>\n",
                      x, y, (double)(end - i) * panel->cell, panel->cell);
        if (values[i] > 1 && panel->named)
            output_format(panel->out,
                          "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" fill=\"#fff\">%llu"
                          "</text>\n",
                          x + panel->cell / 2, y + 0.75 * panel->cell,
                          (unsigned long long)values[i]);
    }
}

static gordian_status draw_panel(struct panel *panel, gordian_error *error)
{
    const double width = (double)panel->view.columns.count * panel->cell;
    const double height = (double)panel->view.rows.count * panel->cell;
    gordian_status status = GORDIAN_OK;
    output_format(panel->out,
                  "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"none\" "
                  "stroke=\"#999\"/>\n",
                  panel->left, panel->top, width, height);
    if (panel->named)
        draw_names_of(panel);
    output_text(panel->out, "<g fill=\"#0072b2\">\n");
    for (size_t row = 0; row < panel->view.rows.count && status == GORDIAN_OK; row++) {
        status = matrices_read(panel->matrices, &panel->view, row, error);
        if (status == GORDIAN_OK)
            draw_row(panel, row);
    }
    output_text(panel->out, "</g>\n");
    return status;
}

/* Places the panel below `y` and returns the space it needs. */
static void place_panel(struct panel *panel, double y, double *width, double *height)
{
    const size_t rows = panel->view.rows.count, columns = panel->view.columns.count;
    const size_t longest = rows > columns ? rows : columns;
    panel->named = longest <= NAMED_MOST;
    panel->cell = panel->named ? CELL : SIDE / (double)longest;
    panel->left = MARGIN + names_width(panel, &panel->view.rows);
    panel->top = y + TITLE + names_width(panel, &panel->view.columns);
    *width = panel->left + (double)columns * panel->cell + MARGIN;
    *height = panel->top + (double)rows * panel->cell - y;
}

static struct panel panel_at(struct matrices *matrices, struct output *out,
                             const struct matrix_view *view)
{
    return (struct panel){.matrices = matrices, .view = *view, .out = out};
}

/* Computes the size of the whole picture. */
static void measure_picture(struct matrices *matrices, double *width, double *height)
{
    struct matrix_view view;
    *width = *height = 0;
    for (size_t i = 0; matrices_at(matrices, i, &view); i++) {
        struct panel panel = panel_at(matrices, NULL, &view);
        double across, down;
        place_panel(&panel, *height, &across, &down);
        *width = across > *width ? across : *width;
        *height += down;
    }
    *height += MARGIN;
}

gordian_status matrices_picture(struct matrices *matrices, struct output *out, gordian_error *error)
{
    gordian_status status = GORDIAN_OK;
    struct matrix_view view;
    double width, height, y = 0;
    measure_picture(matrices, &width, &height);
    output_format(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
                  "font-family=\"sans-serif\" font-size=\"11\">\n"
                  "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
                  width, height);
    for (size_t i = 0; status == GORDIAN_OK && matrices_at(matrices, i, &view); i++) {
        struct panel panel = panel_at(matrices, out, &view);
        double across, down;
        place_panel(&panel, y, &across, &down);
        output_format(out, "<text x=\"%.0f\" y=\"%.1f\" font-size=\"14\">%s</text>\n", MARGIN,
                      y + TITLE - 8, view.name);
        status = draw_panel(&panel, error);
        y += down;
    }
    output_text(out, "</svg>\n");
    return status;
}
