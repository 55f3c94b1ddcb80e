/* The parser of traces: one line at a time (the grammar is in gordian.h). */
#include "engines/rag/trace.h"

#include "foundation/base/error.h"
#include "foundation/base/memory.h"
#include "foundation/base/nearest.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define UNITS_RANGE "a whole number from 1 to 18446744073709551615"
#define CLAIM_RANGE "a whole number from 0 to 18446744073709551615"
#define I64_RANGE   "a whole number from -9223372036854775808 to 9223372036854775807"

/* What may follow the first word of a line. */
struct form {
    const char *verb;
    size_t verb_length;
    gordian_line kind;
    gordian_op op;
    enum { NO_ITEMS, ONE_ITEM, MANY_ITEMS } items;
};

#define FORM(verb, ...)                                                                            \
    {                                                                                              \
        verb, sizeof verb - 1, __VA_ARGS__                                                         \
    }

static const struct form forms[] = {
    /* the most frequent ones first */
    FORM("request", GORDIAN_LINE_EVENT, GORDIAN_OP_REQUEST, MANY_ITEMS),
    FORM("release", GORDIAN_LINE_EVENT, GORDIAN_OP_RELEASE, ONE_ITEM),
    FORM("hold", GORDIAN_LINE_EVENT, GORDIAN_OP_HOLD, ONE_ITEM),
    FORM("wait", GORDIAN_LINE_EVENT, GORDIAN_OP_WAIT, MANY_ITEMS),
    FORM("exit", GORDIAN_LINE_EVENT, GORDIAN_OP_EXIT, NO_ITEMS),
    FORM("cancel", GORDIAN_LINE_EVENT, GORDIAN_OP_CANCEL, NO_ITEMS),
    FORM("resource", GORDIAN_LINE_RESOURCE, 0, NO_ITEMS),
    FORM("process", GORDIAN_LINE_PROCESS, 0, MANY_ITEMS),
    FORM("await", GORDIAN_LINE_EVENT, GORDIAN_OP_AWAIT, MANY_ITEMS),
    FORM("act", GORDIAN_LINE_EVENT, GORDIAN_OP_ACT, NO_ITEMS),
};

#define FORM_COUNT (sizeof forms / sizeof forms[0])

/* Returns whether the form is only in traces with acts. */
static bool is_of_acts(const struct form *form)
{
    return form->op == GORDIAN_OP_AWAIT || form->op == GORDIAN_OP_ACT;
}

static gordian_status open_inside(gordian_trace *trace, const gordian_source *source, bool text,
                                  const gordian_allocator *memory, gordian_error *error)
{
    *trace = (gordian_trace){.inside = memory_zeroed(memory, sizeof *trace->inside)};
    if (!trace->inside)
        return fail_memory(error);
    unpack_open(&trace->inside->unpack, source, memory);
    gordian_source unpacked = {unpack_read, &trace->inside->unpack};
    gordian_status status =
        reader_open(&trace->inside->reader, text ? source : &unpacked, memory, error);
    if (status != GORDIAN_OK)
        gordian_trace_close(trace);
    return status;
}

gordian_status gordian_trace_open(gordian_trace *trace, const gordian_source *source,
                                  const gordian_allocator *allocator, gordian_error *error)
{
    gordian_allocator memory = memory_allocator(allocator);
    return open_inside(trace, source, false, &memory, error);
}

gordian_status trace_open_text(gordian_trace *trace, const gordian_source *source,
                               const gordian_allocator *memory, gordian_error *error)
{
    return open_inside(trace, source, true, memory, error);
}

void gordian_trace_close(gordian_trace *trace)
{
    struct gordian_trace_inside *inside = trace->inside;
    if (!inside)
        return;
    gordian_allocator memory = inside->unpack.text.memory;
    memory_free_all(&memory, inside->items, inside->declared_at);
    reader_close(&inside->reader);
    unpack_close(&inside->unpack);
    memory_free(&memory, inside);
    *trace = (gordian_trace){0};
}

/* ---- messages */

gordian_status trace_fail(const gordian_trace *trace, const gordian_word *at, gordian_error *error,
                          const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fail_at_list(error, GORDIAN_STATUS_INPUT, trace->line, at->column, format, arguments);
    va_end(arguments);
    return GORDIAN_STATUS_INPUT;
}

gordian_status trace_place_error(const gordian_trace *trace, const gordian_word *at,
                                 gordian_status status, gordian_error *error)
{
    if (status != GORDIAN_OK && status != GORDIAN_STATUS_MEMORY && error && error->line == 0) {
        error->line = trace->line;
        error->column = at->column;
    }
    return status;
}

const char *trace_show(const gordian_word *word, char buffer[TRACE_SHOWN_MAX])
{
    size_t used = 0;
    for (uint32_t i = 0; i < word->length; i++) {
        unsigned char byte = (unsigned char)word->text[i];
        /* capacity for this byte, escaped, and for the dots; never cut inside a UTF-8 character */
        bool full = used + 4 + sizeof "..." > TRACE_SHOWN_MAX - 8;
        if ((full && (byte & 0xc0) != 0x80) || used + 4 + sizeof "..." > TRACE_SHOWN_MAX) {
            memcpy(buffer + used, "...", 3);
            used += 3;
            break;
        }
        if (byte < 0x20 || byte == 0x7f)
            used += (size_t)snprintf(buffer + used, 5, "\\x%02x", byte);
        else
            buffer[used++] = (char)byte;
    }
    buffer[used] = '\0';
    return buffer;
}

/* A word is missing: fails just after the last one. */
static gordian_status fail_missing(const gordian_trace *trace, const char *expected,
                                   gordian_error *error)
{
    const gordian_word *last = &trace->words[trace->word_count - 1];
    gordian_word place = {.column = last->column + last->length};
    char before[3 * TRACE_SHOWN_MAX];
    size_t used = 0;
    for (size_t i = 0; i < trace->word_count && used + TRACE_SHOWN_MAX + 1 < sizeof before; i++) {
        if (i > 0)
            before[used++] = ' ';
        used += strlen(trace_show(&trace->words[i], before + used));
    }
    before[used] = '\0';
    return trace_fail(trace, &place, error, "expected %s after '%s'", expected, before);
}

static gordian_status fail_surplus(const gordian_trace *trace, size_t first, const char *expected,
                                   gordian_error *error)
{
    const gordian_word *word = &trace->words[first];
    char shown[TRACE_SHOWN_MAX];
    return trace_fail(trace, word, error, "expected %s, not '%s'", expected,
                      trace_show(word, shown));
}

static gordian_status fail_unknown_verb(const gordian_trace *trace, const gordian_word *verb,
                                        gordian_error *error)
{
    struct nearest nearest = {.typed = verb->text, .length = verb->length};
    for (size_t i = 0; i < FORM_COUNT; i++)
        if (trace->acts || !is_of_acts(&forms[i]))
            nearest_offer(&nearest, forms[i].verb);
    const char *found = nearest_found(&nearest);
    char shown[TRACE_SHOWN_MAX];
    return trace_fail(trace, verb, error,
                      "unknown word '%s': expected resource, process, request, release, cancel, "
                      "exit, hold%s%s%s%s",
                      trace_show(verb, shown), trace->acts ? ", wait, await or act" : " or wait",
                      found ? "; did you mean '" : "", found ? found : "", found ? "'?" : "");
}

/* ---- parts of a line */

/* `word` stands where a name must be; `name` is the part of it that is the name. */
static gordian_status check_length(const gordian_trace *trace, const gordian_word *name,
                                   const char *kind, gordian_error *error)
{
    if (name->length <= GORDIAN_NAME_MAX)
        return GORDIAN_OK;
    return trace_fail(trace, name, error, "a %s name of %u bytes: at most %d are allowed", kind,
                      name->length, GORDIAN_NAME_MAX);
}

/* Reads word `index` as a plain name. */
static gordian_status read_trace_name(const gordian_trace *trace, size_t index, const char *kind,
                                      gordian_word *name, gordian_error *error)
{
    char shown[TRACE_SHOWN_MAX];
    if (index >= trace->word_count) {
        char expected[40];
        snprintf(expected, sizeof expected, "a %s name", kind);
        return fail_missing(trace, expected, error);
    }
    *name = trace->words[index];
    if (trace->inside->reader.equals && memchr(name->text, '=', name->length))
        return trace_fail(trace, name, error, "'%s': the name of a %s cannot contain '='",
                          trace_show(name, shown), kind);
    return check_length(trace, name, kind, error);
}

static gordian_status read_trace_units(const gordian_trace *trace, const gordian_word *word,
                                       const gordian_word *value, uint64_t *units,
                                       gordian_error *error)
{
    const char *why;
    char shown[TRACE_SHOWN_MAX];
    if (parse_u64(value->text, value->length, units, &why) && *units > 0)
        return GORDIAN_OK;
    return trace_fail(trace, word, error, "'%s': units must be " UNITS_RANGE,
                      trace_show(word, shown));
}

/* Reads Q or Q=N. */
static gordian_status read_trace_want(const gordian_trace *trace, gordian_trace_item *item,
                                      gordian_error *error)
{
    char shown[TRACE_SHOWN_MAX];
    item->units = 1;
    if (item->name.length == 0)
        return trace_fail(trace, &item->word, error, "'%s': expected a resource name before '='",
                          trace_show(&item->word, shown));
    gordian_status status = check_length(trace, &item->name, "resource", error);
    if (status != GORDIAN_OK || !item->value.text)
        return status;
    if (item->value.length == 0)
        return trace_fail(trace, &item->word, error, "'%s': expected a number of units after '='",
                          trace_show(&item->word, shown));
    return read_trace_units(trace, &item->word, &item->value, &item->units, error);
}

/* Checks KEY=VALUE. */
static gordian_status check_attribute(const gordian_trace *trace, const gordian_trace_item *item,
                                      gordian_error *error)
{
    const char *expected = !item->value.text         ? "expected key=value"
                           : item->name.length == 0  ? "expected a key before '='"
                           : item->value.length == 0 ? "expected a value after '='"
                                                     : NULL;
    char shown[TRACE_SHOWN_MAX];
    if (!expected)
        return GORDIAN_OK;
    return trace_fail(trace, &item->word, error, "'%s': %s", trace_show(&item->word, shown),
                      expected);
}

/* Reads the words [first, end) as items. */
static gordian_status read_trace_items(gordian_trace *trace, size_t first, size_t end,
                                       gordian_error *error)
{
    struct gordian_trace_inside *inside = trace->inside;
    if (end - first > inside->item_room &&
        !memory_grow(&inside->reader.memory, &inside->items, &inside->item_room, end - first,
                     sizeof *inside->items))
        return fail_memory(error);
    for (size_t i = first; i < end; i++) {
        gordian_trace_item *item = &inside->items[i - first];
        item->word = item->name = trace->words[i];
        item->value = (gordian_word){0};
        if (inside->reader.equals)
            word_split(&item->word, &item->name, &item->value);
        TRY(trace->kind == GORDIAN_LINE_EVENT ? read_trace_want(trace, item, error)
                                              : check_attribute(trace, item, error));
    }
    trace->items = inside->items;
    trace->item_count = end - first;
    return GORDIAN_OK;
}

/* ---- lines */

/* Reads "2 of", "any of" or "all of" after the name of the awaiting process. Returns true if it is
 * there; *needed is the number, 0 for all. */
static bool read_awaited_count(const gordian_trace *trace, uint64_t *needed)
{
    const char *why;
    if (trace->word_count < 4 || !word_is(&trace->words[3], "of"))
        return false;
    const gordian_word *word = &trace->words[2];
    *needed = word_is(word, "any");
    return *needed || word_is(word, "all") ||
           (parse_u64(word->text, word->length, needed, &why) && *needed > 0);
}

/* Reads the processes that can act, as items. */
static gordian_status read_awaited(gordian_trace *trace, gordian_error *error)
{
    struct gordian_trace_inside *inside = trace->inside;
    uint64_t needed = 0;
    size_t first = read_awaited_count(trace, &needed) ? 4 : 2, count = trace->word_count;
    if (count <= first)
        return fail_missing(trace, "a process name", error);
    if (!memory_grow(&inside->reader.memory, &inside->items, &inside->item_room, count - first,
                     sizeof *inside->items))
        return fail_memory(error);
    for (size_t i = first; i < count; i++) {
        gordian_trace_item *item = &inside->items[i - first];
        *item = (gordian_trace_item){.word = trace->words[i], .units = 1};
        TRY(read_trace_name(trace, i, "process", &item->name, error));
    }
    if (needed > count - first)
        return trace_fail(trace, &trace->words[2], error,
                          "%llu acts of %zu processes: name at least as many processes",
                          (unsigned long long)needed, count - first);
    trace->items = inside->items;
    trace->item_count = count - first;
    trace->units = needed ? needed : count - first;
    return GORDIAN_OK;
}

static gordian_status read_line_operands(gordian_trace *trace, const struct form *form,
                                         gordian_error *error)
{
    size_t count = trace->word_count;
    if (form->kind == GORDIAN_LINE_RESOURCE) {
        /* Reads what may follow the name of a declared resource. */
        if (trace->word_count > 3)
            return fail_surplus(trace, 3, "the end of the line after the units", error);
        trace->units = 1;
        if (trace->word_count < 3)
            return GORDIAN_OK;
        return read_trace_units(trace, &trace->words[2], &trace->words[2], &trace->units, error);
    }
    if (form->op == GORDIAN_OP_AWAIT)
        return read_awaited(trace, error);
    if (form->op == GORDIAN_OP_ACT) {
        /* Reads what may follow the process that has acted. */
        if (trace->word_count == 2)
            return GORDIAN_OK;
        if (!word_is(&trace->words[2], "for"))
            return fail_surplus(trace, 2, "'for' or the end of the line after one process", error);
        TRY(read_trace_name(trace, 3, "process", &trace->to, error));
        if (trace->word_count > 4)
            return fail_surplus(trace, 4, "the end of the line after the process it is for", error);
        return GORDIAN_OK;
    }
    if (form->items == NO_ITEMS && count > 2)
        return fail_surplus(trace, 2, "the end of the line after one process", error);
    if (form->items == NO_ITEMS)
        return GORDIAN_OK;
    if (count < 3 && form->kind == GORDIAN_LINE_EVENT)
        return fail_missing(trace, "a resource name", error);
    if (form->op == GORDIAN_OP_RELEASE && trace->avoidance) {
        /* A release of an avoidance trace: several resources, and no `to`. (A resource of that name
         * before the last word is written to=1.) */
        if (count > 4 && word_is(&trace->words[count - 2], "to"))
            return trace_fail(trace, &trace->words[count - 2], error,
                              "'to': not allowed in an avoidance trace");
        return read_trace_items(trace, 2, count, error);
    }
    gordian_status status = read_trace_items(trace, 2, form->items == ONE_ITEM ? 3 : count, error);
    if (status != GORDIAN_OK || form->items == MANY_ITEMS)
        return status;
    /* Reads what may follow the one resource of a `release` or a `hold`. */
    if (trace->word_count == 3)
        return GORDIAN_OK;
    if (trace->op == GORDIAN_OP_HOLD)
        return fail_surplus(trace, 3, "the end of the line after one resource", error);
    if (!word_is(&trace->words[3], "to"))
        return fail_surplus(trace, 3, "'to' or the end of the line after one resource", error);
    TRY(read_trace_name(trace, 4, "process", &trace->to, error));
    if (trace->word_count > 5)
        return fail_surplus(trace, 5, "the end of the line after the hand-over", error);
    return GORDIAN_OK;
}

/* The third letter distinguishes verbs of the same length, so that rarely more than one is
 * compared. */
static const struct form *find_form(const gordian_word *verb)
{
    for (size_t i = 0; i < FORM_COUNT; i++) {
        if (verb->length == forms[i].verb_length && verb->text[2] == forms[i].verb[2] &&
            memcmp(verb->text, forms[i].verb, verb->length) == 0)
            return &forms[i];
    }
    return NULL;
}

gordian_status gordian_trace_next(gordian_trace *trace, gordian_error *error)
{
    const struct reader *reader = &trace->inside->reader;
    gordian_status status = reader_next(&trace->inside->reader, error);
    if (status == GORDIAN_STATUS_IO && unpack_knows(&trace->inside->unpack))
        return unpack_fail(&trace->inside->unpack, error);
    if (status != GORDIAN_OK)
        return status;
    trace->line = reader->line;
    trace->words = reader->words;
    trace->word_count = reader->word_count;
    trace->verb = reader->words[0];
    trace->to.text = NULL;
    trace->item_count = 0;
    const struct form *form = find_form(&trace->verb);
    if (!form || (!trace->acts && is_of_acts(form)))
        return fail_unknown_verb(trace, &trace->verb, error);
    trace->kind = form->kind;
    trace->op = form->op;
    status = read_trace_name(trace, 1, form->kind == GORDIAN_LINE_RESOURCE ? "resource" : "process",
                             &trace->name, error);
    return status != GORDIAN_OK ? status : read_line_operands(trace, form, error);
}

/* ---- declarations */

bool trace_declare(gordian_trace *trace, uint32_t resource)
{
    struct gordian_trace_inside *inside = trace->inside;
    uint32_t old = inside->declared_room;
    if (resource >= old) {
        if (!memory_grow32(&inside->reader.memory, &inside->declared_at, &inside->declared_room,
                           resource + 1, sizeof *inside->declared_at))
            return false;
        memset(inside->declared_at + old, 0,
               (size_t)(inside->declared_room - old) * sizeof *inside->declared_at);
    }
    inside->declared_at[resource] = trace->line;
    return true;
}

gordian_status trace_redeclared(const gordian_trace *trace, uint32_t resource, gordian_error *error)
{
    char shown[TRACE_SHOWN_MAX];
    trace_show(&trace->name, shown);
    const struct gordian_trace_inside *inside = trace->inside;
    uint64_t line = resource < inside->declared_room ? inside->declared_at[resource] : 0;
    if (line == 0)
        return trace_fail(trace, &trace->name, error, "resource '%s' exists already", shown);
    return trace_fail(trace, &trace->name, error, "resource '%s' was declared before, at line %llu",
                      shown, (unsigned long long)line);
}

gordian_status trace_claim(const gordian_trace *trace, const gordian_trace_item *item,
                           uint64_t *units, gordian_error *error)
{
    const char *why;
    char shown[TRACE_SHOWN_MAX];
    if (parse_u64(item->value.text, item->value.length, units, &why))
        return GORDIAN_OK;
    return trace_fail(trace, &item->word, error, "'%s': a claim must be " CLAIM_RANGE,
                      trace_show(&item->word, shown));
}

gordian_status trace_attributes(const gordian_trace *trace, struct trace_attributes *attributes,
                                gordian_error *error)
{
    *attributes = (struct trace_attributes){0};
    for (size_t i = 0; i < trace->item_count; i++) {
        const gordian_trace_item *item = &trace->items[i];
        bool priority = word_is(&item->name, "priority");
        int64_t value;
        const char *why;
        char shown[TRACE_SHOWN_MAX];
        if (!priority && !word_is(&item->name, "cost"))
            return trace_fail(trace, &item->word, error,
                              "unknown attribute '%s': expected priority= or cost=",
                              trace_show(&item->name, shown));
        if (!parse_i64(item->value.text, item->value.length, &value, &why))
            return trace_fail(trace, &item->word, error, "'%s': %s must be " I64_RANGE,
                              trace_show(&item->word, shown), priority ? "priority" : "cost");
        *(priority ? &attributes->has_priority : &attributes->has_cost) = true;
        *(priority ? &attributes->priority : &attributes->cost) = value;
    }
    return GORDIAN_OK;
}
