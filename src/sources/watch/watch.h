/* gordian watch: lock waits of databases, live. Read this first.
 *
 *     servers/driver.h           a connection that never blocks: servers/libpq.c, servers/mariadb.c
 *     servers/dialect.h          what is asked of a kind of server, and what the answers mean:
 *                                servers/postgres.c, servers/innodb.c, servers/metadata_locks.c
 *     servers/scan.h             the result of one poll: sessions, waits, holders
 *     servers/dial.h             how a connection begins, next to all others
 *     servers/remedy.h           orders that end a wait, with their condition in the statement
 *     graph/source.h             a server: connects, asks, rests, retries when it is gone
 *     graph/duplicate_servers.h  several addresses of one server, of which one is watched
 *     graph/links.h              sessions of several servers that are one client
 *     graph/local_clients.h      processes of this machine that are clients
 *     graph/inspected_process.h  a process among the servers: its threads and locks
 *     graph/judge.h              from the latest scans to deadlocks, by libgordian's engine
 *     graph/overview.h           what blocks others, deadlock or not: roots, chains, long waits
 *     graph/unseen.h             what could not be seen
 *     actions/advice.h           which session to end, why, and how; actions/act.h does it
 *     report/report.h            what was found, for a person or a program
 *     tree.h                     all waits, folded under the sessions that cause them
 *     feed.h                     all of it into a running `gordian serve`
 *     metrics.h                  all of it as numbers, over HTTP (listen.h)
 *
 * All servers are driven by one loop (servers_turn), which sleeps in poll(2) and nowhere else: one
 * that is slow or gone holds nobody up.
 *
 * When is it a deadlock? A look is several questions, asked at A and answered by B. An edge that is
 * in two looks in a row, for the same wait of the same session, was there all the time from the
 * first B to the second A. The watcher takes a moment T that lies between those of every server,
 * and leaves out what it cannot be sure of at T: so all edges of a deadlock existed together, and
 * nobody's clock but its own was needed. A server whose last look is old is left out, and named.
 *
 * Hard and soft. A hard edge: the other one holds what conflicts. A soft one: it only stands ahead
 * in the queue. PostgreSQL mends cycles with soft edges itself by letting somebody pass; so what
 * closes on one server through soft edges alone is no deadlock. Across servers nobody mends.
 */
#pragma once

#include "sources/watch/graph/judge.h"
#include "sources/watch/graph/links.h"
#include "sources/watch/graph/source.h"

struct pollfd;

struct servers {
    struct source **sources;
    size_t count, room;
    struct source_pace pace;
    struct links links;
    struct verdict verdict;   /* of the latest judgement */
    uint64_t judged_looks;    /* how many looks there had been then */
    uint64_t inspected_looks; /* of servers, when the processes were last looked at */
    struct pollfd *polls;     /* servers_turn's */
    size_t poll_room;
    gordian_allocator memory;
};

void servers_open(struct servers *servers);
void servers_close(struct servers *servers);
/* Adds a server. GORDIAN_STATUS_INPUT: this is no address; _UNAVAILABLE: not in this build. The
 * message never has the address itself, which may have a password. */
gordian_status servers_add(struct servers *servers, const char *address, gordian_error *error);

/* Adds a process of this machine, whose threads and locks become part of the picture. */
gordian_status servers_inspect(struct servers *servers, uint32_t pid, gordian_error *error);

/* Sleeps until a server has something to say, a question is due, `limit_ns` have passed
 * (UINT64_MAX: no limit), one of the caller's descriptors is ready, or a signal came; then does
 * what is due. */
gordian_status servers_turn(struct servers *servers, uint64_t limit_ns, struct pollfd *others,
                            size_t other_count, gordian_error *error);

/* Judges what the latest looks say. */
gordian_status servers_judge(struct servers *servers, gordian_error *error);
/* Has anything been looked at since the last judgement? */
bool servers_have_news(const struct servers *servers);
