#include "lab/papers/results.h"

#include "build-info.h"
#include "foundation/base/error.h"
#include "foundation/base/json/json_read.h"
#include "foundation/base/json/json_write.h"
#include "foundation/base/machine.h"
#include "lab/papers/data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void results_init(struct results *results)
{
    *results = (struct results){.memory = memory_allocator(NULL)};
}

void results_free(struct results *results)
{
    memory_free_all(&results->memory, results->runs, results->values);
    results->runs = NULL;
    results->values = NULL;
    results->run_count = results->run_capacity = results->value_count = results->value_capacity = 0;
}

/* ------------------------------------------------------------------ adding */

static gordian_status add_result_run(struct results *results, const struct results_run *run,
                                     gordian_error *error)
{
    if (!memory_grow(&results->memory, &results->runs, &results->run_capacity,
                     results->run_count + 1, sizeof *run))
        return fail_memory(error);
    results->runs[results->run_count++] = *run;
    return GORDIAN_OK;
}

gordian_status results_begin_run(struct results *results, const char *device, gordian_error *error)
{
    struct results_run run = {0};
    struct machine machine;
    struct tm day;
    time_t now = time(NULL);
    machine_describe(&machine);
    run.cores = machine.cores;
    snprintf(run.system, sizeof run.system, "%s", machine.system);
    snprintf(run.cpu, sizeof run.cpu, "%s", machine.cpu);
    snprintf(run.device, sizeof run.device, "%s", device);
    snprintf(run.compiler, sizeof run.compiler, "%s", GORDIAN_BUILD_COMPILER);
    snprintf(run.flags, sizeof run.flags, "%s", GORDIAN_BUILD_FLAGS);
    snprintf(run.commit, sizeof run.commit, "%s", GORDIAN_BUILD_COMMIT);
    if (gmtime_r(&now, &day))
        strftime(run.date, sizeof run.date, "%Y-%m-%d", &day);
    return add_result_run(results, &run, error);
}

static struct results_value *find_value(const struct results *results, const char *measure,
                                        double x, double y)
{
    for (size_t i = 0; i < results->value_count; i++) {
        struct results_value *value = &results->values[i];
        if (value->x == x && value->y == y && strcmp(value->measure, measure) == 0)
            return value;
    }
    return NULL;
}

const struct results_value *results_find(const struct results *results, const char *measure,
                                         double x, double y)
{
    return find_value(results, measure, x, y);
}

static gordian_status put_result_value(struct results *results, const struct results_value *value,
                                       gordian_error *error)
{
    struct results_value *old = find_value(results, value->measure, value->x, value->y);
    if (!old && !memory_grow(&results->memory, &results->values, &results->value_capacity,
                             results->value_count + 1, sizeof *value))
        return fail_memory(error);
    if (!old)
        old = &results->values[results->value_count++];
    *old = *value;
    return GORDIAN_OK;
}

gordian_status results_add(struct results *results, const struct results_value *value,
                           gordian_error *error)
{
    struct results_value added = *value;
    added.run = results->run_count - 1;
    return put_result_value(results, &added, error);
}

/* ------------------------------------------------------------------ reading */

/* Members of a line: of a run or of a value. */
struct results_line {
    struct results_run run;
    struct results_value value;
    double run_number;
};

/* Stores a text, cut if it is too long, or a number. Returns false if the member is neither. */
static bool take_member(struct results_line *line, const struct value *key,
                        const struct value *value)
{
    struct results_run *run = &line->run;
    const struct {
        const char *key;
        char *text;
    } texts[] = {{"system", run->system},     {"cpu", run->cpu},
                 {"device", run->device},     {"flags", run->flags},
                 {"compiler", run->compiler}, {"commit", run->commit},
                 {"date", run->date},         {"measure", line->value.measure}};
    const struct {
        const char *key;
        double *number;
    } numbers[] = {{"x", &line->value.x},
                   {"y", &line->value.y},
                   {"value", &line->value.value},
                   {"p99", &line->value.p99},
                   {"run", &line->run_number}};
    const bool is_text = value_is(value, VALUE_TEXT);
    const double number = value_is(value, VALUE_INTEGER) ? (double)value->integer
                          : value_is(value, VALUE_REAL)  ? value->real
                                                         : NAN;
    if (value->kind == VALUE_LIST || value->kind == VALUE_DICT ||
        (value->kind == VALUE_REAL && !isfinite(number)) ||
        (is_text && strstr(value->text, "\xef\xbf\xbd"))) /* U+FFFD: half of a surrogate pair */
        return false;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (is_text && value_says(key, texts[i].key))
            snprintf(texts[i].text,
                     texts[i].text == line->value.measure ? sizeof line->value.measure
                                                          : RESULTS_TEXT,
                     "%.*s", (int)value->count, value->text);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (value_says(key, numbers[i].key))
            *numbers[i].number = number;
    const bool count = number >= 0 && number < 1e9;
    if (count && value_says(key, "cores"))
        run->cores = (unsigned)number;
    if (count && value_says(key, "samples"))
        line->value.samples = (unsigned)number;
    return true;
}

/* The runs of a text precede its values and are numbered from 1. */
static gordian_status keep_result_line(struct results *results, struct results_line *line,
                                       size_t first, uint64_t number, gordian_error *error)
{
    const size_t runs = results->run_count - first;
    if (!line->value.measure[0]) {
        if (line->run_number != (double)(runs + 1))
            return fail_at(error, GORDIAN_STATUS_INPUT, number, 1,
                           "runs are numbered 1, 2, ... and this is number %zu", runs + 1);
        return add_result_run(results, &line->run, error);
    }
    if (!(line->run_number >= 1 && line->run_number <= (double)runs))
        return fail_at(error, GORDIAN_STATUS_INPUT, number, 1, "value of an unknown run");
    if (!isfinite(line->value.x) || !isfinite(line->value.y) || !(line->value.value > 0))
        return fail_at(error, GORDIAN_STATUS_INPUT, number, 1,
                       "a value needs x and y, and must be above 0");
    line->value.run = first + (size_t)line->run_number - 1;
    line->value.line = number;
    return put_result_value(results, &line->value, error);
}

static gordian_status take_result_line(struct results *results, const char *text, size_t size,
                                       size_t first, uint64_t number, gordian_error *error)
{
    struct results_line line = {.value = {.x = NAN, .y = NAN, .value = NAN}, .run_number = NAN};
    const struct value *object = NULL;
    struct arena arena;
    arena_init(&arena, &results->memory);
    const char *copy = arena_text(&arena, text, size);
    gordian_status status =
        copy ? json_read(&object, &arena, copy, size, error) : fail_memory(error);
    if (status != GORDIAN_OK)
        error->line = number;
    else if (!value_is(object, VALUE_DICT))
        status = fail_at(error, GORDIAN_STATUS_INPUT, number, 1, "expected an object");
    for (uint32_t i = 0; status == GORDIAN_OK && i < object->count; i++)
        if (!take_member(&line, object->items[2 * i], object->items[2 * i + 1]))
            status = fail_at(error, GORDIAN_STATUS_INPUT, number, 1, "expected a text or a number");
    arena_free(&arena);
    TRY(status);
    return keep_result_line(results, &line, first, number, error);
}

gordian_status results_read(struct results *results, const char *text, size_t size,
                            gordian_error *error)
{
    const size_t first = results->run_count;
    const char *end = text + size;
    for (uint64_t number = 1; text < end; number++) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        size_t length = (size_t)((newline ? newline : end) - text);
        if (length > 0)
            TRY(take_result_line(results, text, length, first, number, error));
        text += length + 1;
    }
    return GORDIAN_OK;
}

gordian_status results_read_recorded(struct results *results, gordian_error *error)
{
    return results_read(results, papers_recorded.text, *papers_recorded.size, error);
}

/* ------------------------------------------------------------------ writing */

static void write_value(struct output *out, const struct results_value *value, size_t run)
{
    struct json json;
    json_begin(&json, out);
    json_key_text(&json, "measure", value->measure);
    json_key_number(&json, "x", value->x);
    json_key_number(&json, "y", value->y);
    json_key_number(&json, "value", value->value);
    if (value->p99 > 0)
        json_key_number(&json, "p99", value->p99);
    json_key_u64(&json, "samples", value->samples);
    json_key_u64(&json, "run", run);
    json_end(&json);
}

static bool run_is_used(const struct results *results, size_t run)
{
    for (size_t i = 0; i < results->value_count; i++)
        if (results->values[i].run == run)
            return true;
    return false;
}

/* Returns the number of a run among the runs with values, from 1. */
static size_t number_of_run(const struct results *results, size_t run)
{
    size_t number = 0;
    for (size_t i = 0; i <= run; i++)
        number += run_is_used(results, i);
    return number;
}

static int by_place(const void *left, const void *right)
{
    const struct results_value *a = left, *b = right;
    int order = strcmp(a->measure, b->measure);
    if (order == 0 && a->y != b->y)
        order = a->y < b->y ? -1 : 1;
    if (order == 0 && a->x != b->x)
        order = a->x < b->x ? -1 : 1;
    return order;
}

void results_write(struct results *results, struct output *out)
{
    for (size_t i = 0; i < results->run_count; i++)
        if (run_is_used(results, i)) {
            size_t number = number_of_run(results, i);
            struct json json;
            json_begin(&json, out);
            json_key_u64(&json, "run", number);
            json_key_text(&json, "system", results->runs[i].system);
            json_key_text(&json, "cpu", results->runs[i].cpu);
            json_key_u64(&json, "cores", results->runs[i].cores);
            if (results->runs[i].device[0])
                json_key_text(&json, "device", results->runs[i].device);
            json_key_text(&json, "compiler", results->runs[i].compiler);
            json_key_text(&json, "flags", results->runs[i].flags);
            json_key_text(&json, "commit", results->runs[i].commit);
            json_key_text(&json, "date", results->runs[i].date);
            json_end(&json);
        }
    if (results->value_count)
        qsort(results->values, results->value_count, sizeof *results->values, by_place);
    for (size_t i = 0; i < results->value_count; i++)
        write_value(out, &results->values[i], number_of_run(results, results->values[i].run));
}
