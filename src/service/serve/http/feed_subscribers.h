/* GET /api/v1/systems/NAME/feed[?from=N]: every event of a system, as server-sent events whose ids
 * are the numbers of the events:
 *
 *     event  {"seq","at","op","process","result","effects":[["+w",PROCESS,RESOURCE,UNITS],..]}
 *     gap    {"from","seq"}  these events are no longer kept: fetch the graph, and continue
 *     other  {"seq"}         names, units or claims have changed after this event
 *
 * It continues after number `from`, or after Last-Event-ID of a reconnecting client, if the ring of
 * recent events still has it (some ten thousand events). Only committed events are sent. A slow
 * reader is not disconnected; it falls behind.
 */
#pragma once

#include <gordian/gordian.h>

struct api;
struct followers;

gordian_status subscribers_open(struct followers **out, struct api *api, gordian_error *error);
void subscribers_close(struct followers *followers); /* call it before the HTTP server is closed */
/* At the end of an iteration: sends a slice of what is committed. */
void subscribers_send(struct followers *followers);
