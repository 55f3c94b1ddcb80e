/* The reporter: makes a raw incident (foundation/records/incident.h) readable.
 *
 *     report_open     checks the incident, names threads and locks, symbolizes stacks
 *     report_finding  converts it to a finding (output/finding/finding.h), which all writers print
 *     report_text     prints it as text; a summary has only that form
 *     report_trace    writes a trace that `gordian detect` replays to the same verdict
 *
 * An incident is untrusted: it was written by a failing process. read.c checks every index once
 * and drops elements that are out of bounds. */
#pragma once

#include "foundation/base/io/output.h"
#include "foundation/records/incident.h"
#include "output/finding/finding.h"
#include "output/report/symbol/symbol.h"
#include "output/show/style.h"

#include <gordian/gordian.h>

struct report_thread {
    struct incident_thread raw;
    const char *name;  /* unique in this report: "worker", "philosopher-4713" */
    const char *comm;  /* name in the system */
    const char *entry; /* the function that it started with; NULL: unknown */
    const char *doing; /* what it does if it waits for no lock, or "" */
    struct stack stack;
    struct stack created;
};

struct report_lock {
    struct incident_lock raw;
    const char *name;  /* unique in this report: "accounts[3].lock", "mutex-2" */
    const char *place; /* its location: "in the heap", "a variable of bank" */
    struct stack initialised;
};

struct report_edge {
    struct incident_edge raw;
    const char *evidence; /* how the edge was determined, or "" */
    struct stack site;
};

struct report_order {
    struct incident_order raw;
    struct stack held, taken;
};

struct report_process {
    struct incident_process raw;
    const char *program;
    struct symbols *symbols; /* NULL: none */
    bool borrowed;           /* another owner closes the symbols */
};

struct report {
    const char *data; /* the incident as read */
    size_t size;
    struct incident head;
    const char *program; /* path */
    const char *engine, *note;
    const char *source; /* "run" or "inspect": what found it */
    struct report_thread *threads;
    struct report_lock *locks;
    struct report_edge *edges;
    struct report_order *orders;
    struct incident_fold *folds;
    struct report_process *processes; /* at least one */
    struct incident_text_frame *text_frames;
    size_t thread_count, lock_count, edge_count, order_count, fold_count, process_count;
    size_t text_frame_count;
    size_t witness_count; /* number of witness edges; they come first */
    bool cycle;           /* the witness edges form a cycle */
    bool out_of_memory;   /* something is missing because memory ran out */
    struct arena arena;   /* lives as long as the report */
};

/* Reads all of `fd`. GORDIAN_STATUS_INPUT: it is not an incident. */
gordian_status report_open(struct report *report, int fd, gordian_error *error);
/* The same with open symbols, one per process in the order of the incident (NULL: none). They must
 * outlive the report. */
gordian_status report_open_with(struct report *report, int fd, struct symbols *const *symbols,
                                size_t count, gordian_error *error);
void report_close(struct report *report);

/* text.c. `ordinal`: its number in this run, as in "deadlock 2"; 0: not counted. */
void report_text(const struct report *report, const struct finding_look *look, unsigned ordinal,
                 struct output *out);
/* Converts the report to a finding, which borrows its texts. Close it in any case. */
void report_finding(struct finding *finding, const struct report *report, unsigned ordinal);
/* Writes a trace. False: the incident has no holds and waits to replay. */
bool report_trace(const struct report *report, struct output *out);
/* Is there a witness wait without a holder in the witness? Then the proof is that no thread is left
 * that could release it. */
bool report_has_open_wait(const struct report *report);
/* Does the witness wait for one condition, or for semaphores, that no remaining thread can
 * signal? */
bool report_is_unsignalled(const struct report *report);

/* ------------------------------------------------------------------ shared by the writers */

/* Returns "deadlock", "potential", "stall", ...: for hooks and suppressions. */
const char *report_kind(const struct report *report);
/* Returns "proved", "likely" or "unknown"; NULL for a finding of the library. */
const char *report_verdict_text(const struct report *report);
/* Writes the title: "2 threads of bank wait for each other and can never go on". */
void report_title(const struct report *report, char *text, size_t size);
/* Words for a kind of lock: "spin lock"; the name of a nameless one, "spinlock"; and its relation
 * to its holders, such as "not reached by" (NULL: "held by"). */
struct lock_words {
    const char *kind, *name, *holding;
};
const struct lock_words *lock_words(const struct incident_lock *lock);
/* Writes "recursive mutex", "rwlock", "counting semaphore". */
const char *lock_kind(const struct incident_lock *lock, char *text, size_t size);
/* Returns the relation of a lock to its holders: "held by", "could be signalled by", ... */
const char *holder_relation(const struct report *report, uint32_t lock);
/* Returns the advice as paragraphs, or NULL. */
const char *report_advice(const struct report *report);
/* Allocates memory that lives as long as the report. Out of memory: returns NULL and sets
 * `out_of_memory`. */
void *report_alloc(struct report *report, size_t size);
const char *report_format(struct report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ------------------------------------------------------------------ steps of report_open */

/* read.c: reads and checks the sections of the incident. */
gordian_status report_read(struct report *report, int fd, gordian_error *error);
/* Returns a string of the incident, checked; "" if it is missing. */
const char *report_string(const struct report *report, uint32_t offset);
/* Returns a list of frames; sets the count to 0 if it is missing. */
const uint64_t *report_words(const struct report *report, uint32_t first, uint32_t *count);
/* stack.c: symbolizes every stack. */
void report_stacks(struct report *report);
/* names.c: names threads and locks. Needs the stacks. */
void report_names(struct report *report);
