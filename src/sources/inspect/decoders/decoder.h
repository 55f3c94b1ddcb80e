/* Those who know a kind of wait. Each is asked about every thread that nobody before it has
 * explained, and either explains its wait (snapshot_add_wait, snapshot_add_hold) or says that it is
 * not its.
 *
 * To add one: write its file with an `explain`, declare it here, put it into the table in
 * decoders.c at its place: the more particular before the more general. A decoder that needs all
 * waits to be known first (who has an address on its stack) has a `finish`, called once behind. One
 * that knows waits which come back to the same place all the time (a timed wait in a loop) has a
 * `settle`, called once after the second listing: it says which of these have stood still. One that
 * knows the lines of scripts has a `lines`, called for each thread of a report.
 *
 * The rules. What is said with WORD_PROVED must be read from the lock itself and be true at the
 * moment of the look whatever the rest of the memory holds: check every field, since any word in
 * memory may look like a lock. Everything else is WORD_LIKELY and has its evidence in words. If in
 * doubt, say nothing: a wait whose holder nobody knows counts as one that can end.
 */
#pragma once

#include "sources/inspect/snapshot/builder.h"

struct decoder {
    const char *name;
    bool (*explain)(struct process_snapshot *snapshot,
                    uint32_t thread);                  /* NULL: has only a `finish` */
    void (*finish)(struct process_snapshot *snapshot); /* NULL: none */
    void (*settle)(struct process_snapshot *snapshot); /* NULL: none */
    void (*lines)(struct process_snapshot *snapshot,
                  uint32_t thread); /* NULL: none; by snapshot_add_script_line */
};

extern const struct decoder decoder_between;  /* between.c: pipes, sockets, file locks, children */
extern const struct decoder decoder_ipc;      /* ipc.c: System V semaphores, message queues */
extern const struct decoder decoder_runtimes; /* runtimes.c: Java's and Go's, by name */
extern const struct decoder decoder_rust;     /* rust.c: std::sync */
extern const struct decoder decoder_python;   /* python.c: the GIL, threading's locks */
extern const struct decoder decoder_glibc;    /* glibc.c: pthreads, C11 and C++ on top of them */
extern const struct decoder decoder_stdio;    /* stdio.c: streams */
extern const struct decoder decoder_malloc;   /* stdio.c */
extern const struct decoder decoder_futex;    /* futex.c: other words in memory, C++20's */
extern const struct decoder decoder_spin;     /* spin.c: threads that do not sleep */
extern const struct decoder decoder_watcher;  /* watcher.c: words of libgordian-run.so */
extern const struct decoder decoder_evidence; /* evidence.c: holders that no lock names */

/* mpi.c: ranks of MPI programs, which wait without sleeping and so come before all others. */
void mpi_explain(struct process_snapshot *snapshot);
void mpi_settle(struct process_snapshot *snapshot);

/* Lets all of them at it. */
void decoders_explain(struct process_snapshot *snapshot);
void decoders_settle(struct process_snapshot *snapshot);
void decoders_lines(struct process_snapshot *snapshot, uint32_t thread);
