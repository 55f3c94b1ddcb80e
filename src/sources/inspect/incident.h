/* Converts a finding, or all threads, to an incident (foundation/records/incident.h) for the
 * reporter. */
#pragma once

#include "sources/inspect/judge/judge.h"

#include "output/report/report.h"

/* Opens the report of a finding; NULL: the status of all threads. The snapshot must outlive the
 * report, which uses its symbols. Stops threads for their stacks, if the snapshot permits. */
gordian_status inspect_open_report(struct report *report, struct process_snapshot *snapshot,
                                   const struct inspect_findings *findings,
                                   const struct inspect_finding *finding, gordian_error *error);
