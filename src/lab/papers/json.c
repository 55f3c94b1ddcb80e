/* Items as JSON: one object per line. */
#include "foundation/base/error.h"
#include "foundation/base/json/json_write.h"
#include "lab/papers/print.h"

#include <math.h>
#include <string.h>

static void put_item_head(struct json *json, const struct papers_item *item)
{
    json_key_text(json, "item", item->key);
    json_key_text(json, "paper", item->paper->name);
    json_key_text(json, "is", item->figure ? "figure" : "table");
    json_key_text(json, "number", item->number);
    json_key_text(json, "title", item->title);
    json_key_text(json, "kind", papers_kind_names[item->kind]);
}

void papers_list_json(const struct papers *papers, struct output *out)
{
    for (size_t i = 0; i < papers->item_count; i++) {
        struct json json;
        json_begin(&json, out);
        put_item_head(&json, &papers->items[i]);
        json_end(&json);
    }
}

static void put_texts(struct json *json, const char *key, const struct papers_texts *texts)
{
    if (texts->count == 0)
        return;
    json_open(json, key, '[');
    for (size_t i = 0; i < texts->count; i++)
        json_text(json, texts->items[i]);
    json_shut(json);
}

static void put_slips(struct json *json, const struct papers_item *item)
{
    if (item->slip_count == 0)
        return;
    json_open(json, "slips", '[');
    for (size_t i = 0; i < item->slip_count; i++) {
        json_open(json, NULL, '{');
        if (item->slips[i].point) {
            json_key_text(json, "point", item->slips[i].point);
            json_key_text(json, "series", item->slips[i].series);
        }
        json_key_text(json, "text", item->slips[i].text);
        json_shut(json);
    }
    json_shut(json);
}

/* Writes a curve and its points. */
static void put_curve(struct json *json, const struct chart *chart, size_t index,
                      const struct results *results, const char *key, const char *why)
{
    const struct chart_curve *curve = &chart->curves[index];
    const bool printed = !curve->ours && chart->item->from.count == 0 && results;
    json_open(json, NULL, '{');
    json_key_text(json, "name", curve->name);
    if (curve->measure) {
        json_key_text(json, "measure", curve->measure->name);
        json_key_text(json, "side", papers_side_text(curve->measure->side));
    }
    if (why)
        json_key_text(json, "not_measured", why);
    json_open(json, "points", '[');
    for (size_t i = 0; i < chart->point_count; i++) {
        if (isnan(curve->y[i]))
            continue;
        json_open(json, NULL, '{');
        json_key_number(json, "x", chart->points[i].x);
        json_key_number(json, "y", chart->points[i].y);
        json_key_number(json, key, curve->y[i]);
        if (printed) {
            const struct papers_cell *cell = papers_cell_at(chart->item, i, index);
            json_key_text(json, "printed", cell->text);
            if (!isnan(cell->speedup))
                json_key_number(json, "printed_speedup", cell->speedup);
            const enum papers_agreement agreement = papers_agreement(chart->item, i, index);
            if (agreement != PAPERS_AGREEMENT_NONE)
                json_key_bool(json, "speedup_agrees", agreement == PAPERS_AGREEMENT_GOOD);
            const struct papers_slip *slip = papers_slip_at(chart->item, i, index);
            if (slip)
                json_key_text(json, "slip", slip->text);
        }
        if (curve->values[i]) {
            const struct results_run *run = &results->runs[curve->values[i]->run];
            if (curve->values[i]->p99 > 0)
                json_key_number(json, "p99", curve->values[i]->p99);
            json_key_u64(json, "samples", curve->values[i]->samples);
            if (papers_side_is_gpu(curve->measure->side))
                json_key_text(json, "device", run->device);
            json_key_text(json, "cpu", run->cpu);
            json_key_text(json, "date", run->date);
            json_key_text(json, "commit", run->commit);
        }
        json_shut(json);
    }
    json_shut(json);
    json_shut(json);
}

static gordian_status put_values(struct json *json, const struct papers *papers,
                                 const struct papers_item *item, const struct results *results,
                                 const struct papers_run *run, gordian_error *error)
{
    struct chart chart;
    TRY(chart_open_values(&chart, papers, item, results, error));
    const char *key = strcmp(item->unit, "cycles") == 0 ? "cycles" : "ns";
    json_open(json, "series", '[');
    for (size_t c = 0; c < chart.curve_count; c++) {
        const struct papers_measure *measure = chart.curves[c].measure;
        char lacks[1024];
        const bool missing =
            measure && run && papers_unmeasured(run, measure, item, lacks, sizeof lacks);
        put_curve(json, &chart, c, results, key, missing ? lacks : NULL);
    }
    json_shut(json);
    chart_close(&chart);
    return GORDIAN_OK;
}

static gordian_status put_speedups(struct json *json, const struct papers *papers,
                                   const struct papers_item *item, const struct results *results,
                                   gordian_error *error)
{
    struct chart chart;
    TRY(chart_open_speedups(&chart, papers, item, results, error));
    json_open(json, "speedups", '[');
    for (size_t c = 0; c < chart.curve_count; c++)
        if (chart_has(&chart, &chart.curves[c]))
            put_curve(json, &chart, c, NULL, "ratio", NULL);
    json_shut(json);
    chart_close(&chart);
    return GORDIAN_OK;
}

gordian_status papers_item_json(const struct papers *papers, const struct papers_item *item,
                                const struct results *results, const struct papers_run *run,
                                struct output *out, gordian_error *error)
{
    struct json json;
    gordian_status status = GORDIAN_OK;
    json_begin(&json, out);
    put_item_head(&json, item);
    if (item->unit[0])
        json_key_text(&json, "unit", item->unit);
    if (item->kind == PAPERS_KIND_WORDS) {
        json_key_text(&json, "head", item->head);
        put_texts(&json, "columns", &item->columns);
        /* The cells of a table without numbers. */
        json_open(&json, "rows", '[');
        for (size_t r = 0; r < item->row_count; r++) {
            json_open(&json, NULL, '[');
            json_text(&json, item->rows[r].label);
            for (size_t c = 0; c < item->rows[r].count; c++)
                json_text(&json, item->rows[r].cells[c].text);
            json_shut(&json);
        }
        json_shut(&json);
    } else if (item->kind != PAPERS_KIND_DRAWING) {
        if (item->kind != PAPERS_KIND_SPEEDUPS)
            status = put_values(&json, papers, item, results, run, error);
        THEN(status, put_speedups(&json, papers, item, results, error));
    }
    put_slips(&json, item);
    put_texts(&json, "differs", &item->differs);
    put_texts(&json, "notes", &item->notes);
    put_texts(&json, "shows", &item->shows);
    json_end(&json);
    return status;
}
