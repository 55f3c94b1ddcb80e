/* gordian watch: lock waits of databases, live. Read this first.
 *
 *     driver.h    a connection that never makes anybody wait: libpq.c, mariadb.c
 *     dialect.h   what is asked of a kind of server, and what the answers mean: postgres.c,
 *                 innodb.c, metadata.c
 *     look.h      what one look at a server came to: sessions, waits, who holds what
 *     dial.h      the beginning of a connection, beside all others
 *     remedy.h    orders that end a wait, with their condition in the same statement
 *     duplicates.h several addresses of one server, of which one is watched
 *     source.h    a server: connects, asks, rests, comes back with patience when it is gone
 *     links.h     sessions of several servers that are one client
 *     local.h     processes of this machine that are clients; sleeper.h: what they do
 *     inspector.h a process of this machine among the servers: its threads and locks
 *     judge.h     from the latest looks to deadlocks, by libgordian's engine
 *     overview.h  what holds others up, deadlock or not: roots, chains, waits that last
 *     advice.h    whom to end, why, and how; act.h does it
 *     tree.h      all who wait, folded under who holds them up
 *     feed.h      all of it into a running `gordian serve`
 *     metrics.h   all of it as numbers, over HTTP (listen.h)
 *     tell.h      a deadlock, chains and stalls for a person, a program or a picture
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
#ifndef GORDIAN_SOURCES_WATCH_WATCH_H
#define GORDIAN_SOURCES_WATCH_WATCH_H

#include "sources/watch/judge.h"
#include "sources/watch/links.h"
#include "sources/watch/source.h"

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

#endif
