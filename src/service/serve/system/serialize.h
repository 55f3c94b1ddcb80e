/*
 * Serializes and deserializes a served system, for snapshots. The serialized state holds all that
 * decides about later results: ids with the order in which free ones are reused, names, units,
 * holds, waiting requests in order of arrival, priorities, costs, order of creation, claims, the
 * queue of a bank with its counts, owners, times and counters. (The service saves sessions, the
 * lists of their processes, and open incidents.)
 *
 * The format is varints in a fixed order after a version (foundation/base/bytes.h), the same on
 * every machine. Deserializing checks everything: damaged bytes give GORDIAN_STATUS_INPUT, never a
 * broken system. It reports nothing: existing deadlocks stay, and are not reported again.
 */
#pragma once

#include "foundation/base/bytes.h"

#include <gordian/gordian.h>

struct served;

/* Appends the serialized state of a served system, with its name and configuration. */
gordian_status served_serialize(const struct served *served, struct bytes *bytes,
                                gordian_error *error);
/* Opens a served system from its serialized state of `length` bytes. On failure *out is NULL. If
 * the configured engine is not available here now, the default one replaces it. */
gordian_status served_deserialize(struct served **out, const void *image, size_t length,
                                  const gordian_allocator *allocator, gordian_error *error);
