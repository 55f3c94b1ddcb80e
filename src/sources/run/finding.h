/* What is done for a finding. */
#ifndef GORDIAN_SOURCES_RUN_FINDING_H
#define GORDIAN_SOURCES_RUN_FINDING_H

#include "sources/run/notice.h"

/* Starts the reporter and does what is to be done then. True: the call shall answer EDEADLK. Does
 * not come back where the program is to end. */
bool finding_tell(struct thread *t, struct notice *notice);

#endif
