/*
 * .aut (Aldebaran), read and written.
 *
 *     des (0,6,4)
 *     (0,"a0",1)
 *
 * Writing is a stream: lines in the order of the states, nothing kept. In a file that can be
 * written in place, the header always tells the truth about the whole lines below it: it is
 * rewritten after every flush, padded with blanks behind the ')', so a killed run leaves a file
 * that every reader of .aut takes. When the run knows its number of transitions beforehand (all
 * engines do), the padding is gone at the end. What cannot be written in place (a pipe) gets the
 * final header at once, and must know.
 *
 * Reading accepts blanks anywhere and labels with or without quotes; tau is "tau".
 */
#pragma once

#include "engines/compose/circuit/text_fault.h"
#include "engines/compose/engine/engine.h"
#include "engines/compose/graph/graph.h"
#include "foundation/base/io/output.h"

/* A file cut short is read as far as its header and its lines go; *cut tells: there are fewer lines
 * than the header says, or it is one that a run was killed at (padding, lines that do not count) or
 * stopped at (a last line with a tab). Far more states than the file has bytes
 * are GORDIAN_STATUS_INPUT.
 */
gordian_status aut_read(gordian_graph **out, const struct text *text, bool *cut,
                        const gordian_allocator *memory, gordian_fault *fault,
                        gordian_error *error);
void aut_write(const gordian_graph *graph, struct output *out);

struct aut_sink {
    gordian_compose_sink sink;
    const gordian_circuit *circuit;
    struct output *out;
    bool in_place;                          /* what was written can be overwritten */
    uint64_t first;                         /* the initial state */
    uint64_t states, transitions, promised; /* transitions: whole lines written */
    bool started;
    size_t header_size, since_patch;
    uint64_t patched; /* transitions as the header in the file says */
};

/* Written in place where the output is for a writer that can. */
void aut_sink_open(struct aut_sink *sink, struct output *out);
/* Flushes and settles the header; call it also after a failed or stopped run. A file of a run that
 * was `stopped` is marked, since states that were not looked at look like deadlocks there. False: a
 * write failed (out->failure). */
bool aut_sink_close(struct aut_sink *sink, bool stopped);
