/* Exports the state of a system: as a trace that every command can read, and as JSON. */
#pragma once

#include "foundation/base/io/output.h"
#include "service/serve/core/service.h"

/* Writes resources, processes, holds, and waits in order of arrival; labels are comments. `label`:
 * only processes with this label, and all resources; NULL: all. */
gordian_status state_trace(struct served *served, const char *label, struct output *out,
                           gordian_error *error);
/* Writes the members of a graph as HTTP shows it, without its limits, into an open object. */
gordian_status state_json(const struct service *service, struct served *served, const char *label,
                          struct json *json, gordian_error *error);
