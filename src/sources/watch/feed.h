/* Into a running `gordian serve`, as a system of its own: the page, the history and whoever
 * subscribes see database sessions. Sessions become processes, what somebody holds and others want
 * becomes a resource of one unit. Only what was there at one moment goes there (graph/judge.h),
 * without places in queues that servers mend, and without the threads of inspected processes.
 *
 * Those who wait for each other, directly or not, are one group. A group that is as before is left
 * alone; one that has changed is taken out and put in again, holds before waits, since a process
 * that waits can be given nothing.
 */
#pragma once

#include "sources/watch/report/report.h"
#include "sources/watch/watch.h"

#include <gordian/client.h>

struct fed_group;

struct feed {
    const char *uri;
    gordian_client_options options;
    gordian_client *client; /* NULL: not connected */
    uint64_t again;         /* then: when to try */
    struct fed_group *groups;
    size_t count, room;
    gordian_allocator memory;
};

/* Connects. `options`: the system, what lets us in, whom to trust; its texts must outlive the feed.
 */
gordian_status feed_open(struct feed *feed, const char *uri, const gordian_client_options *options,
                         gordian_error *error);
/* Ends the session: all that was put in is taken out. */
void feed_close(struct feed *feed);
/* What the latest judgement is about. A service that has gone is tried again, every ten seconds. */
gordian_status feed_update(struct feed *feed, const struct servers *servers,
                           const struct telling *telling, gordian_error *error);
