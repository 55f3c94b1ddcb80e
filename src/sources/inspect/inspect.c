#include "sources/inspect/inspect.h"

#include "foundation/base/error.h"
#include "sources/inspect/decoders/decoder.h"
#include "sources/inspect/judge/facts.h"

#include <time.h>

#define LASTING_NS 100000000

/* The first listing, and what the decoders make of it. */
static gordian_status explain_sight(struct sight *sight, gordian_error *error)
{
    TRY(sight_begin(sight, error));
    decoders_explain(sight);
    return sight->failed ? fail_memory(error) : GORDIAN_OK;
}

/* The second one. */
static gordian_status settle_sight(struct sight *sight, gordian_error *error)
{
    TRY(sight_settle(sight, error));
    decoders_settle(sight);
    return GORDIAN_OK;
}

/* What is only likely must at least last: members that move meanwhile acquit it. */
static gordian_status await_likely(struct sight *sight, struct inspect_findings *findings,
                                   gordian_error *error)
{
    bool any = false, live = false;
    for (size_t i = 0; i < findings->count; i++)
        any = any || findings->list[i].word == WORD_LIKELY;
    for (size_t i = 0; i < sight->target_count; i++)
        live = live || !sight->targets[i]->core;
    if (!any || !live)
        return GORDIAN_OK;
    nanosleep(&(struct timespec){0, LASTING_NS}, NULL);
    TRY(settle_sight(sight, error));
    findings_acquit(findings, sight);
    return GORDIAN_OK;
}

/* What the verdict depends on is asked, of the processes that are part of a finding; all is looked
 * at again behind it. */
static gordian_status judge_asking(struct sight *sight, struct inspect_findings *findings,
                                   gordian_error *error)
{
    for (size_t i = 0; i < sight->target_count; i++)
        sight->targets[i]->wants_asking = false;
    gordian_status status = judge_sight(sight, findings, error);
    if (status != GORDIAN_OK || !facts_ask(sight))
        return status;
    findings_clear(findings);
    status = explain_sight(sight, error);
    THEN(status, settle_sight(sight, error));
    return status == GORDIAN_OK ? judge_sight(sight, findings, error) : status;
}

gordian_status inspect_look(struct sight *sight, struct inspect_findings *findings,
                            gordian_error *error)
{
    findings_clear(findings);
    gordian_status status = explain_sight(sight, error);
    /* A stop counts as a switch: so all is looked at again behind it. */
    if (status == GORDIAN_OK && sight_fetch(sight))
        status = explain_sight(sight, error);
    THEN(status, settle_sight(sight, error));
    THEN(status, judge_asking(sight, findings, error));
    return status == GORDIAN_OK ? await_likely(sight, findings, error) : status;
}
