/* Starts the reporter. */
#pragma once

#include "sources/run/report/notice.h"

/* Sends the incident and waits for the answer, for a limited time; closes the file. Without a
 * reporter, or if it fails, the library prints a report itself. */
enum incident_answer launch_report(struct notice *notice);
