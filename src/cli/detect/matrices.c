/* Reads the matrices of a system and writes them as text and JSON. */
#include "cli/detect/matrices.h"

#include "foundation/base/bits.h"
#include "foundation/base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* larger matrices are not printed */
#define PRINTED_MOST 32

/* ------------------------------------------------------------------ reading */

typedef const char *get_name(const gordian_system *system, uint32_t id);

/* Lists the ids in use below the limit. NULL: out of memory. */
static uint32_t *list_ids(const gordian_system *system, uint32_t limit, get_name *name,
                          size_t *count)
{
    uint32_t *ids = malloc(((size_t)limit + 1) * sizeof *ids);
    *count = 0;
    for (uint32_t id = 0; ids && id < limit; id++)
        if (name(system, id))
            ids[(*count)++] = id;
    return ids;
}

gordian_status matrices_open(struct matrices *m, const gordian_system *system,
                             const struct labels *labels, gordian_error *error)
{
    *m = (struct matrices){.system = system, .labels = labels};
    m->processes =
        list_ids(system, gordian_process_limit(system), gordian_process_name, &m->process_count);
    m->resources =
        list_ids(system, gordian_resource_limit(system), gordian_resource_name, &m->resource_count);
    m->values = malloc((m->process_count + m->resource_count + 1) * sizeof *m->values);
    if (m->processes && m->resources && m->values)
        return GORDIAN_OK;
    matrices_close(m);
    return fail_memory(error);
}

void matrices_close(struct matrices *m)
{
    free(m->processes);
    free(m->resources);
    free(m->values);
    *m = (struct matrices){0};
}

bool matrices_at(const struct matrices *m, size_t index, struct matrix_view *view)
{
    const struct matrix_side processes = {m->processes, m->process_count, SIDE_PROCESSES};
    const struct matrix_side resources = {m->resources, m->resource_count, SIDE_RESOURCES};
    const struct matrix_side all = {NULL, 1, SIDE_ALL};
    const struct matrix_view single[] = {
        {"AG", resources, processes, GORDIAN_MATRIX_AG},
        {"AR", processes, resources, GORDIAN_MATRIX_AR},
        {"Sink", resources, processes, GORDIAN_MATRIX_SINK},
        {"RR", resources, resources, GORDIAN_MATRIX_RR},
        {"RP", resources, processes, GORDIAN_MATRIX_RP},
    };
    const struct matrix_view multi[] = {
        single[0],
        single[1],
        single[4],
        {"SP", all, processes, MATRIX_SP},
    };
    const bool of_single = gordian_system_model(m->system) == GORDIAN_MODEL_SINGLE_UNIT;
    const size_t count = of_single ? sizeof single / sizeof *single : sizeof multi / sizeof *multi;
    if (index >= count)
        return false;
    *view = of_single ? single[index] : multi[index];
    return true;
}

gordian_status matrices_read(struct matrices *m, const struct matrix_view *view, size_t row,
                             gordian_error *error)
{
    const uint64_t *words;
    size_t count;
    if (view->columns.count == 0)
        return GORDIAN_OK;
    if (view->which == MATRIX_SP) {
        for (size_t i = 0; i < view->columns.count; i++)
            m->values[i] = !gordian_is_waiting(m->system, view->columns.ids[i]);
        return GORDIAN_OK;
    }
    if (view->which == GORDIAN_MATRIX_AG &&
        gordian_system_model(m->system) != GORDIAN_MODEL_SINGLE_UNIT) {
        for (size_t i = 0; i < view->columns.count; i++)
            TRY(gordian_matrix_get(m->system, GORDIAN_MATRIX_AG, view->rows.ids[row],
                                   view->columns.ids[i], &m->values[i], error));
        return GORDIAN_OK;
    }
    TRY(gordian_matrix_row(m->system, (gordian_matrix)view->which, view->rows.ids[row], &words,
                           &count, error));
    for (size_t i = 0; i < view->columns.count; i++)
        m->values[i] = bits_test(words, view->columns.ids[i]);
    return GORDIAN_OK;
}

const char *matrix_label(const struct matrices *m, const struct matrix_side *side, size_t index)
{
    if (side->kind == SIDE_ALL)
        return "";
    return side->kind == SIDE_PROCESSES ? process_label(m->labels, side->ids[index])
                                        : resource_label(m->labels, side->ids[index]);
}

/* ------------------------------------------------------------------ text */

static enum color color_of(const struct matrix_side *side)
{
    return side->kind == SIDE_PROCESSES ? COLOR_PROCESS : COLOR_RESOURCE;
}

/* Prints blanks so that the text ends at the right edge of the column. */
static void pad_to(const struct drawing *drawing, size_t width, size_t taken)
{
    output_format(drawing->out, "%*s", (int)(width > taken ? width - taken : 0), "");
}

static size_t label_width(const struct matrices *m, const struct drawing *drawing,
                          const struct matrix_side *side, size_t index)
{
    return style_width(&drawing->style, matrix_label(m, side, index));
}

static void draw_heads(const struct matrices *m, const struct drawing *drawing,
                       const struct matrix_view *view, size_t left)
{
    style_text(&drawing->style, drawing->out, COLOR_STRONG, view->name);
    pad_to(drawing, left, strlen(view->name));
    for (size_t i = 0; i < view->columns.count; i++) {
        output_text(drawing->out, "  ");
        style_name(&drawing->style, drawing->out, color_of(&view->columns),
                   matrix_label(m, &view->columns, i));
    }
    output_char(drawing->out, '\n');
}

static void draw_values(const struct matrices *m, const struct drawing *drawing,
                        const struct matrix_view *view)
{
    char text[24];
    for (size_t i = 0; i < view->columns.count; i++) {
        snprintf(text, sizeof text, "%llu", (unsigned long long)m->values[i]);
        pad_to(drawing, 2 + label_width(m, drawing, &view->columns, i), strlen(text));
        style_text(&drawing->style, drawing->out, m->values[i] ? COLOR_PLAIN : COLOR_FAINT, text);
    }
    output_char(drawing->out, '\n');
}

static gordian_status draw_table(struct matrices *m, const struct drawing *drawing,
                                 const struct matrix_view *view, gordian_error *error)
{
    size_t left = strlen(view->name);
    for (size_t i = 0; i < view->rows.count; i++) {
        const size_t width = label_width(m, drawing, &view->rows, i);
        left = width > left ? width : left;
    }
    draw_heads(m, drawing, view, left);
    for (size_t i = 0; i < view->rows.count; i++) {
        TRY(matrices_read(m, view, i, error));
        style_name(&drawing->style, drawing->out, color_of(&view->rows),
                   matrix_label(m, &view->rows, i));
        pad_to(drawing, left, label_width(m, drawing, &view->rows, i));
        draw_values(m, drawing, view);
    }
    return GORDIAN_OK;
}

gordian_status matrices_draw(struct matrices *m, const struct drawing *drawing,
                             gordian_error *error)
{
    struct matrix_view view;
    if (!drawing->whole && (m->process_count > PRINTED_MOST || m->resource_count > PRINTED_MOST)) {
        output_format(drawing->out,
                      "matrices of %zu processes and %zu resources: --svg FILE draws them, "
                      "--verbose prints them\n",
                      m->process_count, m->resource_count);
        return GORDIAN_OK;
    }
    for (size_t i = 0; matrices_at(m, i, &view); i++) {
        output_text(drawing->out, i ? "\n" : "");
        TRY(draw_table(m, drawing, &view, error));
    }
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ JSON */

static void write_labels(const struct matrices *m, struct json *json, const char *key,
                         const struct matrix_side *side)
{
    json_open(json, key, '[');
    for (size_t i = 0; i < side->count; i++)
        json_text(json, matrix_label(m, side, i));
    json_shut(json);
}

static gordian_status write_rows(struct matrices *m, struct json *json,
                                 const struct matrix_view *view, gordian_error *error)
{
    const bool vector = view->rows.kind == SIDE_ALL;
    gordian_status status = GORDIAN_OK;
    json_open(json, view->name, '[');
    for (size_t r = 0; r < view->rows.count && status == GORDIAN_OK; r++) {
        status = matrices_read(m, view, r, error);
        if (!vector)
            json_open(json, NULL, '[');
        for (size_t i = 0; i < view->columns.count && status == GORDIAN_OK; i++)
            json_u64(json, m->values[i]);
        if (!vector)
            json_shut(json);
    }
    json_shut(json);
    return status;
}

gordian_status matrices_json(struct matrices *m, struct json *json, gordian_error *error)
{
    const struct matrix_side processes = {m->processes, m->process_count, SIDE_PROCESSES};
    const struct matrix_side resources = {m->resources, m->resource_count, SIDE_RESOURCES};
    struct matrix_view view;
    gordian_status status = GORDIAN_OK;
    json_open(json, "matrices", '{');
    write_labels(m, json, "processes", &processes);
    write_labels(m, json, "resources", &resources);
    for (size_t i = 0; status == GORDIAN_OK && matrices_at(m, i, &view); i++)
        status = write_rows(m, json, &view, error);
    json_shut(json);
    return status;
}
