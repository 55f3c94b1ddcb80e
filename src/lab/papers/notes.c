/* Prints notes on an item, apart from its numbers. */
#include "lab/papers/print.h"

#include "foundation/base/error.h"

#include <stdio.h>
#include <string.h>

const char *papers_item_title(char *text, size_t size, const struct papers_item *item)
{
    const char *kind = item->figure ? "figure" : "table";
    if (item->number[0])
        snprintf(text, size, "%s %s", kind, item->number);
    else
        snprintf(text, size, "%s without a number", kind);
    return text;
}

const char *papers_unit_name(const struct papers_item *item)
{
    static const char *const names[][2] = {
        {"s", "seconds"}, {"ms", "milliseconds"}, {"us", "microseconds"}, {"cycles", "cycles"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i][0], item->unit) == 0)
            return names[i][1];
    return "";
}

/* Prints the runs of a curve's values; most values come from one run. */
static void print_curve_sources(const struct chart *chart, const struct chart_curve *curve,
                                const struct results *results, struct output *out,
                                papers_line *line)
{
    size_t printed[8], printed_count = 0;
    char text[1024];
    for (size_t i = 0; i < chart->point_count; i++) {
        if (!curve->values[i])
            continue;
        const size_t number = curve->values[i]->run;
        bool again = false;
        for (size_t k = 0; k < printed_count; k++)
            again = again || printed[k] == number;
        if (again || printed_count == 8)
            continue;
        printed[printed_count++] = number;
        const struct results_run *run = &results->runs[number];
        const bool gpu = papers_side_is_gpu(curve->measure->side);
        snprintf(text, sizeof text, "%s: %s; %s%s%s (%s, %u cores), %s, commit %s", curve->name,
                 curve->measure->what, gpu ? run->device : "", gpu ? ", " : "", run->cpu,
                 run->system, run->cores, run->date, run->commit);
        line(out, text);
    }
}

/* Prints why a value is missing: the reason in this run, or that it is not recorded. */
static void print_missing(const struct chart_curve *curve, const struct papers_run *run,
                          struct output *out, papers_line *line)
{
    char text[512];
    const char *why = run ? papers_why_not(run, curve->measure) : NULL;
    snprintf(text, sizeof text, "%s: %s; %s%s", curve->name, curve->measure->what,
             why ? "not measured: " : "not measured yet", why ? why : "");
    line(out, text);
}

/* Prints the notes of one table; `seen`: what was printed before. */
static gordian_status print_table_notes(const struct papers *papers, const struct papers_item *item,
                                        const struct results *results, const struct papers_run *run,
                                        struct output *out, papers_line *line, gordian_error *error)
{
    struct chart chart;
    TRY(chart_open_values(&chart, papers, item, results, error));
    for (size_t c = 0; c < chart.curve_count; c++) {
        const struct chart_curve *curve = &chart.curves[c];
        if (!curve->measure)
            continue;
        bool measured = false;
        for (size_t i = 0; i < chart.point_count; i++)
            measured |= curve->values[i] != NULL;
        if (measured)
            print_curve_sources(&chart, curve, results, out, line);
        else
            print_missing(curve, run, out, line);
    }
    for (size_t i = 0; i + 1 < item->without.count; i += 2) {
        char text[256];
        snprintf(text, sizeof text, "%s: none; %s", item->without.items[i],
                 item->without.items[i + 1]);
        line(out, text);
    }
    chart_close(&chart);
    return GORDIAN_OK;
}

gordian_status papers_print_sources(const struct papers *papers, const struct papers_item *item,
                                    const struct results *results, const struct papers_run *run,
                                    struct output *out, papers_line *line, gordian_error *error)
{
    if (item->kind != PAPERS_KIND_SPEEDUPS)
        return print_table_notes(papers, item, results, run, out, line, error);
    char text[256] = "Ours: see ";
    for (size_t i = 0; i < item->from.count; i++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%stable %s", i ? ", " : "", item->from.items[i]);
    }
    line(out, text);
    return GORDIAN_OK;
}

/* `heading` is printed once: before the first line of an item. */
static void print_unmeasured(const struct papers_item *item, const struct papers_run *run,
                             const char **heading, struct output *out, papers_line *line)
{
    char which[1024], text[1280];
    for (size_t i = 0; i < item->measures.count; i++) {
        const struct papers_measure *measure = papers_measure_named(item->measures.items[i]);
        if (!measure || !papers_unmeasured(run, measure, item, which, sizeof which))
            continue;
        output_text(out, *heading);
        *heading = "";
        snprintf(text, sizeof text, "%s, %s", papers_label(measure), which);
        line(out, text);
    }
}

void papers_print_unmeasured(const struct papers *papers, const struct papers_item *item,
                             const struct papers_run *run, const char *heading, struct output *out,
                             papers_line *line)
{
    print_unmeasured(item, run, &heading, out, line);
    for (size_t i = 0; i < item->from.count; i++) {
        const struct papers_item *table = papers_named(papers, item->paper, item->from.items[i]);
        if (table)
            print_unmeasured(table, run, &heading, out, line);
    }
}

gordian_status papers_print_grids(const struct papers *papers, const struct papers_item *item,
                                  const struct results *results, bool markdown, struct output *out,
                                  gordian_error *error)
{
    for (int speedups = 0; speedups < 2; speedups++) {
        struct grid grid;
        gordian_status status = speedups ? grid_of_speedups(&grid, papers, item, results, error)
                                         : grid_of_values(&grid, papers, item, results, error);
        if (status == GORDIAN_OK && grid.rows && markdown) {
            output_text(out, speedups ? "Speed-ups, old time / new time:\n\n" : "");
            grid_print_markdown(&grid, out);
            output_char(out, '\n');
        } else if (status == GORDIAN_OK && grid.rows) {
            output_text(out, speedups ? "\nspeed-ups: old time / new time\n" : "\n");
            grid_print_text(&grid, out);
        }
        grid_free(&grid);
        TRY(status);
    }
    return GORDIAN_OK;
}
