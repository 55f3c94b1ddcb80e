/* The internals of a trace (gordian_trace in gordian.h, which has its grammar), shared by the
 * library's own users of its lines. */
#pragma once

#include "foundation/base/io/reader.h"
#include "foundation/base/packed/packed.h"

#include <string.h>

struct gordian_trace_inside {
    struct reader reader;
    struct unpack unpack;      /* in front of the reader: the source may be packed */
    gordian_trace_item *items; /* of the current line */
    size_t item_room;
    uint64_t *declared_at; /* by resource: the line of its declaration, 0 unknown */
    uint32_t declared_room;
};

/* As gordian_trace_open, for a text source that is never packed, such as an interactive one. */
gordian_status trace_open_text(gordian_trace *trace, const gordian_source *source,
                               const gordian_allocator *memory, gordian_error *error);

/* Fails at a word of the current line. */
gordian_status trace_fail(const gordian_trace *trace, const gordian_word *at, gordian_error *error,
                          const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Gives an error that has no place in the text this one, and returns the status. */
gordian_status trace_place_error(const gordian_trace *trace, const gordian_word *at,
                                 gordian_status status, gordian_error *error);

/* There are readable bytes after a word of a line, so most names are copied in fixed sizes. */
static inline void trace_copy_name(char to[GORDIAN_NAME_MAX + 1], const gordian_word *name)
{
    if (name->length <= 16)
        memcpy(to, name->text, 16);
    else
        memcpy(to, name->text, name->length);
    to[name->length] = '\0';
}

/* Makes a word fit for a message: shortened, control bytes as \xNN. Returns `buffer`. */
#define TRACE_SHOWN_MAX 80
const char *trace_show(const gordian_word *word, char buffer[TRACE_SHOWN_MAX]);

/* Notes where a resource was declared. Returns false if out of memory. */
bool trace_declare(gordian_trace *trace, uint32_t resource);
/* Fails because the current line declares `resource` again. */
gordian_status trace_redeclared(const gordian_trace *trace, uint32_t resource,
                                gordian_error *error);

/* Reads KEY=VALUE of a `process` line as a claim: a number of units, 0 allowed. */
gordian_status trace_claim(const gordian_trace *trace, const gordian_trace_item *item,
                           uint64_t *units, gordian_error *error);

/* Attributes of a `process` line for the choice of a victim. */
struct trace_attributes {
    bool has_priority, has_cost;
    int64_t priority, cost;
};

/* Reads the items of the current `process` line; any other key is an error. */
gordian_status trace_attributes(const gordian_trace *trace, struct trace_attributes *attributes,
                                gordian_error *error);
