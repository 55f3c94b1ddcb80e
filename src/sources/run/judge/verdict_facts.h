/* The facts for the verdict (verdict_policy.h) as they are seen from inside: what the threads of a
 * part wait for, which handlers are installed and let in, whether a timer is armed, what else could
 * act.
 */
#pragma once

#include "sources/run/graph/wait_snapshot.h"
#include "sources/run/judge/verdict_policy.h"

struct policy verdict_of_part(struct wait_snapshot *view, const gordian_part *part);
struct policy verdict_of_gone(struct wait_snapshot *view, const struct observed_wait *look);
