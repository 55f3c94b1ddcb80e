/* The facts for the verdict (policy.h) as they are seen from inside: what the threads of a part
 * wait for, which handlers are installed and let in, whether a timer is armed, what else could act.
 */
#ifndef GORDIAN_SOURCES_RUN_DOUBT_H
#define GORDIAN_SOURCES_RUN_DOUBT_H

#include "sources/run/policy.h"
#include "sources/run/view.h"

struct policy doubt_part(struct view *view, const gordian_part *part);
struct policy doubt_gone(struct view *view, const struct look *look);

#endif
