/* Collects the facts for the verdict (sources/run/judge/verdict_policy.h) from outside. */
#pragma once

#include "sources/inspect/snapshot/process_snapshot.h"
#include "sources/run/judge/verdict_policy.h"

/* The subject of a judgement: threads that wait for each other, or a thread that waits for a lock
 * whose owner has ended. */
struct facts_about {
    enum policy_argument argument;
    bool evidence;           /* some holds rest on evidence only */
    bool others_run;         /* a thread of these processes is not stuck */
    bool gate;               /* a lock in it may be used as a signal */
    const uint32_t *threads; /* indexes in the snapshot */
    size_t count;
    const bool *held; /* for each thread: the holder of its lock is known */
};

struct policy_facts facts_gather(struct process_snapshot *snapshot,
                                 const struct facts_about *about);

/* Returns the signals, bit n-1, for which the program has a handler that could run. A core does not
 * show them. */
uint64_t facts_handlers(const struct target *target);

/* Makes remote calls in processes about which the policy needs to know more (`wants_asking`), for
 * which a thread of each is stopped. True: calls were made, so threads have moved and another
 * snapshot is necessary. */
bool facts_ask(struct process_snapshot *snapshot);
