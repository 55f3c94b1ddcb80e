/* Locks of PostgreSQL that sessions wait for: who holds them, and who waits in which order. The
 * server is asked once for the rows of all these locks; who is in whose way is worked out here.
 * The server's own answer, pg_blocking_pids, costs the length of the queue for each session in it.
 *
 * Hard edges are exact: modes and lock groups (a parallel query is its leader) say all. Places in a
 * queue are not among the rows. Sessions join in the order in which they began to wait, by the
 * server's rule, which is nearly always their order in the queue; only its search for deadlocks
 * moves them. Each gets edges to the last ones before it.
 *
 * Does the order matter to the verdict? Not if all holders that are in the way of those ahead are
 * in its own way as well, as in a queue of equal modes: then each cycle through a place in the
 * queue has one of hard edges. For the few sessions where it does, the server is asked
 * (queues_check); a place that was not asked for is never part of a deadlock.
 *
 *     queues_open; queues_hold and queues_wait for each row, waits in their order; queues_settle;
 *     queues_check: whom to ask about; queues_ahead for each answer; queues_edges
 */
#pragma once

#include "sources/watch/servers/scan.h"

#define QUEUES_CHECKS 64 /* sessions whose place is asked for, at most */

struct queues;

/* What a row says of a wait. The texts are needed until queues_settle is done. */
struct queue_wait {
    int64_t leader;
    const char *mode, *object, *row, *began;
    double age_s;
};

/* For so many rows; lives as long as the look. Without memory all of these set scan->failed. */
struct queues *queues_open(struct scan *scan, size_t rows);
/* `gid`: of a prepared transaction, whose leader is 0; NULL. */
void queues_hold(struct queues *queues, const char *tag, int64_t leader, const char *gid,
                 const char *mode);
void queues_wait(struct queues *queues, const char *tag, const struct queue_wait *wait);

/* All rows are there: the sessions in somebody's way become sessions of the look. */
void queues_settle(struct queues *queues);
/* Sessions whose place in a queue matters, those first that could be part of a deadlock. How many
 * were written; those that were left out and could be part of one are marked
 * (sources/watch/graph/unseen.h). */
size_t queues_check(struct queues *queues, int64_t pids[QUEUES_CHECKS]);
/* What pg_blocking_pids says of a session: "{12,7}". */
void queues_ahead(struct queues *queues, int64_t leader, const char *blockers);
/* Adds all edges to the look. */
void queues_edges(struct queues *queues);
