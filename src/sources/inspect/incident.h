/* Converts a finding, or all threads, to an incident (foundation/records/incident.h) for the
 * reporter. */
#pragma once

#include "sources/inspect/judge/judge.h"

#include "output/report/report.h"

/* Opens the report of a finding; if `finding` is NULL, the report shows the status of all threads.
 * The report uses the symbols of the snapshot, so the snapshot must outlive it. Stops threads to
 * read their stacks, if the snapshot permits that. */
gordian_status inspect_open_report(struct report *report, struct process_snapshot *snapshot,
                                   const struct inspect_findings *findings,
                                   const struct inspect_finding *finding, gordian_error *error);
