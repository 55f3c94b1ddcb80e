/* Is what was found proved, or only likely? The waits are what they are; the question is whether
 * somebody could end them who is no part of it: a signal handler, another process in this memory, a
 * thread that gives back what others took. */
#ifndef GORDIAN_RUN_DOUBT_H
#define GORDIAN_RUN_DOUBT_H

#include "run/view.h"

/* Some programs wait like that when there is nothing to do: say nothing. `patient`: the thread that
 * asks can look again later. */
bool doubt_is_idle(const struct view *view, const gordian_part *part, bool patient);

/* Why it is only likely, in one sentence; NULL: it is proved. */
const char *doubt_part(struct view *view, const gordian_part *part);
const char *doubt_gone(struct view *view, const struct look *look);

#endif
