/* Serializes and deserializes a system. It keeps the ids (also the order in which free ids are used
 * again), names, units, holdings, waiting requests in order of arrival, order of birth, priorities
 * and costs. The state of an engine is not saved: the engine reads the graph again. */
#pragma once

#include "foundation/base/bytes.h"

/* Appends the serialized system. Check bytes->failed afterwards. */
void system_serialize(const gordian_system *system, struct bytes *bytes);
/* Fills a system that was just opened. GORDIAN_STATUS_INPUT: these bytes are no serialized system.
 * After a failure the system can only be closed. */
gordian_status system_deserialize(gordian_system *system, struct bytes_in *in,
                                  gordian_error *error);
