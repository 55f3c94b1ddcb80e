/* gordian watch: observes lock waits of live databases. Read this first.
 *
 *    servers/driver.h           a non-blocking connection: servers/libpq.c, servers/mariadb.c
 *    servers/dialect.h          the queries for a kind of server, and the meaning of the answers:
 *                               servers/postgres.c, servers/innodb.c, servers/metadata_locks.c
 *    servers/scan.h             the result of one scan: sessions, waits, holders
 *    servers/dial.h             connects in a thread
 *    servers/remedy.h           statements that end a wait, with their condition in the statement
 *    graph/source.h             a watched server: connects, queries, rests, reconnects
 *    graph/duplicate_servers.h  several addresses of one server, of which one is watched
 *    graph/links.h              sessions of several servers that belong to one client
 *    graph/local_clients.h      processes of this machine that are clients
 *    graph/inspected_process.h  a local process as a source: its threads and locks
 *    graph/judge.h              finds deadlocks in the latest scans with libgordian's engine
 *    graph/overview.h           what blocks others, deadlock or not: roots, chains, long waits
 *    graph/unseen.h             what could not be observed
 *    actions/advice.h           chooses the victim of a deadlock; actions/act.h ends it
 *    report/report.h            reports for people and programs
 *    tree.h                     the tree of waiting sessions
 *    feed.h                     sends everything to a running `gordian serve`
 *    metrics.h                  metrics over HTTP (listen.h)
 *
 * One event loop drives all servers (servers_run_once). It blocks in poll(2) and nowhere else, so a
 * server that is slow or gone does not delay the others.
 *
 * What is a deadlock? A scan consists of several queries, the first sent at A and the last answered
 * at B. An edge that is in two consecutive scans, for the same wait of the same session, existed
 * all the time from the first B to the second A. The watcher chooses a moment T between the scans
 * of every server and drops the edges that are not certain at T. So all edges of a deadlock existed
 * together, and only the watcher's clock is needed. A server without a recent scan is left out and
 * reported.
 *
 * A hard edge: the other session holds a conflicting lock. A soft edge: it only precedes in the
 * queue. PostgreSQL resolves cycles with soft edges itself by reordering the queue, so a cycle that
 * needs soft edges of one server is not a deadlock. Across servers no one resolves it. */
#pragma once

#include "sources/watch/graph/judge.h"
#include "sources/watch/graph/links.h"
#include "sources/watch/graph/source.h"

struct pollfd;

struct servers {
    struct source **sources;
    size_t count, capacity;
    struct source_pace pace;
    struct links links;
    struct verdict verdict;   /* the latest verdict */
    uint64_t judged_scans;    /* scans made before the latest verdict */
    uint64_t inspected_scans; /* scans of servers made before the processes were last scanned */
    struct pollfd *polls;     /* buffer of servers_run_once */
    size_t poll_capacity;
    gordian_allocator memory;
};

void servers_open(struct servers *servers);
void servers_close(struct servers *servers);
/* Adds a server. Returns GORDIAN_STATUS_INPUT for an invalid address and GORDIAN_STATUS_UNAVAILABLE
 * if this build lacks the driver. The message never contains the address, which may include a
 * password. */
gordian_status servers_add(struct servers *servers, const char *address, gordian_error *error);

/* Adds a process of this machine, whose threads and locks are then part of the wait-for graph. */
gordian_status servers_inspect(struct servers *servers, uint32_t pid, gordian_error *error);

/* Runs one iteration of the event loop. Blocks until a server responds, a query is due, `limit_ns`
 * have passed (UINT64_MAX: no limit), one of the caller's descriptors is ready, or a signal
 * arrives. Then handles what is due. */
gordian_status servers_run_once(struct servers *servers, uint64_t limit_ns, struct pollfd *others,
                                size_t other_count, gordian_error *error);

/* Finds deadlocks in the latest scans. */
gordian_status servers_judge(struct servers *servers, gordian_error *error);
/* Has any source been scanned since the last verdict? */
bool servers_have_new_scans(const struct servers *servers);
