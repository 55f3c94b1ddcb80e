/*
 * Lookahead in a trace: the plain lines are `resource Q`, and VERB P Q where the verb is request,
 * release, hold or wait, for one unit of one resource. Most lines of most traces are plain. Their
 * names are looked up together, so that the cache misses overlap, and most need not be read word by
 * word. All other lines, and all with errors, are left to gordian_trace_next.
 *
 *     while (...)
 *         const struct trace_plain *plain = trace_ahead_next(&trace, &ahead, &processes,
 *                                                            &resources, &fresh);
 *         if (plain && it is valid)
 *             trace_ahead_pass(&trace, plain);
 *         else
 *             gordian_trace_next(&trace, error);
 */
#pragma once

#include "engines/rag/trace.h"
#include "foundation/base/names/interner.h"

enum trace_shape { TRACE_OTHER, TRACE_EVENT, TRACE_DECLARE, TRACE_BLANK };

struct trace_plain {
    enum trace_shape shape;
    gordian_op op;      /* of an event */
    uint32_t next_edge; /* see reader_pass */
};

/* By the line's number among those ahead. */
struct trace_ahead {
    uint64_t serial; /* of the lines looked up */
    uint32_t line;   /* the next one */
    /* Counters of the tables when the names were looked up. */
    uint64_t process_puts, process_drops, resource_puts, resource_drops;
    struct trace_plain lines[READER_AHEAD_LINES];
    struct names_query processes[READER_AHEAD_LINES], resources[READER_AHEAD_LINES];
};

/* Classifies the lines, without looking any names up. */
void trace_classify(const struct reader_ahead *lines, struct trace_ahead *ahead);

/* Returns the next line if it is plain, or NULL. *fresh: it is the first of the lines that have
 * just been looked up. */
const struct trace_plain *trace_ahead_next(const gordian_trace *trace, struct trace_ahead *ahead,
                                           const struct names *processes,
                                           const struct names *resources, bool *fresh);
/* Returns whether the names found then still have the same ids. */
static inline bool trace_ahead_holds(const struct trace_ahead *ahead, const struct names *processes,
                                     const struct names *resources)
{
    return ahead->process_drops == processes->drops && ahead->resource_drops == resources->drops;
}
/* Return the ids of the line's process and resource; NONE if there is no such. */
uint32_t trace_ahead_process(const struct trace_ahead *ahead, const struct names *processes);
uint32_t trace_ahead_resource(const struct trace_ahead *ahead, const struct names *resources);
/* Marks the line as read. Sets *line to its number and *column to the column of its first word. */
void trace_ahead_pass(const gordian_trace *trace, const struct trace_plain *plain, uint64_t *line,
                      uint64_t *column);
