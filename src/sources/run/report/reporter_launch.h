/* Starting the reporter. */
#ifndef GORDIAN_SOURCES_RUN_REPORT_REPORTER_LAUNCH_H
#define GORDIAN_SOURCES_RUN_REPORT_REPORTER_LAUNCH_H

#include "sources/run/report/notice.h"

/* Hands the incident over and waits for the answer, a bounded time; closes the file. Where there is
 * no reporter, or it fails, the library reports by itself. */
enum incident_answer launch_report(struct notice *notice);

#endif
