#include "lab/bench/harness/harness.h"

#include "foundation/base/error.h"
#include "foundation/base/json/json_write.h"
#include "foundation/base/random.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void bench_options_init(struct bench_options *options)
{
    *options = (struct bench_options){.seed = 1};
}

bool bench_wants(const struct bench *bench, const char *engine)
{
    const char *only = bench->options->engine;
    return !only || strcmp(only, "auto") == 0 || strcmp(only, engine) == 0;
}

void bench_progress(const struct bench *bench, const char *format, ...)
{
    if (!bench->options->progress)
        return;
    char text[200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    bench->options->progress(bench->options->progress_context, text);
}

gordian_status bench_open_gpu(struct bench *bench, struct gpu **gpu, struct gpu_info *info)
{
    TRY(gpu_open_default(gpu, &bench->memory, bench->error));
    gpu_get_info(*gpu, info);
    snprintf(bench->device, sizeof bench->device, "%.90s%s", info->name,
             info->emulated ? " (its times are meaningless)" : "");
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ measuring */

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

static double at_fraction(double *samples, size_t count, double fraction)
{
    qsort(samples, count, sizeof *samples, by_value);
    size_t rank = (size_t)ceil(fraction * (double)count);
    return samples[rank ? rank - 1 : 0];
}

double bench_median(double *samples, size_t count)
{
    return at_fraction(samples, count, 0.5);
}

double bench_p99(double *samples, size_t count)
{
    return at_fraction(samples, count, 0.99);
}

/* Takes a sample of each side, in a new random order: in a fixed order, a side would always run
 * with the caches, the clock rate and the core as the same other side leaves them. */
static gordian_status measure_round(struct bench_side *sides, size_t count, double *samples,
                                    size_t stride, struct random *random, gordian_error *error)
{
    size_t order[BENCH_SIDES_MOST];
    for (size_t i = 0; i < count; i++) {
        size_t j = random_below(random, i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    for (size_t i = 0; i < count; i++)
        TRY(sides[order[i]].run(sides[order[i]].context, &samples[order[i] * stride], error));
    return GORDIAN_OK;
}

gordian_status bench_measure(struct bench *bench, struct bench_side *sides, size_t count,
                             struct bench_effort effort)
{
    double *samples = memory_alloc(&bench->memory, count * effort.most * sizeof *samples);
    if (!samples)
        return fail_memory(bench->error);
    gordian_status status = GORDIAN_OK;
    struct random random;
    random_seed(&random, count);
    double ns;
    for (unsigned i = 0; i < effort.warmups && status == GORDIAN_OK; i++)
        for (size_t s = 0; s < count && status == GORDIAN_OK; s++)
            status = sides[s].run(sides[s].context, &ns, bench->error);
    uint64_t start = clock_ns();
    unsigned taken = 0;
    while (status == GORDIAN_OK && taken < effort.most) {
        if (taken >= effort.least && (double)(clock_ns() - start) > effort.seconds * 1e9)
            break;
        status = measure_round(sides, count, &samples[taken], effort.most, &random, bench->error);
        taken++;
    }
    for (size_t s = 0; s < count && status == GORDIAN_OK; s++) {
        sides[s].median = bench_median(&samples[s * effort.most], taken);
        sides[s].p99 = bench_p99(&samples[s * effort.most], taken);
        sides[s].samples = taken;
    }
    memory_free(&bench->memory, samples);
    return status;
}

/* ------------------------------------------------------------------ rows */

/* Nanoseconds per unit; 1 for a unit that is not a time. */
static double unit_ns(const char *unit)
{
    return strcmp(unit, "s") == 0    ? 1e9
           : strcmp(unit, "ms") == 0 ? 1e6
           : strcmp(unit, "us") == 0 ? 1e3
                                     : 1;
}

struct bench_row bench_row(const char *unit, const char *id, ...)
{
    struct bench_row row = {.unit = unit, .per_unit = unit_ns(unit)};
    va_list arguments;
    va_start(arguments, id);
    vsnprintf(row.id, sizeof row.id, id, arguments);
    va_end(arguments);
    return row;
}

struct bench_row bench_measured(const struct bench_side *side, const char *unit, const char *id,
                                ...)
{
    struct bench_row row = {.unit = unit};
    va_list arguments;
    va_start(arguments, id);
    vsnprintf(row.id, sizeof row.id, id, arguments);
    va_end(arguments);
    bench_fill(&row, side, unit_ns(unit));
    return row;
}

void bench_fill(struct bench_row *row, const struct bench_side *side, double per_unit)
{
    row->per_unit = per_unit;
    row->value = side->median / per_unit;
    row->p99 = side->p99 / per_unit;
}

void bench_against(struct bench_row *row, const char *baseline, const struct bench_side *side)
{
    row->baseline = baseline;
    row->baseline_value = side->median / row->per_unit;
}

void bench_against_curve(struct bench_row *row, const char *baseline, const struct bench_side *side)
{
    bench_against(row, baseline, side);
    snprintf(row->baseline_series, sizeof row->baseline_series, "%s", baseline);
}

void bench_times(struct bench_row *row, const char *baseline, double value)
{
    row->baseline = baseline;
    row->baseline_value = value;
    row->ratio = row->value / value;
}

void bench_paper(struct bench_row *row, double cpu, double gpu)
{
    row->paper_cpu = cpu;
    row->paper_gpu = gpu;
}

void bench_bar(struct bench_row *row, enum bench_bar kind, double bar)
{
    row->bar_kind = kind;
    row->bar = bar;
}

void bench_note(struct bench_row *row, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(row->note, sizeof row->note, format, arguments);
    va_end(arguments);
}

void bench_curve(struct bench_row *row, const char *plot, double x, const char *series, ...)
{
    va_list arguments;
    row->plot = plot;
    row->x = x;
    va_start(arguments, series);
    vsnprintf(row->series, sizeof row->series, series, arguments);
    va_end(arguments);
}

bool bench_met(const struct bench_row *row)
{
    if (row->bar_kind == BAR_NONE)
        return true;
    if (row->bar_kind == BAR_VALUE_AT_MOST)
        return row->value <= row->bar;
    return row->bar_kind == BAR_AT_LEAST ? row->ratio >= row->bar : row->ratio <= row->bar;
}

/* Formats three significant digits, in at most eight columns. */
static const char *row_number(double value, char *text, size_t size)
{
    double size_of = fabs(value);
    int digits = size_of >= 99.95 ? 0 : size_of >= 9.995 ? 1 : size_of >= 0.9995 ? 2 : 3;
    if (size_of >= 1e7)
        snprintf(text, size, "%.3g", value);
    else
        snprintf(text, size, "%.*f", digits, value);
    return text;
}

static void print_text(struct output *out, const struct bench_row *row)
{
    char value[32], p99[32] = "", base[32] = "", ratio[40] = "", bar[40] = "", paper[80] = "";
    char number[32], other[32];
    row_number(row->value, value, sizeof value);
    if (row->p99 > 0)
        row_number(row->p99, p99, sizeof p99);
    if (row->baseline) {
        row_number(row->baseline_value, base, sizeof base);
        snprintf(ratio, sizeof ratio, "%sx", row_number(row->ratio, number, sizeof number));
    }
    if (row->bar_kind != BAR_NONE)
        snprintf(bar, sizeof bar, "%s%g%s", row->bar_kind == BAR_AT_LEAST ? ">= " : "<= ", row->bar,
                 row->bar_kind == BAR_VALUE_AT_MOST ? row->unit : "x");
    if (row->paper_cpu > 0 && row->paper_gpu > 0)
        snprintf(paper, sizeof paper, "%s, %s", row_number(row->paper_cpu, number, sizeof number),
                 row_number(row->paper_gpu, other, sizeof other));
    const char *mark = row->bar_kind == BAR_NONE ? "" : bench_met(row) ? "met" : "MISSED";
    char line[400];
    int length = snprintf(line, sizeof line, "%-44s %8s %-5s %8s  %-8s %8s %8s  %-8s %-6s %s",
                          row->id, value, row->unit, p99, row->baseline ? row->baseline : "", base,
                          ratio, bar, mark, paper);
    while (length > 0 && line[length - 1] == ' ')
        line[--length] = '\0';
    output_format(out, "%s\n", line);
    if (row->note[0])
        output_format(out, "    %s\n", row->note);
}

gordian_status bench_flush(struct bench *bench)
{
    if (!output_flush(bench->out))
        return fail(bench->error, GORDIAN_STATUS_IO, "cannot write: %s",
                    strerror(bench->out->failure));
    return GORDIAN_OK;
}

gordian_status bench_add(struct bench *bench, struct bench_row *row)
{
    if (row->baseline && row->ratio == 0 && row->value > 0)
        row->ratio = row->baseline_value / row->value;
    if (!memory_grow(&bench->memory, &bench->rows, &bench->row_capacity, bench->row_count + 1,
                     sizeof *row))
        return fail_memory(bench->error);
    bench->rows[bench->row_count++] = *row;
    if (bench->options->json) {
        struct json json;
        json_begin(&json, bench->out);
        json_key_text(&json, "id", row->id);
        json_key_number(&json, "value", row->value);
        json_key_text(&json, "unit", row->unit);
        if (row->p99 > 0)
            json_key_number(&json, "p99", row->p99);
        if (row->baseline) {
            json_key_text(&json, "baseline", row->baseline);
            json_key_number(&json, "baseline_value", row->baseline_value);
            json_key_number(&json, "ratio", row->ratio);
        }
        if (row->bar_kind != BAR_NONE) {
            json_key_number(&json, "bar", row->bar);
            json_key_text(&json, "bar_is",
                          row->bar_kind == BAR_AT_LEAST  ? "at least"
                          : row->bar_kind == BAR_AT_MOST ? "at most"
                                                         : "value at most");
            json_key_bool(&json, "met", bench_met(row));
        }
        if (row->paper_cpu > 0)
            json_key_number(&json, "paper_cpu", row->paper_cpu);
        if (row->paper_gpu > 0)
            json_key_number(&json, "paper_gpu", row->paper_gpu);
        if (row->note[0])
            json_key_text(&json, "note", row->note);
        json_end(&json);
    } else {
        if (bench->row_count == 1)
            output_format(bench->out, "%-44s %8s %-5s %8s  %-8s %8s %8s  %-8s %-6s %s\n", "",
                          "median", "", "p99", "baseline", "median", "ratio", "bar", "",
                          "papers: CPU, GPU");
        print_text(bench->out, row);
    }
    return bench_flush(bench);
}

gordian_status bench_skip(struct bench *bench, const char *id, const char *why)
{
    if (bench->options->json) {
        struct json json;
        json_begin(&json, bench->out);
        json_key_text(&json, "skipped", id);
        json_key_text(&json, "reason", why);
        json_end(&json);
    } else {
        output_format(bench->out, "%s: skipped: %s\n", id, why);
    }
    return bench_flush(bench);
}

/* ------------------------------------------------------------------ memory */

/* Each block stores its size. */
union counted {
    size_t size;
    max_align_t align;
};

static void *counted_resize(void *context, void *pointer, size_t size)
{
    struct bench_memory *counter = context;
    union counted *block = pointer ? (union counted *)pointer - 1 : NULL;
    size_t old = block ? block->size : 0;
    if (size == 0) {
        counter->live -= old;
        free(block);
        return NULL;
    }
    union counted *grown = realloc(block, sizeof *grown + size);
    if (!grown)
        return NULL;
    counter->live += size - old;
    counter->peak = counter->live > counter->peak ? counter->live : counter->peak;
    grown->size = size;
    return grown + 1;
}

gordian_allocator bench_counting(struct bench_memory *memory)
{
    return (gordian_allocator){counted_resize, memory};
}
