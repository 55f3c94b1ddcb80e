/* A finding from what the engines say of a system or a snapshot: gordian detect, gordian check. */
#pragma once

#include "output/finding/finding.h"
#include "output/show/graph.h"

/* Opens it, whatever comes: finding_close. The names must outlive it. False: out of memory. */
bool finding_from_witness(struct finding *finding, const char *source, uint64_t number,
                          const struct labels *labels, const gordian_witness *witness);
