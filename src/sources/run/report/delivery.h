/* Delivers a finding. */
#pragma once

#include "sources/run/report/notice.h"

/* Starts the reporter, then acts on its answer. True: the call must fail with EDEADLK. Does not
 * return if the program must end. */
bool notice_deliver(struct thread *t, struct notice *notice);
