/* Makes a finding from a witness of the engines: for gordian detect, gordian check and
 * incidents. */
#pragma once

#include "output/finding/finding.h"
#include "output/show/graph.h"

/* Opens the finding in any case; close it with finding_close. The names must outlive it. False: out
 * of memory. */
bool finding_from_witness(struct finding *finding, const char *source, uint64_t number,
                          const struct labels *labels, const gordian_witness *witness);
