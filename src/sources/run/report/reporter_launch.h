/* Starting the reporter. */
#pragma once

#include "sources/run/report/notice.h"

/* Hands the incident over and waits for the answer, a bounded time; closes the file. Where there is
 * no reporter, or it fails, the library reports by itself. */
enum incident_answer launch_report(struct notice *notice);
