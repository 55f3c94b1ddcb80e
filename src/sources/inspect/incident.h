/* A finding, or all that was seen, as an incident (foundation/records/incident.h) for the reporter.
 */
#pragma once

#include "sources/inspect/judge/judge.h"

#include "output/report/report.h"

/* The report of a finding; NULL: of every thread, a status. The sight must outlive it: it lends its
 * symbols. Stops threads for their stacks, as the snapshot allows. */
gordian_status tell_open(struct report *report, struct process_snapshot *snapshot,
                         const struct inspect_findings *findings,
                         const struct inspect_finding *finding, gordian_error *error);
