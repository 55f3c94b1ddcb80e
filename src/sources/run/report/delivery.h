/* What is done for a finding. */
#ifndef GORDIAN_SOURCES_RUN_REPORT_DELIVERY_H
#define GORDIAN_SOURCES_RUN_REPORT_DELIVERY_H

#include "sources/run/report/notice.h"

/* Starts the reporter and does what is to be done then. True: the call shall answer EDEADLK. Does
 * not come back where the program is to end. */
bool notice_deliver(struct thread *t, struct notice *notice);

#endif
