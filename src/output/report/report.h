/* The reporter: turns a raw incident (foundation/records/incident.h) into something a person, a
 * program or `gordian detect` can read.
 *
 *     report_open     checks the incident, names threads and locks, makes stacks readable
 *     report_text     for a person: the drawn cycle, every thread with its stacks, what to do
 *     report_finding  a struct finding (output/finding/finding.h), which has all other writers
 *     report_trace    a trace that `gordian detect` replays to the same verdict
 *
 * An incident is untrusted: it was written by a process in trouble. Every index is checked
 * once, in read.c; what is out of bounds is dropped.
 */
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
    const char *comm;  /* as the system calls it */
    const char *entry; /* the function it was started with; NULL: unknown */
    const char *doing; /* what it does if it waits for no lock, or "" */
    struct stack stack;
    struct stack created;
};

struct report_lock {
    struct incident_lock raw;
    const char *name;  /* unique in this report: "accounts[3].lock", "mutex-2" */
    const char *place; /* where it is, for a sentence: "in the heap", "variable of bank" */
    struct stack initialised;
};

struct report_edge {
    struct incident_edge raw;
    const char *evidence; /* how it is known, or "" */
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
    bool borrowed;           /* the symbols are somebody else's */
};

struct report {
    const char *data; /* the incident as it was read */
    size_t size;
    struct incident head;
    const char *program; /* path */
    const char *engine, *note;
    const char *source; /* "run", or "inspect": who has looked */
    struct report_thread *threads;
    struct report_lock *locks;
    struct report_edge *edges;
    struct report_order *orders;
    struct incident_fold *folds;
    struct report_process *processes; /* one at least */
    struct incident_text_frame *text_frames;
    size_t thread_count, lock_count, edge_count, order_count, fold_count, process_count;
    size_t text_frame_count;
    size_t witness_count; /* the first so many edges */
    bool cycle;           /* and they really form one */
    bool out_of_memory;   /* something is missing for lack of it */
    struct arena arena;   /* lives as long as the report */
};

/* Reads the whole of `fd`. Fails with GORDIAN_STATUS_INPUT on what is no incident. */
gordian_status report_open(struct report *report, int fd, gordian_error *error);
/* The same with symbols that are open already, one a process in the incident's order (NULL: none);
 * they must outlive the report. */
gordian_status report_open_with(struct report *report, int fd, struct symbols *const *symbols,
                                size_t count, gordian_error *error);
void report_close(struct report *report);

/* text.c. `ordinal`: "deadlock 2" in this run; 0: not counted. */
void report_text(const struct report *report, const struct finding_look *look, unsigned ordinal,
                 struct output *out);
/* The report as a finding, which borrows its texts; to be closed whatever comes. */
void report_finding(struct finding *finding, const struct report *report, unsigned ordinal);
/* False: an incident without holds and waits has nothing to replay. */
bool report_trace(const struct report *report, struct output *out);
/* Does a wait of the witness have nobody in it who holds what is waited for? Then the argument is
 * that nobody is left. */
bool report_has_open_wait(const struct report *report);
/* Does the witness wait for one condition, or for semaphores, that no thread is left to signal? */
bool report_is_unsignalled(const struct report *report);

/* ------------------------------------------------------------------ shared by the writers */

/* "deadlock", "potential", "stall", ...: for hooks and suppressions. */
const char *report_kind(const struct report *report);
/* "proved", "likely", "unknown"; NULL for what the library found. */
const char *report_word(const struct report *report);
/* A line without its end: "2 threads of bank wait for each other and can never go on". */
void report_title(const struct report *report, char *text, size_t size);
/* What a lock is, "spin lock"; how one without a name is called, "spinlock"; and what its holder is
 * to it, "not reached by" (NULL: "held by"). */
struct lock_words {
    const char *kind, *name, *holding;
};
const struct lock_words *lock_words(const struct incident_lock *lock);
/* "recursive mutex", "rwlock", "counting semaphore". */
const char *lock_kind(const struct incident_lock *lock, char *text, size_t size);
/* What a holder is to what is waited for: "held by", "signal due from", ... */
const char *held_text(const struct report *report, uint32_t lock);
/* What to do about it: paragraphs, or NULL. */
const char *report_advice(const struct report *report);
/* Memory that lives as long as the report; NULL and `out_of_memory` set if there is none. */
void *report_alloc(struct report *report, size_t size);
const char *report_format(struct report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ------------------------------------------------------------------ parts of report_open */

/* read.c: the incident's sections, checked. */
gordian_status report_read(struct report *report, int fd, gordian_error *error);
/* The strings of an incident, checked: "" for what is not there. */
const char *report_string(const struct report *report, uint32_t offset);
/* A frame list; count 0 if it is not there. */
const uint64_t *report_words(const struct report *report, uint32_t first, uint32_t *count);
/* stack.c: every stack made readable. */
void report_stacks(struct report *report);
/* names.c: names for threads and locks. Needs the stacks. */
void report_names(struct report *report);
