/* Draws items as pictures: the numbers, and the speed-ups in a panel below. */
#include "foundation/base/error.h"
#include "lab/bench/harness/plot.h"
#include "lab/papers/print.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define PICTURE_POINTS 1024

struct picture {
    struct plot_point *points;
    size_t count;
    char titles[2][160];
};

bool papers_can_draw(const struct papers_item *item)
{
    return item->measures.count > 0 || item->from.count > 0;
}

/* Times are drawn in milliseconds. */
static void add_curves(struct picture *picture, const struct chart *chart, const char *title,
                       double per_unit, bool linear)
{
    for (size_t c = 0; c < chart->curve_count; c++)
        for (size_t i = 0; i < chart->point_count; i++) {
            const struct chart_curve *curve = &chart->curves[c];
            if (curve->drawn && curve->y[i] > 0 && picture->count < PICTURE_POINTS)
                picture->points[picture->count++] = (struct plot_point){
                    title, curve->name, chart->points[i].x, curve->y[i] / per_unit, linear};
        }
}

static gordian_status draw_charts(struct picture *picture, const struct papers_item *item,
                                  struct chart *values, struct chart *speedups, const char *path,
                                  gordian_error *error)
{
    const bool cycles = strcmp(item->unit, "cycles") == 0;
    snprintf(picture->titles[0], sizeof picture->titles[0], "%s: %.100s (%s)", item->key,
             item->title, cycles ? "cycles" : "ms");
    snprintf(picture->titles[1], sizeof picture->titles[1], "%s: speed-up, old time / new time",
             item->key);
    if (item->kind != PAPERS_KIND_SPEEDUPS)
        add_curves(picture, values, picture->titles[0], cycles ? 1 : 1e6, cycles);
    add_curves(picture, speedups, picture->titles[1], 1, false);
    return plot_write(picture->points, picture->count, path, error);
}

gordian_status papers_draw(const struct papers *papers, const struct papers_item *item,
                           const struct results *results, const char *path, gordian_error *error)
{
    struct chart values = {0}, speedups = {0};
    struct picture picture = {0};
    gordian_allocator memory = memory_allocator(NULL);
    if (!papers_can_draw(item))
        return fail(error, GORDIAN_STATUS_INPUT, "%s has no numbers to draw", item->key);
    gordian_status status = chart_open_values(&values, papers, item, results, error);
    THEN(status, chart_open_speedups(&speedups, papers, item, results, error));
    if (status == GORDIAN_OK) {
        picture.points = memory_alloc(&memory, PICTURE_POINTS * sizeof *picture.points);
        status = picture.points ? draw_charts(&picture, item, &values, &speedups, path, error)
                                : fail_memory(error);
    }
    memory_free(&memory, picture.points);
    chart_close(&values);
    chart_close(&speedups);
    return status;
}

const char *papers_picture_name(char *text, size_t size, const struct papers_item *item)
{
    snprintf(text, size, "%s-%s.svg", item->paper->name, item->name);
    return text;
}

gordian_status papers_draw_all(const struct papers *papers, const struct results *results,
                               const char *folder, gordian_error *error)
{
    gordian_status status = GORDIAN_OK;
    if (mkdir(folder, 0777) < 0 && errno != EEXIST)
        return fail(error, GORDIAN_STATUS_IO, "cannot make '%s': %s", folder, strerror(errno));
    for (size_t i = 0; i < papers->item_count && status == GORDIAN_OK; i++) {
        char name[80], path[4096];
        const struct papers_item *item = &papers->items[i];
        papers_picture_name(name, sizeof name, item);
        if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
            return fail(error, GORDIAN_STATUS_IO, "the name of the folder is too long");
        if (papers_can_draw(item))
            status = papers_draw(papers, item, results, path, error);
    }
    return status;
}
