/* Converts a deadlock, or a lock of an ended owner, to an incident. */
#pragma once

#include "sources/run/graph/wait_snapshot.h"
#include "sources/run/judge/verdict_policy.h"
#include "sources/run/report/notice.h"

/* Each fills the notice. `t`: the thread that closed the deadlock, or NULL. `policy`: how certain
 * it is, and whether the program may be ended for it. Callers hold the judge's guard. */
void incident_of_deadlock(const struct wait_snapshot *view, const gordian_part *part,
                          struct thread *t, const struct policy *policy, struct notice *notice);
void incident_of_ended_owner(const struct wait_snapshot *view, struct thread *t,
                             const struct policy *policy, struct notice *notice);

/* Returns whether this deadlock was reported before. */
bool is_known_deadlock(const struct wait_snapshot *view, const gordian_part *part);
