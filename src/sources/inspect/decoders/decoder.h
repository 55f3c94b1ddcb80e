/* Decoders. Each decoder recognizes one kind of wait. For every thread, the decoders run in order
 * until one of them either decodes the wait (snapshot_add_wait, snapshot_add_hold) or all have
 * declined.
 *
 * To add a decoder, write its file with a function `explain`, declare it here, and add it to the
 * table in decoders.c, where specific decoders precede general ones. The other functions are
 * optional: `finish` runs once after all threads, for a decoder that must know all waits. `settle`
 * runs once after the second listing, for waits that return to the same place again and again (a
 * timed wait in a loop), and reports which of them stood still. `lines` runs for each thread of a
 * report, and adds lines of scripts.
 *
 * Rules: a fact with WORD_PROVED must be read from the lock itself, and must be true at the moment
 * of the snapshot whatever else memory contains. Check every field, since any word in memory may
 * look like a lock. All other facts are WORD_LIKELY, with their evidence as text. If in doubt, add
 * nothing: a wait without a known holder counts as one that can end.
 */
#pragma once

#include "sources/inspect/snapshot/builder.h"

struct decoder {
    const char *name;
    bool (*explain)(struct process_snapshot *snapshot,
                    uint32_t thread);                  /* NULL: the decoder has only a `finish` */
    void (*finish)(struct process_snapshot *snapshot); /* NULL: none */
    void (*settle)(struct process_snapshot *snapshot); /* NULL: none */
    void (*lines)(struct process_snapshot *snapshot,
                  uint32_t thread); /* NULL: none; calls snapshot_add_script_line */
};

extern const struct decoder decoder_between;  /* between_processes.c: pipes, files, children */
extern const struct decoder decoder_ipc;      /* ipc.c: System V semaphores, message queues */
extern const struct decoder decoder_runtimes; /* runtimes.c: recognizes Java and Go */
extern const struct decoder decoder_rust;     /* rust.c: std::sync */
extern const struct decoder decoder_python;   /* python.c: the GIL, threading's locks */
extern const struct decoder decoder_glibc;    /* glibc.c: pthreads, C11 and C++ locks */
extern const struct decoder decoder_stdio;    /* stdio.c: streams */
extern const struct decoder decoder_malloc;   /* stdio.c */
extern const struct decoder decoder_futex;    /* futex.c: other futex words */
extern const struct decoder decoder_spin;     /* spin.c: threads that do not sleep */
extern const struct decoder decoder_watcher;  /* run_library.c: futex words of libgordian-run.so */
extern const struct decoder decoder_evidence; /* evidence.c: holders that no lock names */

/* mpi.c: ranks of MPI programs. Must run first, since ranks wait without sleeping. */
void mpi_explain(struct process_snapshot *snapshot);
void mpi_settle(struct process_snapshot *snapshot);

/* Run all decoders. */
void decoders_explain(struct process_snapshot *snapshot);
void decoders_settle(struct process_snapshot *snapshot);
void decoders_lines(struct process_snapshot *snapshot, uint32_t thread);
