/* The facts for the verdict (verdict_policy.h) as they are seen from inside: what the threads of a
 * part wait for, which handlers are installed and let in, whether a timer is armed, what else could
 * act.
 */
#ifndef GORDIAN_SOURCES_RUN_JUDGE_VERDICT_FACTS_H
#define GORDIAN_SOURCES_RUN_JUDGE_VERDICT_FACTS_H

#include "sources/run/graph/wait_snapshot.h"
#include "sources/run/judge/verdict_policy.h"

struct policy doubt_part(struct view *view, const gordian_part *part);
struct policy doubt_gone(struct view *view, const struct look *look);

#endif
