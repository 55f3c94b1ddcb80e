/* The stream of GET /api/v1/stream: server-sent events for the page and other clients.
 *
 *     change    {"system":S,"from":A,"seq":B,"effects":[["+w",process,resource,units],..],
 *                "names":{"processes":{"ID":NAME},"resources":{"ID":{"name":NAME,"units":N}}}}
 *               the effects of the events after A up to B; +w -w waits, +h -h holds; ids with
 *               their names; at most ten a second per system
 *     reset     {"system":S,"seq":B}   too many or other changes: fetch the graph again; at most
 *               one a second per system
 *     incident  as in GET /api/v1/incidents: it began, changed or ended
 *     systems   {}   a system was opened or closed
 *     rates     once a second: {"at","events","deadlocks","waiting","p50_us","p99_us","systems":
 *               [{"name","events","deadlocks","waiting","deadlocked","processes","resources"},..]}
 *
 * Each change begins where the previous one ended, unless something was skipped and a reset
 * follows. Pending changes are sent before a graph response, so that its "seq" is always the "from"
 * of the next change. A client applies changes whose "from" is not below the "seq" of its graph,
 * and fetches the graph again when there is a gap. Back-pressure: a client that reads too slowly
 * misses changes and gets a reset when it has caught up. A client that does not read at all is
 * disconnected.
 */
#pragma once

#include <gordian/gordian.h>

struct api;
struct http_connection;
struct served;
struct sse;

gordian_status sse_open(struct sse **out, struct api *api, gordian_error *error);
void sse_close(struct sse *sse); /* call it before the HTTP server is closed */

/* Turns the connection into a stream of one system, or of all (NULL) that match the patterns. */
void sse_begin(struct sse *sse, struct http_connection *connection, const char *system,
               const char *patterns);
/* Ten times a second; `second`: once a second. */
void sse_tick(struct sse *sse, bool second);
/* Sends messages whose records are committed. */
void sse_release(struct sse *sse, uint64_t committed);
/* Sends the pending changes of this system. */
void sse_flush(struct sse *sse, const struct served *served);
