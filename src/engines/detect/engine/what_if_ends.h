/*
 * What-if queries: judge requests without making them.
 *
 * Where every request waits for one unit, a resource is described by its *end*: the running process
 * that it leads to along holders and their waits, if there is exactly one. A request of p for a
 * unit of q that is not free would be doomed      q leads to no running process deadlock    q leads
 * to p and to no other running process blocked     otherwise All ends together take one backward
 * walk from the running processes, linear in the graph. In general systems the graph is reduced as
 * if the requester waited: what is free in the end is what its request could ever get.
 */
#pragma once

#include "engines/detect/engine/engine.h"

/* Sets ends[q] for every resource id: the one running process, NONE or DETECT_SEVERAL. Only for
 * models below the general one. */
gordian_status what_if_ends(const struct rag *graph, uint32_t *ends, gordian_error *error);
