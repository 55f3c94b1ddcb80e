/* A deadlock, or an owner that is gone, made into an incident. */
#pragma once

#include "sources/run/graph/wait_snapshot.h"
#include "sources/run/judge/verdict_policy.h"
#include "sources/run/report/notice.h"

/* Each fills the notice. `t` is who closed it, or NULL. `policy`: how sure it is, and whether the
 * program may be ended for it. Callers have the judge's guard. */
void incident_of_deadlock(const struct wait_snapshot *view, const gordian_part *part,
                          struct thread *t, const struct policy *policy, struct notice *notice);
void incident_of_gone(const struct wait_snapshot *view, struct thread *t,
                      const struct policy *policy, struct notice *notice);

/* Was this very deadlock told before? */
bool is_known_deadlock(const struct wait_snapshot *view, const gordian_part *part);
