/* Findings of a training job (output/finding/finding.h), available after training_judge. */
#pragma once

#include "output/finding/finding.h"
#include "sources/collectives/training.h"

/* Passes each finding to `each`: faulty ranks, mismatches, cycles, stalled operations. Stops when
 * `each` returns false. */
void training_findings(const struct training *job,
                       bool (*each)(void *context, const struct finding *finding), void *context);
