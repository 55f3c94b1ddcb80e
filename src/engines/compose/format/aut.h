/*
 * Reads and writes .aut (Aldebaran) files.
 *
 *     des (0,6,4)
 *     (0,"a0",1)
 *
 * Writing is a stream: lines in the order of the states, without buffering the graph. If the output
 * can be overwritten, the header always matches the complete lines below it: it is updated after
 * every flush, and padded with blanks behind the ')'. So every reader of .aut accepts the file of a
 * killed run. If the run knows its number of transitions in advance, as all engines do, the padding
 * is removed at the end. If the output cannot be overwritten (a pipe), the final header is written
 * first, so the number must be known.
 *
 * Reading accepts blanks anywhere, and labels with or without quotes. tau is "tau".
 */
#pragma once

#include "engines/compose/circuit/text_fault.h"
#include "engines/compose/engine/engine.h"
#include "engines/compose/graph/graph.h"
#include "foundation/base/io/output.h"

/* Reads a truncated file as far as its header and lines go. *cut: there are fewer lines than in the
 * header, or the run was killed (padding, uncounted lines) or stopped (a last line with a tab).
 * GORDIAN_STATUS_INPUT: far more states than the file has bytes. */
gordian_status aut_read(gordian_graph **out, const struct text *text, bool *cut,
                        const gordian_allocator *memory, gordian_fault *fault,
                        gordian_error *error);
void aut_write(const gordian_graph *graph, struct output *out);

struct aut_sink {
    gordian_compose_sink sink;
    const gordian_circuit *circuit;
    struct output *out;
    bool in_place;                          /* the output can be overwritten */
    uint64_t first;                         /* the initial state */
    uint64_t states, transitions, promised; /* transitions: complete lines written */
    bool started;
    size_t header_size, since_patch;
    uint64_t patched; /* transitions according to the header in the file */
};

/* Overwrites the header if the writer of the output supports it. */
void aut_sink_open(struct aut_sink *sink, struct output *out);
/* Flushes, and completes the header. Call it also after a failed or stopped run. The file of a
 * `stopped` run is marked, because states that were not expanded look like deadlocks. False: a
 * write failed (out->failure). */
bool aut_sink_close(struct aut_sink *sink, bool stopped);
