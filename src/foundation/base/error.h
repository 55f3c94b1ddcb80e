/* Base library: general code that every folder uses, without knowledge of deadlocks. Read this
 * first.
 *
 *     error.h      statuses and messages, below
 *     memory.h     all memory, from the caller's allocator; meter.h: counted, with a limit
 *     engine.h     name, summary and availability of an engine of any family; choice of one
 *     hash.h       and sort.h, scc.h, fifo.h, nearest.h, crc.h: one algorithm each
 *     machine.h    description of this machine; clock.h, random.h; modules.h: run-time libraries
 *     io/reader.h  lines of words; io/text.h: a whole file; io/output.h: buffered writing
 *     json/json_write.h, and json/json_read.h with json/value.h
 *     names/interner.h: string interning; names/sharded_interner.h: the same for many threads
 *     packed/packed.h: traces as bytes; packed/packed_snapshot.h: snapshots
 *     threads/thread_pool.h; threads/park.h: waiting on a word
 *
 * It uses only the C library. The one error convention: return a status and fill the caller's
 * gordian_error.
 *
 *     if (units == 0)
 *         return fail(error, GORDIAN_STATUS_INPUT, "a resource needs at least one unit");
 *     TRY(graph_grow(graph, error));
 *
 *     gordian_status status = file_open(&file, path, error);
 *     THEN(status, file_read(file, graph, error));
 *     file_close(file);
 *     return status; */
#pragma once

#include <gordian/gordian.h>

#include <stdarg.h>

/* Returns from the function if the call fails. Only for functions that own nothing yet. */
#define TRY(call)                                                                                  \
    do {                                                                                           \
        gordian_status tried = (call);                                                             \
        if (tried != GORDIAN_OK)                                                                   \
            return tried;                                                                          \
    } while (0)

/* Runs the call unless an earlier step failed. For functions that own something: they free it and
 * then return the first failure. */
#define THEN(status, call)                                                                         \
    do {                                                                                           \
        if ((status) == GORDIAN_OK)                                                                \
            (status) = (call);                                                                     \
    } while (0)

/* Each of these functions writes the message (if `error` is not NULL) and returns the status. */
gordian_status fail(gordian_error *error, gordian_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
gordian_status fail_at(gordian_error *error, gordian_status status, uint64_t line, uint64_t column,
                       const char *format, ...) __attribute__((format(printf, 5, 6)));
gordian_status fail_at_list(gordian_error *error, gordian_status status, uint64_t line,
                            uint64_t column, const char *format, va_list arguments)
    __attribute__((format(printf, 5, 0)));
/* Inline, so that compilers and analyzers see that it never returns GORDIAN_OK. */
static inline gordian_status fail_memory(gordian_error *error)
{
    fail(error, GORDIAN_STATUS_MEMORY, "out of memory");
    return GORDIAN_STATUS_MEMORY;
}
