/* Collects the facts for the verdict (verdict_policy.h) from inside: the kinds of waits, installed
 * and unblocked handlers, timers, and what else could act. */
#pragma once

#include "sources/run/graph/wait_snapshot.h"
#include "sources/run/judge/verdict_policy.h"

struct policy verdict_of_part(struct wait_snapshot *view, const gordian_part *part);
struct policy verdict_of_ended_owner(struct wait_snapshot *view, const struct observed_wait *look);
