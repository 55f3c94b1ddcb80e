/* The inside of a trace (gordian_trace of gordian.h, where its grammar is): what the library's own
 * consumers of its lines share. */
#pragma once

#include "foundation/base/io/reader.h"
#include "foundation/base/packed/packed.h"

#include <string.h>

struct gordian_trace_inside {
    struct reader reader;
    struct unpack unpack;      /* before the reader: what comes may be packed */
    gordian_trace_item *items; /* of the current line */
    size_t item_room;
    uint64_t *declared_at; /* by resource: the line of its declaration, 0 unknown */
    uint32_t declared_room;
};

/* As gordian_trace_open, for a source of text that is never packed: somebody who talks line by
 * line. */
gordian_status trace_open_text(gordian_trace *trace, const gordian_source *source,
                               const gordian_allocator *memory, gordian_error *error);

/* Fails at a word of the current line. */
gordian_status trace_fail(const gordian_trace *trace, const gordian_word *at, gordian_error *error,
                          const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Gives an error that has no place in the text this one; returns the status. */
gordian_status trace_place_error(const gordian_trace *trace, const gordian_word *at,
                                 gordian_status status, gordian_error *error);

/* (Behind a word of a line there is something to read: most need no copying of just so many
 * bytes.) */
static inline void trace_copy_name(char to[GORDIAN_NAME_MAX + 1], const gordian_word *name)
{
    if (name->length <= 16)
        memcpy(to, name->text, 16);
    else
        memcpy(to, name->text, name->length);
    to[name->length] = '\0';
}

/* A word made fit for a message: cut short, control bytes as \xNN. Returns `buffer`. */
#define TRACE_SHOWN_MAX 80
const char *trace_show(const gordian_word *word, char buffer[TRACE_SHOWN_MAX]);

/* Remembers where a resource was declared; false: out of memory. */
bool trace_declare(gordian_trace *trace, uint32_t resource);
/* Fails because the current line declares `resource` again. */
gordian_status trace_redeclared(const gordian_trace *trace, uint32_t resource,
                                gordian_error *error);

/* KEY=VALUE of a `process` line as a claim: a number of units, 0 allowed. */
gordian_status trace_claim(const gordian_trace *trace, const gordian_trace_item *item,
                           uint64_t *units, gordian_error *error);

/* What a `process` line may say about the choice of a victim. */
struct trace_attributes {
    bool has_priority, has_cost;
    int64_t priority, cost;
};

/* Reads the items of the current `process` line; any other key is an error. */
gordian_status trace_attributes(const gordian_trace *trace, struct trace_attributes *attributes,
                                gordian_error *error);
