/* What is done for a finding. */
#pragma once

#include "sources/run/report/notice.h"

/* Starts the reporter and does what is to be done then. True: the call shall answer EDEADLK. Does
 * not come back where the program is to end. */
bool notice_deliver(struct thread *t, struct notice *notice);
