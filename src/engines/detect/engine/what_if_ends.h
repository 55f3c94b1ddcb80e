/*
 * What would deadlock? Requests judged without being made.
 *
 * Where every request waits for one unit, all there is to know about a resource is its *end*: the
 * running process it leads to along holders and their waits, if there is exactly one. A request of
 * p for a unit of q that is not free would be
 *     doomed      q leads to nobody who runs
 *     deadlock    q leads to p and to nobody else who runs
 *     blocked     otherwise
 * All ends together take one walk backwards from those who run, linear in the graph. In general
 * systems the graph is reduced as if the requester waited: whatever is free in the end is
 * what its request could ever get.
 */
#pragma once

#include "engines/detect/engine/engine.h"

/* ends[q] for every resource id: the one running process, NONE or DETECT_SEVERAL. Only for models
 * below the general one. */
gordian_status what_if_ends(const struct rag *graph, uint32_t *ends, gordian_error *error);
