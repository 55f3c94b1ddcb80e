/* The facts for the verdict (sources/run/judge/verdict_policy.h) as they are seen from outside. */
#pragma once

#include "sources/inspect/snapshot/process_snapshot.h"
#include "sources/run/judge/verdict_policy.h"

/* What is judged: threads that wait for each other, or one for a lock whose owner has ended. */
struct facts_about {
    enum policy_argument argument;
    bool evidence;           /* some holds are known by evidence only */
    bool others_run;         /* a thread of these processes is not stuck */
    bool gate;               /* a lock in it may be used as a signal */
    const uint32_t *threads; /* of the snapshot */
    size_t count;
    const bool *held; /* for each: the holder of what it waits for is known */
};

struct policy_facts facts_gather(struct process_snapshot *snapshot,
                                 const struct facts_about *about);

/* Signals, bit n-1, for which the program itself has a handler that could run. A core does not
 * tell. */
uint64_t facts_handlers(const struct target *target);

/* Asks the processes of which the policy wanted to know more (`wants_asking`): a thread of each is
 * stopped for that. True: some were asked, so their threads have moved, and a further look is due.
 */
bool facts_ask(struct process_snapshot *snapshot);
