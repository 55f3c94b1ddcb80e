/* Sends the observed sessions to a running `gordian serve` as a separate system, so that the page,
 * the history and subscribers see database sessions. Sessions become processes. A lock that a
 * session holds and another wants becomes a resource of one unit. Only edges that existed at one
 * moment are sent (graph/judge.h), without queue positions that servers resolve themselves and
 * without the threads of inspected processes.
 *
 * Sessions that wait for each other, directly or not, form a group. An unchanged group is left
 * alone. A changed group is removed and added again, holds before waits, because a waiting process
 * cannot be given anything. */
#pragma once

#include "sources/watch/report/report.h"
#include "sources/watch/watch.h"

#include <gordian/client.h>

struct fed_group;

struct feed {
    const char *uri;
    gordian_client_options options;
    gordian_client *client; /* NULL: not connected */
    uint64_t again;         /* when to reconnect, if not connected */
    struct fed_group *groups;
    size_t count, capacity;
    gordian_allocator memory;
};

/* Connects. `options`: the system, credentials and trusted certificates. Its texts must outlive the
 * feed. */
gordian_status feed_open(struct feed *feed, const char *uri, const gordian_client_options *options,
                         gordian_error *error);
/* Ends the session. The service then removes everything that this client added. */
void feed_close(struct feed *feed);
/* Sends the latest verdict. Reconnects to a lost service every ten seconds. */
gordian_status feed_update(struct feed *feed, const struct servers *servers,
                           const struct telling *telling, gordian_error *error);
