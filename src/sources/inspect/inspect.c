#include "sources/inspect/inspect.h"

#include "foundation/base/error.h"
#include "sources/inspect/decoders/decoder.h"
#include "sources/inspect/judge/facts.h"

#include <time.h>

#define LASTING_NS 100000000

/* Makes the first listing, and runs the decoders. */
static gordian_status explain_snapshot(struct process_snapshot *snapshot, gordian_error *error)
{
    TRY(snapshot_begin(snapshot, error));
    decoders_explain(snapshot);
    return snapshot->failed ? fail_memory(error) : GORDIAN_OK;
}

/* Makes the second listing. */
static gordian_status settle_snapshot(struct process_snapshot *snapshot, gordian_error *error)
{
    TRY(snapshot_settle(snapshot, error));
    decoders_settle(snapshot);
    return GORDIAN_OK;
}

/* Likely findings must last: a finding with a member that moves is dropped. */
static gordian_status await_likely(struct process_snapshot *snapshot,
                                   struct inspect_findings *findings, gordian_error *error)
{
    bool any = false, live = false;
    for (size_t i = 0; i < findings->count; i++)
        any = any || findings->list[i].word == WORD_LIKELY;
    for (size_t i = 0; i < snapshot_target_count(snapshot); i++)
        live = live || !snapshot_target(snapshot, i)->core;
    if (!any || !live)
        return GORDIAN_OK;
    nanosleep(&(struct timespec){0, LASTING_NS}, NULL);
    TRY(settle_snapshot(snapshot, error));
    findings_acquit(findings, snapshot);
    return GORDIAN_OK;
}

/* Judges the snapshot. If the verdict depends on remote calls, makes them in the processes of the
 * findings, and then judges a new snapshot. */
static gordian_status judge_asking(struct process_snapshot *snapshot,
                                   struct inspect_findings *findings, gordian_error *error)
{
    for (size_t i = 0; i < snapshot_target_count(snapshot); i++)
        snapshot_target(snapshot, i)->wants_asking = false;
    gordian_status status = judge_snapshot(snapshot, findings, error);
    if (status != GORDIAN_OK || !facts_ask(snapshot))
        return status;
    findings_clear(findings);
    status = explain_snapshot(snapshot, error);
    THEN(status, settle_snapshot(snapshot, error));
    return status == GORDIAN_OK ? judge_snapshot(snapshot, findings, error) : status;
}

gordian_status inspect_find_deadlocks(struct process_snapshot *snapshot,
                                      struct inspect_findings *findings, gordian_error *error)
{
    findings_clear(findings);
    gordian_status status = explain_snapshot(snapshot, error);
    /* A stop counts as a context switch, so take a new snapshot after it. */
    if (status == GORDIAN_OK && snapshot_fetch_registers(snapshot))
        status = explain_snapshot(snapshot, error);
    THEN(status, settle_snapshot(snapshot, error));
    THEN(status, judge_asking(snapshot, findings, error));
    return status == GORDIAN_OK ? await_likely(snapshot, findings, error) : status;
}
