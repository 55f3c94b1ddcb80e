/* Reconstructs the lock queues of PostgreSQL: the holders of each lock and its waiters in order.
 * One query returns the rows of all locks with waiters, and this code computes who blocks whom. The
 * server's own function, pg_blocking_pids, takes time proportional to the queue for each session in
 * it.
 *
 * Hard edges are exact: they follow from lock modes and lock groups (the leader of a parallel
 * query). The rows do not contain queue positions. Sessions are added in the order in which they
 * began to wait, by the server's rule. This is nearly always their order in the queue; only the
 * server's deadlock check reorders it. Each waiter gets edges to the last ones before it.
 *
 * Does the order matter for the verdict? It does not if all holders that block the waiters ahead
 * also block this waiter, as in a queue of equal modes: then each cycle through a queue position
 * implies a cycle of hard edges. For the few sessions where it matters, the server is asked
 * (queues_check). An unchecked position is never part of a deadlock.
 *
 *    queues_open; queues_hold and queues_wait for each row, waits in their order; queues_settle;
 *    queues_check: the sessions to check; queues_ahead for each answer; queues_edges */
#pragma once

#include "sources/watch/servers/scan.h"

#define QUEUES_CHECKS 64 /* limit of sessions whose position is checked in one scan */

struct queues;

/* The row of a wait. The texts must stay valid until queues_settle. */
struct queue_wait {
    int64_t leader;
    const char *mode, *object, *row, *began;
    double age_s;
};

/* Opens the queues for this many rows. They live as long as the scan. All functions here set
 * scan->failed if memory runs out. */
struct queues *queues_open(struct scan *scan, size_t rows);
/* `gid`: of a prepared transaction, whose leader is 0; otherwise NULL. */
void queues_hold(struct queues *queues, const char *tag, int64_t leader, const char *gid,
                 const char *mode);
void queues_wait(struct queues *queues, const char *tag, const struct queue_wait *wait);

/* All rows have been added: adds the blocking sessions to the scan. */
void queues_settle(struct queues *queues);
/* Lists sessions whose queue position matters, most important first, and returns their number.
 * Marks the sessions that do not fit and could be part of a deadlock
 * (sources/watch/graph/unseen.h). */
size_t queues_check(struct queues *queues, int64_t pids[QUEUES_CHECKS]);
/* Adds the server's answer for a session: "{12,7}", from pg_blocking_pids. */
void queues_ahead(struct queues *queues, int64_t leader, const char *blockers);
/* Adds all edges to the scan. */
void queues_edges(struct queues *queues);
