/* All of a system's state, for those who look at it elsewhere: as a trace that every command which
 * reads one reads, and as JSON. */
#pragma once

#include "foundation/base/io/output.h"
#include "service/serve/core/service.h"

/* Resources, processes, who holds and who waits for what, in the order of arrival; labels are
 * comments. `label`: of the processes only those that have it, and all resources; NULL: all. */
gordian_status state_trace(struct served *served, const char *label, struct output *out,
                           gordian_error *error);
/* The members that a graph has over HTTP, into an object that is open; without its limits. */
gordian_status state_json(const struct service *service, struct served *served, const char *label,
                          struct json *json, gordian_error *error);
