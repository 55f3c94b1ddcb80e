/* The stream of GET /api/v1/stream: server-sent events for the page, and for anybody who wants to
 * watch.
 *
 *     change    {"system":S,"from":A,"seq":B,"effects":[["+w",process,resource,units],..],
 *                "names":{"processes":{"ID":NAME},"resources":{"ID":{"name":NAME,"units":N}}}}
 *               what the events after A up to B did; +w -w waits, +h -h holds; ids, whose names
 *               come along; at most ten a second and system
 *     reset     {"system":S,"seq":B}   too much has changed, or something else than that: fetch the
 *               graph anew; at most one a second and system
 *     incident  as in GET /api/v1/incidents: it began, changed or ended
 *     systems   {}   a system came or went
 *     rates     once a second: {"at","events","deadlocks","waiting","p50_us","p99_us","systems":
 *               [{"name","events","deadlocks","waiting","deadlocked","processes","resources"},..]}
 *
 * Each change begins where the one before it ended, unless something was left out and a reset
 * follows. Changes that are due are sent before a graph is answered, so that its "seq" is always
 * the "from" of the next change: a client applies those whose "from" is not below its graph's
 * "seq", and fetches the graph anew when there is a gap.
 * A client that reads too slowly misses changes and gets a reset when it has caught up; one that
 * does not read at all is cut off.
 */
#pragma once

#include <gordian/gordian.h>

struct api;
struct http_connection;
struct served;
struct sse;

gordian_status sse_open(struct sse **out, struct api *api, gordian_error *error);
void sse_close(struct sse *sse); /* before the HTTP server is */

/* Turns the connection into a stream, of one system or of all (NULL) that fit the patterns. */
void sse_begin(struct sse *sse, struct http_connection *connection, const char *system,
               const char *patterns);
/* Ten times a second; `second`: one is over. */
void sse_tick(struct sse *sse, bool second);
/* What was told may leave: the records up to this one are kept. */
void sse_release(struct sse *sse, uint64_t committed);
/* Sends what has changed in this system now. */
void sse_flush(struct sse *sse, const struct served *served);
