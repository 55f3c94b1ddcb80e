#include "lab/papers/grid.h"

#include "foundation/base/error.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------ numbers */

/* Prints three significant digits, never an exponent. */
static void grid_number(char *text, size_t size, double value)
{
    int digits = value >= 99.95 ? 0 : value >= 9.995 ? 1 : value >= 0.9995 ? 2 : 3;
    if (value > 0 && value < 0.0995)
        digits = 2 - (int)floor(log10(value));
    if (value >= 999.5) { /* 12345 is 12300 */
        double step = pow(10, floor(log10(value)) - 2);
        value = round(value / step) * step;
    }
    snprintf(text, size, "%.*f", digits, value);
}

/* "61.2 ms", or "160" for cycles. */
static const char *grid_value_text(char *text, size_t size, double value, const char *unit)
{
    static const struct {
        const char *unit;
        double ns;
    } units[] = {{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 0}};
    if (strcmp(unit, "cycles") == 0) {
        snprintf(text, size, "%.0f", value);
        return text;
    }
    size_t i = 0;
    while (value < units[i].ns * 0.9995)
        i++;
    char number[32];
    grid_number(number, sizeof number, units[i].ns > 0 ? value / units[i].ns : value);
    snprintf(text, size, "%s %s", number, units[i].unit);
    return text;
}

/* ------------------------------------------------------------------ making */

void grid_free(struct grid *grid)
{
    memory_free(&grid->memory, grid->cells);
    arena_free(&grid->arena);
    *grid = (struct grid){0};
}

static gordian_status open_grid(struct grid *grid, size_t rows, size_t columns,
                                gordian_error *error)
{
    *grid = (struct grid){.memory = memory_allocator(NULL), .rows = rows, .columns = columns};
    arena_init(&grid->arena, &grid->memory);
    grid->cells = memory_zeroed(&grid->memory, rows * columns * sizeof *grid->cells + 1);
    return grid->cells ? GORDIAN_OK : fail_memory(error);
}

static void set_cell(struct grid *grid, size_t row, size_t column, const char *text)
{
    grid->cells[row * grid->columns + column] = arena_text(&grid->arena, text, strlen(text));
}

/* Sets a cell of a chart: points are rows and curves are columns, or the reverse. */
static void set_chart_cell(struct grid *grid, bool across, size_t point, size_t curve,
                           const char *text)
{
    set_cell(grid, across ? curve : point, across ? point : curve, text);
}

/* Fills in the curves that have values, as columns or rows. Speed-ups have long names, so they are
 * rows. */
static gordian_status fill_number_cells(struct grid *grid, const struct chart *chart, bool ratios,
                                        gordian_error *error)
{
    const struct papers_item *item = chart->item;
    const bool printed = !ratios && item->from.count == 0, across = item->across || ratios;
    size_t curves = 0;
    for (size_t c = 0; c < chart->curve_count; c++)
        curves += printed ? !chart->curves[c].ours || chart_has(chart, &chart->curves[c])
                          : chart_has(chart, &chart->curves[c]);
    const size_t points = curves ? chart->point_count + 1 : 0, rows = across ? curves + 1 : points;
    gordian_status status = open_grid(grid, curves ? rows : 0, across ? points : curves + 1, error);
    if (status != GORDIAN_OK || !curves)
        return status;
    set_cell(grid, 0, 0, chart->head);
    for (size_t i = 0; i < chart->point_count; i++)
        set_chart_cell(grid, across, i + 1, 0, chart->points[i].text);
    for (size_t c = 0, at = 0; c < chart->curve_count; c++) {
        const struct chart_curve *curve = &chart->curves[c];
        if (!chart_has(chart, curve) && (!printed || curve->ours))
            continue;
        set_chart_cell(grid, across, 0, ++at, curve->name);
        for (size_t i = 0; i < chart->point_count; i++) {
            char text[80] = "-";
            if (printed && !curve->ours) {
                /* As printed, marked if this cell has a slip of its own. */
                const struct papers_slip *slip = papers_slip_at(item, i, c);
                const bool own = slip && papers_slip_is_own(slip);
                snprintf(text, sizeof text, "%s%s", papers_cell_at(item, i, c)->text,
                         own ? " *" : "");
            } else if (!isnan(curve->y[i]) && ratios) {
                grid_number(text, sizeof text - 1, curve->y[i]);
                strcat(text, "x");
            } else if (!isnan(curve->y[i]))
                grid_value_text(text, sizeof text, curve->y[i], item->unit);
            set_chart_cell(grid, across, i + 1, at, text);
        }
    }
    return GORDIAN_OK;
}

/* Fills in a table without numbers. */
static gordian_status fill_word_cells(struct grid *grid, const struct papers_item *item,
                                      gordian_error *error)
{
    gordian_status status =
        open_grid(grid, item->row_count ? item->row_count + 1 : 0, item->columns.count + 1, error);
    if (status != GORDIAN_OK || !item->row_count)
        return status;
    set_cell(grid, 0, 0, item->head);
    for (size_t c = 0; c < item->columns.count; c++)
        set_cell(grid, 0, c + 1, item->columns.items[c]);
    for (size_t r = 0; r < item->row_count; r++) {
        set_cell(grid, r + 1, 0, item->rows[r].label);
        for (size_t c = 0; c < item->rows[r].count; c++)
            set_cell(grid, r + 1, c + 1, item->rows[r].cells[c].text);
    }
    return GORDIAN_OK;
}

gordian_status grid_of_values(struct grid *grid, const struct papers *papers,
                              const struct papers_item *item, const struct results *results,
                              gordian_error *error)
{
    *grid = (struct grid){0};
    if (item->kind == PAPERS_KIND_WORDS)
        return fill_word_cells(grid, item, error);
    if (item->kind == PAPERS_KIND_SPEEDUPS)
        return GORDIAN_OK;
    struct chart chart;
    TRY(chart_open_values(&chart, papers, item, results, error));
    gordian_status status = fill_number_cells(grid, &chart, false, error);
    chart_close(&chart);
    return status;
}

gordian_status grid_of_speedups(struct grid *grid, const struct papers *papers,
                                const struct papers_item *item, const struct results *results,
                                gordian_error *error)
{
    struct chart chart;
    *grid = (struct grid){0};
    TRY(chart_open_speedups(&chart, papers, item, results, error));
    gordian_status status = fill_number_cells(grid, &chart, true, error);
    chart_close(&chart);
    return status;
}

/* ------------------------------------------------------------------ printing */

static const char *cell_text(const struct grid *grid, size_t row, size_t column)
{
    const char *text = grid->cells[row * grid->columns + column];
    return text ? text : "";
}

static size_t grid_column_width(const struct grid *grid, size_t column)
{
    size_t width = 0;
    for (size_t r = 0; r < grid->rows; r++) {
        size_t length = strlen(cell_text(grid, r, column));
        width = length > width ? length : width;
    }
    return width;
}

void grid_print_text(const struct grid *grid, struct output *out)
{
    for (size_t r = 0; r < grid->rows; r++) {
        size_t owed = 0; /* blanks to print before the next text */
        for (size_t c = 0; c < grid->columns; c++) {
            const char *text = cell_text(grid, r, c);
            const size_t width = grid_column_width(grid, c), length = strlen(text);
            output_format(out, "%*s%s", length ? (int)owed : 0, "", text);
            owed = (length ? 0 : owed) + width - length + 2;
        }
        output_char(out, '\n');
    }
}

void grid_print_markdown(const struct grid *grid, struct output *out)
{
    for (size_t r = 0; r < grid->rows; r++) {
        for (size_t c = 0; c < grid->columns; c++) {
            output_text(out, c ? " | " : "| ");
            /* A bar would end the cell: escape it. */
            const char *text = cell_text(grid, r, c);
            for (; *text; text++) {
                if (strchr("|*<", *text))
                    output_char(out, '\\');
                output_char(out, *text);
            }
        }
        output_text(out, " |\n");
        for (size_t c = 0; c < grid->columns && r == 0; c++)
            output_text(out, c ? "---|" : "|---|");
        if (r == 0)
            output_char(out, '\n');
    }
}
