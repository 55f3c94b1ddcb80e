/* What was found in a training job as findings (output/finding/finding.h), after training_judge. */
#pragma once

#include "output/finding/finding.h"
#include "sources/collectives/training.h"

/* Passes each finding to `each`: culprits, mismatches, cycles, operations that stall. Stops when
 * `each` returns false. */
void training_findings(const struct training *job,
                       bool (*each)(void *context, const struct finding *finding), void *context);
