#include "lab/papers/chart.h"

#include "foundation/base/error.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void chart_close(struct chart *chart)
{
    memory_free_all(&chart->memory, chart->points, chart->curves);
    arena_free(&chart->arena);
    *chart = (struct chart){0};
}

bool chart_has(const struct chart *chart, const struct chart_curve *curve)
{
    for (size_t i = 0; i < chart->point_count; i++)
        if (!isnan(curve->y[i]))
            return true;
    return false;
}

static void begin_chart(struct chart *chart, const struct papers_item *item)
{
    *chart = (struct chart){.memory = memory_allocator(NULL), .item = item, .head = item->head};
    arena_init(&chart->arena, &chart->memory);
}

static gordian_status add_points(struct chart *chart, const struct papers_item *item,
                                 gordian_error *error)
{
    const size_t count = papers_point_count(item);
    chart->head = item->head;
    if (!memory_grow(&chart->memory, &chart->points, &chart->point_capacity,
                     chart->point_count + count, sizeof *chart->points))
        return fail_memory(error);
    for (size_t i = 0; i < count; i++)
        chart->points[chart->point_count++] = papers_point_at(item, i);
    return GORDIAN_OK;
}

/* Adds a curve without values. NULL: out of memory. */
static struct chart_curve *add_chart_curve(struct chart *chart, const char *name)
{
    if (!name || !memory_grow(&chart->memory, &chart->curves, &chart->curve_capacity,
                              chart->curve_count + 1, sizeof *chart->curves))
        return NULL;
    struct chart_curve *curve = &chart->curves[chart->curve_count];
    *curve = (struct chart_curve){.name = name, .drawn = true};
    curve->y = arena_alloc(&chart->arena, (chart->point_count + 1) * sizeof *curve->y);
    curve->values = arena_alloc(&chart->arena, (chart->point_count + 1) * sizeof *curve->values);
    if (!curve->y || !curve->values)
        return NULL;
    for (size_t i = 0; i < chart->point_count; i++)
        curve->y[i] = NAN;
    chart->curve_count++;
    return curve;
}

/* ------------------------------------------------------------------ values */

static struct chart_curve *curve_named(const struct chart *chart, const char *name, bool ours)
{
    for (size_t i = 0; i < chart->curve_count; i++)
        if ((chart->curves[i].ours || !ours) && strcmp(chart->curves[i].name, name) == 0)
            return &chart->curves[i];
    return NULL;
}

/* Adds the paper's series of one table; its points begin at `first`. */
static gordian_status add_item_series(struct chart *chart, const struct papers_item *item,
                                      size_t first, gordian_error *error)
{
    for (size_t s = 0; s < papers_series_count(item); s++) {
        const char *name = papers_series_at(item, s);
        struct chart_curve *curve = curve_named(chart, name, false);
        if (!curve)
            curve = add_chart_curve(chart, name);
        if (!curve)
            return fail_memory(error);
        curve->drawn = item->draw.count == 0 || papers_is_listed(&item->draw, name);
        for (size_t i = 0; i < papers_point_count(item); i++)
            curve->y[first + i] = papers_cell_at(item, i, s)->value * papers_unit_ns(item->unit);
    }
    return GORDIAN_OK;
}

static gordian_status add_measures(struct chart *chart, const struct papers_item *item,
                                   const struct results *results, gordian_error *error)
{
    for (size_t m = 0; m < item->measures.count; m++) {
        const struct papers_measure *measure = papers_measure_named(item->measures.items[m]);
        if (!measure)
            return fail(error, GORDIAN_STATUS_INPUT, "%s: unknown measure '%s'", item->key,
                        item->measures.items[m]);
        struct chart_curve *curve = add_chart_curve(chart, papers_label(measure));
        if (!curve)
            return fail_memory(error);
        curve->ours = true;
        curve->measure = measure;
        for (size_t i = 0; i < chart->point_count; i++) {
            const struct papers_point *point = &chart->points[i];
            curve->values[i] = results_find(results, measure->name, point->x, point->y);
            if (curve->values[i])
                curve->y[i] = curve->values[i]->value;
        }
    }
    return GORDIAN_OK;
}

/* Returns the tables of an item: the item itself, or the tables it is computed from. */
static const struct papers_item *curve_source(const struct papers *papers,
                                              const struct papers_item *item, size_t index)
{
    if (item->from.count == 0)
        return index == 0 ? item : NULL;
    return index < item->from.count ? papers_named(papers, item->paper, item->from.items[index])
                                    : NULL;
}

gordian_status chart_open_values(struct chart *chart, const struct papers *papers,
                                 const struct papers_item *item, const struct results *results,
                                 gordian_error *error)
{
    const struct papers_item *source;
    gordian_status status = GORDIAN_OK;
    begin_chart(chart, item);
    for (size_t i = 0; status == GORDIAN_OK && (source = curve_source(papers, item, i)); i++)
        status = add_points(chart, source, error);
    for (size_t i = 0, first = 0; status == GORDIAN_OK && (source = curve_source(papers, item, i));
         i++) {
        status = add_item_series(chart, source, first, error);
        first += papers_point_count(source);
    }
    source = curve_source(papers, item, 0);
    if (status == GORDIAN_OK && source)
        status = add_measures(chart, source, results, error);
    if (status != GORDIAN_OK)
        chart_close(chart);
    return status;
}

/* ------------------------------------------------------------------ speed-ups */

static const char *joined_text(struct chart *chart, const char *left, const char *between,
                               const char *right)
{
    const size_t size = strlen(left) + strlen(between) + strlen(right) + 1;
    char *text = arena_alloc(&chart->arena, size);
    if (text)
        snprintf(text, size, "%s%s%s", left, between, right);
    return text;
}

/* Does this pair of curves need a speed-up column? For the paper's curves, the item says so. Of
 * ours: the published method against ours, and its CPU version against its GPU version. */
static bool is_speedup(const struct papers_item *item, const struct chart_curve *old,
                       const struct chart_curve *new_one, size_t old_index, size_t new_index)
{
    if (!old->measure && !new_one->measure)
        return papers_is_pair(item, old_index, new_index);
    if (!old->measure || !new_one->measure || old->measure->side > PAPERS_SIDE_PUBLISHED_GPU)
        return false;
    if (new_one->measure->side == PAPERS_SIDE_PUBLISHED_GPU)
        return old->measure->side == PAPERS_SIDE_PUBLISHED_CPU;
    return new_one->measure->side > PAPERS_SIDE_PUBLISHED_GPU;
}

/* Times of two machines do not compare methods. The paper's curves have no values here. */
static bool is_one_machine(const struct results *results, const struct results_value *old,
                           const struct results_value *new_one)
{
    if (!old || !new_one)
        return true;
    const struct results_run *here = &results->runs[old->run],
                             *there = &results->runs[new_one->run];
    return strcmp(here->cpu, there->cpu) == 0 && strcmp(here->system, there->system) == 0 &&
           here->cores == there->cores;
}

static gordian_status add_speedup(struct chart *chart, const struct papers_item *source,
                                  const struct results *results, const struct chart_curve *old,
                                  const struct chart_curve *new_one, gordian_error *error)
{
    const char *name = joined_text(chart, old->name, " / ", new_one->name);
    /* If there are several tables, the paper's curves carry the name of their table. */
    if (name && !old->ours && chart->item->from.count > 1)
        name = joined_text(chart, name, ", ", source->number);
    /* A curve of ours that another table added already has the same measures. */
    if (name && curve_named(chart, name, true))
        return GORDIAN_OK;
    struct chart_curve *curve = add_chart_curve(chart, name);
    if (!curve)
        return fail_memory(error);
    curve->ours = old->ours;
    for (size_t i = 0; i < chart->point_count; i++)
        if (is_one_machine(results, old->values[i], new_one->values[i]))
            curve->y[i] = old->y[i] / new_one->y[i];
    return GORDIAN_OK;
}

/* Adds the speed-ups of one table, whose points are the chart's. */
static gordian_status add_speedups(struct chart *chart, const struct papers *papers,
                                   const struct papers_item *source, const struct results *results,
                                   gordian_error *error)
{
    struct chart values;
    gordian_status status = chart_open_values(&values, papers, source, results, error);
    TRY(status);
    for (size_t o = 0; o < values.curve_count; o++)
        for (size_t n = 0; n < values.curve_count && status == GORDIAN_OK; n++)
            if (o != n && is_speedup(source, &values.curves[o], &values.curves[n], o, n))
                status = add_speedup(chart, source, results, &values.curves[o], &values.curves[n],
                                     error);
    chart_close(&values);
    return status;
}

gordian_status chart_open_speedups(struct chart *chart, const struct papers *papers,
                                   const struct papers_item *item, const struct results *results,
                                   gordian_error *error)
{
    const struct papers_item *source = curve_source(papers, item, 0);
    gordian_status status = GORDIAN_OK;
    begin_chart(chart, item);
    if (source && item->kind != PAPERS_KIND_JOINED)
        status = add_points(chart, source, error);
    for (size_t i = 0; status == GORDIAN_OK && (source = curve_source(papers, item, i)); i++)
        if (source->kind != PAPERS_KIND_FOUND && item->kind != PAPERS_KIND_JOINED)
            status = add_speedups(chart, papers, source, results, error);
    if (status != GORDIAN_OK)
        chart_close(chart);
    return status;
}
