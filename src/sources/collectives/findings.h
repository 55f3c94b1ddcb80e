/* What was found in a training job as findings (output/finding/finding.h). Each function opens its
 * finding, which is to be closed whatever comes. */
#pragma once

#include "output/finding/finding.h"
#include "sources/collectives/tell.h"

/* Ranks that are to blame for the same; not of a mismatch. */
void charge_finding(struct finding *finding, const struct training *job,
                    const struct charge *charge);
void mismatch_finding(struct finding *finding, const struct training *job,
                      const struct mismatch *mismatch);
void cycle_finding(struct finding *finding, const struct training *job, const struct cycle *cycle);
/* An operation to which all have come. */
void stalled_finding(struct finding *finding, const struct training *job, uint32_t meeting);
