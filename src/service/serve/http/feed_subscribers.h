/* GET /api/v1/systems/NAME/feed[?from=N]: every event of a system, none left out, as server-sent
 * events whose ids are the events' numbers:
 *
 *     event  {"seq","at","op","process","result","effects":[["+w",PROCESS,RESOURCE,UNITS],..]}
 *     gap    {"from","seq"}  these were not kept any more: fetch the graph, and go on
 *     other  {"seq"}         names, units or claims have changed behind this event
 *
 * It goes on after number `from`, or after the one a client that comes back names (Last-Event-ID),
 * as far as the ring of what happened last has it: some ten thousand events. Nothing is told before
 * it is kept. Who reads slowly is not cut off, and falls behind. */
#pragma once

#include <gordian/gordian.h>

struct api;
struct followers;

gordian_status followers_open(struct followers **out, struct api *api, gordian_error *error);
void followers_close(struct followers *followers); /* before the HTTP server is */
/* At the end of a turn: what is kept now, a piece of it. */
void followers_tell(struct followers *followers);
