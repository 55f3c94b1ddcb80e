/*
 * The grammar of traces and snapshots: from lines of text to operations.
 *
 *     resource NAME [UNITS]
 *     process NAME [KEY=VALUE ...]
 *     request P Q[=N] [Q[=N] ...]
 *     release P Q[=N] [to P2]
 *     cancel P
 *     exit P
 *     hold P Q[=N]
 *     wait P Q[=N] [Q[=N] ...]
 *
 * A trace for avoidance differs in two places:
 *
 *     process NAME [Q=N ...]            what it claims
 *     release P Q[=N] [Q[=N] ...]       as a request; who gets it is not the trace's to say
 *
 * A line is read as a whole and checked against this, nothing more: what its names
 * mean, and which keys a process may have, is the consumer's to judge. Whatever is
 * wrong ends in GORDIAN_STATUS_INPUT with the line, the column of the word at fault (just
 * past the last word where one is missing), and what was expected.
 */
#ifndef GORDIAN_RAG_TRACE_H
#define GORDIAN_RAG_TRACE_H

#include "base/reader.h"

enum trace_kind {
    TRACE_EVENT, /* what kind of event: `op` */
    TRACE_RESOURCE,
    TRACE_PROCESS,
};

/* Q=N of an event, KEY=VALUE of a process line. */
struct trace_item {
    struct word word; /* as written */
    struct word name;
    struct word value; /* text NULL: there is none (only in an event) */
    uint64_t units;    /* in an event: what the value says, or 1 */
};

struct trace {
    struct reader reader;
    bool avoidance;        /* the caller's to set after trace_open */
    uint64_t *declared_at; /* by resource: the line of its declaration, 0 unknown */
    uint32_t declared_room;

    /* The current line. Its words are valid until the next call. */
    uint64_t line;
    enum trace_kind kind;
    gordian_op op;    /* of an event */
    struct word verb; /* the first word */
    struct word name; /* whose event; or what is declared, and with how many units */
    uint64_t units;
    struct word to;           /* release: who gets it; text NULL: nobody is named */
    struct trace_item *items; /* at least one unless cancel, exit or a declaration */
    size_t item_count, item_room;
};

gordian_status trace_open(struct trace *trace, const gordian_source *source,
                          const gordian_allocator *memory, gordian_error *error);
void trace_close(struct trace *trace);
/* Reads the next line; GORDIAN_STATUS_END after the last. */
gordian_status trace_next(struct trace *trace, gordian_error *error);

/* Fails at a word of the current line. */
gordian_status trace_fail(const struct trace *trace, const struct word *at, gordian_error *error,
                          const char *format, ...) __attribute__((format(printf, 4, 5)));

/* A word made fit for a message: cut short, control bytes as \xNN. Returns `buffer`. */
#define TRACE_SHOWN_MAX 80
const char *trace_show(const struct word *word, char buffer[TRACE_SHOWN_MAX]);

/* Remembers where a resource was declared; false: out of memory. */
bool trace_declare(struct trace *trace, uint32_t resource);
/* Fails because the current line declares `resource` again. */
gordian_status trace_redeclared(const struct trace *trace, uint32_t resource, gordian_error *error);

/* KEY=VALUE of a `process` line as a claim: a number of units, 0 allowed. */
gordian_status trace_claim(const struct trace *trace, const struct trace_item *item,
                           uint64_t *units, gordian_error *error);

/* What a `process` line may say about the choice of a victim. */
struct trace_attributes {
    bool has_priority, has_cost;
    int64_t priority, cost;
};

/* Reads the items of the current `process` line; any other key is an error. */
gordian_status trace_attributes(const struct trace *trace, struct trace_attributes *attributes,
                                gordian_error *error);

#endif
