/* Analyzes training jobs that hang, from dumps of PyTorch's flight recorder, one for each rank.
 * Read this first.
 *
 * A *rank* is a process with a GPU. Ranks form *groups*. The operations of a group have sequence
 * numbers, run in order, and complete when every member has arrived. A dump lists the operations
 * that a rank has queued, with their states: scheduled, started or completed. An operation that is
 * queued and not completed is *in flight*.
 *
 *    files
 *      ─> values                       pickle.h (pickle parser), foundation/base/json/json_read.h
 *      ─> ranks of a job               dump.c, training.h
 *      ─> rendezvous: members present and missing          rendezvous.c
 *      ─> faults: absent, silent, stuck, mismatch          culprits.c
 *      ─> wait-for graph and cycles, by libgordian's engine    cycles.c
 *      ─> reports                      findings.c, report_text.c, report_json.c
 *
 * A *rendezvous* (struct rendezvous) is an operation that is in flight on some rank. Its *late*
 * members are the members that the others wait for: they have not queued the operation, or have an
 * older operation in flight. The dumps do not show which rendezvous a rank needs first, so a rank
 * counts as able to proceed when any of its rendezvous does. So each wait is of the kind "any", and
 * a rank that the engine calls deadlocked is deadlocked in any order. A send is not a rendezvous,
 * unless the receive is queued behind a send of the receiver: a sender does not have to wait until
 * its message is received.
 *
 * A rank that others wait for, and that waits for no other rank, is at fault. The other ranks are
 * blocked behind it. */
#pragma once

#include "foundation/base/io/output.h"
#include "output/show/style.h"

#include <gordian/gordian.h>

struct training;

/* upper limit of rank numbers */
#define COLLECTIVES_RANKS_MOST (1u << 20)

gordian_status training_open(struct training **out, gordian_error *error);
void training_close(struct training *job); /* NULL is allowed */

struct dump_file {
    const char *path;
    uint32_t rank; /* GORDIAN_NONE: the file's name contains no rank, so the file cannot be read */
};

/* Returns the rank in a file's name: the number after "rank" ("nccl_trace_rank_12",
 * "rank3_host1.json"), or the number at the end ("_dump_7.json"). GORDIAN_NONE: there is none. */
uint32_t training_rank_of(const char *path);

/* Reads dumps with this many threads (0: one for each core). If a dump cannot be read, its rank is
 * silent and the reason is reported. Returns GORDIAN_STATUS_INPUT if there are two dumps of one
 * rank. */
gordian_status training_read(struct training *job, const struct dump_file *files, size_t count,
                             unsigned threads, gordian_error *error);
/* Reads one dump from memory, pickle or JSON. A NUL must follow the bytes. */
gordian_status training_take(struct training *job, uint32_t rank, const char *bytes, size_t size,
                             gordian_error *error);

/* ------------------------------------------------------------------ the verdict */

enum blame {
    BLAME_NONE,
    BLAME_ABSENT,   /* never reached an operation that others are in, and waits for no rank */
    BLAME_SILENT,   /* left no dump, or one that cannot be read */
    BLAME_STUCK,    /* its device has not completed, or not begun, what its peers have */
    BLAME_MISMATCH, /* called another operation, or with another size or type, than the others */
};

const char *blame_text(enum blame blame); /* "absent", ... */

struct verdict {
    size_t rank_count;        /* of the job */
    size_t dump_count;        /* dumps that were read */
    const uint32_t *culprits; /* ranks, ascending */
    size_t culprit_count;
    size_t mismatch_count;
    size_t cycle_count;
    size_t stalled_count;   /* operations that all members have reached and that do not complete */
    size_t waiting_count;   /* ranks that are only blocked behind others */
    size_t unread_count;    /* dumps and other files that could not be read */
    size_t unseen_count;    /* ranks of the job without a dump */
    size_t unjudged_count;  /* groups whose operations in flight cannot be compared */
    size_t undecided_count; /* ranks whose dumps do not show whether they wait */
};

/* Is information missing, so that a result without findings does not mean that the job is
 * healthy? */
bool verdict_is_incomplete(const struct verdict *verdict);

/* Analyzes the dumps that were read. */
gordian_status training_judge(struct training *job, struct verdict *verdict, gordian_error *error);
/* Returns the fault of a rank. Call training_judge first. */
enum blame training_blame(const struct training *job, uint32_t rank);

/* ------------------------------------------------------------------ reports; call training_judge
 * first */

/* Writes a report for people. `quiet`: only findings. */
void training_text(const struct training *job, struct output *out, const struct style *style,
                   bool verbose, bool quiet);
void training_json(const struct training *job, struct output *out);
void training_svg(const struct training *job, struct output *out);
void training_dot(const struct training *job, struct output *out);
/* Writes the wait-for graph as a snapshot that `gordian check` reads. */
void training_trace(const struct training *job, struct output *out);
