/* An item's numbers by point and series, in either orientation. Checks that printed speed-ups
 * follow from printed times. */
#include "lab/papers/papers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const papers_kind_names[] = {
    [PAPERS_KIND_TIMES] = "times",     [PAPERS_KIND_WORDS] = "words",
    [PAPERS_KIND_DRAWING] = "drawing", [PAPERS_KIND_PLOT] = "plot",
    [PAPERS_KIND_FOUND] = "found",     [PAPERS_KIND_SPEEDUPS] = "speed-ups",
    [PAPERS_KIND_JOINED] = "joined",   NULL,
};

size_t papers_point_count(const struct papers_item *item)
{
    return item->across ? item->columns.count : item->row_count;
}

size_t papers_series_count(const struct papers_item *item)
{
    return item->across ? item->row_count : item->columns.count;
}

struct papers_point papers_point_at(const struct papers_item *item, size_t point)
{
    const char *text = item->across ? item->columns.items[point] : item->rows[point].label;
    struct papers_point found = {.text = text};
    char *end;
    found.x = strtod(text, &end);
    found.y = *end == 'x' ? strtod(end + 1, NULL) : found.x;
    return found;
}

const char *papers_series_at(const struct papers_item *item, size_t series)
{
    return item->across ? item->rows[series].label : item->columns.items[series];
}

const struct papers_cell *papers_cell_at(const struct papers_item *item, size_t point,
                                         size_t series)
{
    return item->across ? &item->rows[series].cells[point] : &item->rows[point].cells[series];
}

size_t papers_series_named(const struct papers_item *item, const char *name)
{
    size_t series = 0, count = papers_series_count(item);
    while (series < count && strcmp(papers_series_at(item, series), name) != 0)
        series++;
    return series;
}

double papers_unit_ns(const char *unit)
{
    static const struct {
        const char *unit;
        double ns;
    } units[] = {{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(units[i].unit, unit) == 0)
            return units[i].ns;
    return 1;
}

bool papers_is_listed(const struct papers_texts *texts, const char *text)
{
    for (size_t i = 0; i < texts->count; i++)
        if (strcmp(texts->items[i], text) == 0)
            return true;
    return false;
}

bool papers_is_pair(const struct papers_item *item, size_t over, size_t to)
{
    const char *new_one = papers_series_at(item, to);
    if (!papers_is_listed(&item->over, papers_series_at(item, over)))
        return false;
    return item->to.count ? papers_is_listed(&item->to, new_one)
                          : !papers_is_listed(&item->over, new_one);
}

/* ------------------------------------------------------------------ printed speed-ups */

struct range {
    double low, high;
};

/* Returns the range of values that round to the number at the start of a text. */
static struct range rounded_from(const struct papers_item *item, const char *text, double value)
{
    const char *point = strchr(text, item->decimal);
    size_t digits = point ? strspn(point + 1, "0123456789") : 0;
    double half = 0.5 * pow(10, -(double)digits);
    return (struct range){value - half, value + half};
}

enum papers_agreement papers_agreement(const struct papers_item *item, size_t point, size_t series)
{
    const struct papers_cell *cell = papers_cell_at(item, point, series);
    if (item->printed == PAPERS_PRINTED_NONE || isnan(cell->speedup) || item->over.count != 1)
        return PAPERS_AGREEMENT_NONE;
    const size_t base = papers_series_named(item, item->over.items[0]);
    const struct papers_cell *old = papers_cell_at(item, point, base);
    const double less = item->printed == PAPERS_PRINTED_RATIO_LESS_ONE ? 1 : 0;
    const char *slash = strchr(cell->text, '/'); /* the speed-up follows it */
    struct range printed = rounded_from(item, slash ? slash + 1 : cell->text, cell->speedup);
    if (base == series) /* the baseline of the others: 1, even if something else is printed */
        return cell->speedup == 1 ? PAPERS_AGREEMENT_GOOD : PAPERS_AGREEMENT_SLIPPED;
    struct range from = rounded_from(item, old->text, old->value);
    struct range by = rounded_from(item, cell->text, cell->value);
    double low = from.low / by.high - less,
           high = by.low > 0 ? from.high / by.low - less : INFINITY;
    return printed.low <= high && low <= printed.high ? PAPERS_AGREEMENT_GOOD
                                                      : PAPERS_AGREEMENT_SLIPPED;
}

static bool is_meant(const char *mark, const char *name)
{
    return strcmp(mark, "*") == 0 || strcmp(mark, name) == 0;
}

bool papers_slip_is_own(const struct papers_slip *slip)
{
    return strcmp(slip->point, "*") != 0 && strcmp(slip->series, "*") != 0;
}

const struct papers_slip *papers_slip_at(const struct papers_item *item, size_t point,
                                         size_t series)
{
    const struct papers_slip *found = NULL;
    for (size_t i = 0; i < item->slip_count; i++) {
        const struct papers_slip *slip = &item->slips[i];
        if (slip->point && is_meant(slip->point, papers_point_at(item, point).text) &&
            is_meant(slip->series, papers_series_at(item, series)) &&
            (!found || papers_slip_is_own(slip)))
            found = slip;
    }
    return found;
}
