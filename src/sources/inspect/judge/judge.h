/* Finds deadlocks in a process snapshot, with libgordian's engine on the wait-for graph. Every
 * thread that sleeps without a time limit is a process of the graph, every lock a resource. A
 * thread that runs, has moved, or waits with a time limit holds nothing, since it can release its
 * locks. The judgement is made twice: with proved holds only, then also with likely ones.
 *
 * Waits that any thread could end (a condition, a semaphore, a futex word of unknown use) count
 * only if the process hangs as a whole: every thread of it sleeps without a time limit, in a wait
 * that only a thread of the process can end. Then no thread is left that could act. The policy
 * (sources/run/judge/verdict_policy.h) decides from the facts (facts.h) whether this is a finding,
 * and how certain it is.
 */
#pragma once

#include "sources/inspect/snapshot/process_snapshot.h"

struct inspect_finding {
    enum word word;  /* WORD_PROVED or WORD_LIKELY */
    uint32_t kind;   /* INCIDENT_DEADLOCK or INCIDENT_OWNER_GONE */
    bool cycle;      /* the edges form a cycle, in order: wait, hold, wait, ... */
    uint32_t *edges; /* of the snapshot: the proof */
    size_t edge_count, edge_room;
    uint32_t *members; /* threads */
    size_t member_count, member_room;
    uint32_t *behind; /* threads that are blocked behind it */
    size_t behind_count, behind_room;
    bool ends; /* `gordian run` may end the program for it: sources/run/judge/verdict_policy.h */
    const char *note; /* the argument as a sentence; valid until the next snapshot */
};

struct inspect_findings {
    struct inspect_finding *list;
    size_t count, room;
    const char *engine; /* name of the engine; NULL: there were no waiters */
    gordian_allocator memory;
};

void findings_open(struct inspect_findings *findings);
void findings_clear(struct inspect_findings *findings);
void findings_close(struct inspect_findings *findings);

/* Drops likely findings with a member that is not steady any more. */
void findings_acquit(struct inspect_findings *findings, const struct process_snapshot *snapshot);

/* Appends the findings. May add edges to the snapshot (threads that could have ended a wait). */
gordian_status judge_snapshot(struct process_snapshot *snapshot, struct inspect_findings *findings,
                              gordian_error *error);
