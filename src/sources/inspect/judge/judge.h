/* From the picture to findings. The verdict is libgordian's: everybody who sleeps without end is a
 * process of a snapshot, every lock a resource; whoever runs, moved, or waits with a time limit
 * holds nothing, since he can give back what he has. It is judged twice, once with proved holds
 * alone, then with likely ones, too.
 *
 * Waits that any thread could end (a condition, a semaphore, a word of unknown use) count only
 * where the whole process hangs: every thread of it sleeps without end in what only a thread of the
 * process can end. Then none is left to act. How sure a finding is, and whether it is one at all,
 * is decided by the policy (sources/run/judge/verdict_policy.h) from the facts (facts.h).
 */
#pragma once

#include "sources/inspect/snapshot/process_snapshot.h"

struct inspect_finding {
    enum word word;  /* WORD_PROVED or WORD_LIKELY */
    uint32_t kind;   /* INCIDENT_DEADLOCK or INCIDENT_OWNER_GONE */
    bool cycle;      /* the edges are one, in order: wait, hold, wait, ... */
    uint32_t *edges; /* of the snapshot: why */
    size_t edge_count, edge_room;
    uint32_t *members; /* threads */
    size_t member_count, member_room;
    uint32_t *behind; /* threads that can never go on either */
    size_t behind_count, behind_room;
    bool ends; /* `gordian run` may end the program for it: sources/run/judge/verdict_policy.h */
    const char *note; /* the argument, in a sentence; lives as long as the look */
};

struct inspect_findings {
    struct inspect_finding *list;
    size_t count, room;
    const char *engine; /* that judged; NULL: nobody waited */
    gordian_allocator memory;
};

void findings_open(struct inspect_findings *findings);
void findings_clear(struct inspect_findings *findings);
void findings_close(struct inspect_findings *findings);

/* Drops likely findings of which a member is not steady any more. */
void findings_acquit(struct inspect_findings *findings, const struct process_snapshot *snapshot);

/* Appends what is found; may add edges to the snapshot (who could have ended a wait). */
gordian_status judge_snapshot(struct process_snapshot *snapshot, struct inspect_findings *findings,
                              gordian_error *error);
