/* Training jobs that hang: dumps of PyTorch's flight recorder, one of each rank, and who is to
 * blame. Read this first.
 *
 * A *rank* is a process with a GPU. Ranks form *groups*; the operations of a group have sequence
 * numbers, run in order, and complete when every member has come. A dump tells which operations a
 * rank has queued and how far each is: scheduled, started or completed. What is queued and not
 * completed is *in flight*.
 *
 *     files ─> values (pickle.h, foundation/base/json/json_read.h) ─> ranks of a job (dump.c,
 * training.h) ─> meetings: who is in an operation, who is missing (meet.c) ─> faults: absent,
 * silent, stuck, mismatched (blame.c) ─> waits, judged by libgordian's engine: cycles (judge.c) ─>
 * text, JSON, pictures, a snapshot (tell.c, tell_json.c, tell_svg.c, tell_trace.c)
 *
 * A *meeting* is an operation that is in flight somewhere. Its *late* ones are those whom the
 * others wait for: members that have not queued it, or have something older in flight before it. A
 * rank goes on when any of its meetings does, as far as we know: which of them it needs first the
 * dumps do not tell. So the waits are of the kind "any", and what the engine calls deadlocked is
 * deadlocked whatever the order was. Sends are no meetings unless the other side's receive is
 * queued behind a send of its own: a send holds nobody up whose message is not taken yet.
 *
 * Who is waited for and waits for nobody is to blame; the rest waits behind. */
#pragma once

#include "foundation/base/io/output.h"
#include "output/show/style.h"

#include <gordian/gordian.h>

struct training;

/* Ranks are below this. */
#define COLLECTIVES_RANKS_MOST (1u << 20)

gordian_status training_open(struct training **out, gordian_error *error);
void training_close(struct training *job); /* NULL is fine */

struct dump_file {
    const char *path;
    uint32_t rank; /* GORDIAN_NONE: its name has none, so it cannot be read */
};

/* The rank in a file's name: the number behind "rank" ("nccl_trace_rank_12", "rank3_host1.json"),
 * or the one that it ends in ("_dump_7.json"); GORDIAN_NONE: none. */
uint32_t training_rank_of(const char *path);

/* Reads dumps by as many threads as `threads` (0: one for every core). A dump that cannot be read
 * leaves its rank silent, and the reason is reported. GORDIAN_STATUS_INPUT: two dumps of one rank.
 */
gordian_status training_read(struct training *job, const struct dump_file *files, size_t count,
                             unsigned threads, gordian_error *error);
/* One dump from memory, pickle or JSON; a NUL must follow the bytes. */
gordian_status training_take(struct training *job, uint32_t rank, const char *bytes, size_t size,
                             gordian_error *error);

/* ------------------------------------------------------------------ the verdict */

enum blame {
    BLAME_NONE,
    BLAME_ABSENT,   /* never came to an operation that others are in, and waits for nobody */
    BLAME_SILENT,   /* left no dump, or one that cannot be read */
    BLAME_STUCK,    /* its device has not completed, or not begun, what its peers have */
    BLAME_MISMATCH, /* came with another operation, size or type than the others */
};

const char *blame_text(enum blame blame); /* "absent", ... */

struct verdict {
    size_t rank_count;        /* of the job */
    size_t dump_count;        /* that were read */
    const uint32_t *culprits; /* ranks, ascending */
    size_t culprit_count;
    size_t mismatch_count;
    size_t cycle_count;
    size_t stalled_count;   /* operations to which all have come and which do not complete */
    size_t waiting_count;   /* ranks that only wait behind */
    size_t unread_count;    /* dumps and other files that could not be read */
    size_t unseen_count;    /* ranks of the job without a dump */
    size_t unjudged_count;  /* groups whose operations in flight could not be compared */
    size_t undecided_count; /* ranks whose dumps do not tell whether they wait */
};

/* Was something not seen, so that "nothing was found" is not "nothing is there"? */
bool verdict_is_incomplete(const struct verdict *verdict);

/* Judges what was read. */
gordian_status training_judge(struct training *job, struct verdict *verdict, gordian_error *error);
/* Of what a rank is to blame; after training_judge. */
enum blame training_blame(const struct training *job, uint32_t rank);

/* ------------------------------------------------------------------ telling, after training_judge
 */

/* For a person. `quiet`: what was found, and nothing if nothing was. */
void training_text(const struct training *job, struct output *out, const struct style *style,
                   bool verbose, bool quiet);
void training_json(const struct training *job, struct output *out);
void training_svg(const struct training *job, struct output *out);
void training_dot(const struct training *job, struct output *out);
/* The waits as a snapshot that `gordian check` reads. */
void training_trace(const struct training *job, struct output *out);
