/* Clients of this machine that sleep until a session answers. A client that has one thread, is the
 * only process with that socket, and sleeps in a read of it does nothing else meanwhile.
 *
 * All of that is looked at whenever it is judged, and it must have been so for a while: from
 * `since` on the client was seen asleep, and it has not run since then (the kernel counts how often
 * a thread was switched). Which processes have the socket is looked at after `since`: a process
 * that sleeps can neither fork nor pass its socket on.
 */
#pragma once

#include "sources/watch/graph/local_clients.h"

enum sleeper_kind {
    SLEEPER_CLIENT,  /* reads, or polls, this socket alone */
    SLEEPER_BACKEND, /* a session of PostgreSQL, which waits for signals at the same time */
    SLEEPER_OWNER,   /* whatever it sleeps in */
};

struct sleeper {
    uint32_t pid;
    uint64_t inode, switches;
    uint64_t since;
    bool alone; /* no other process has the socket */
    bool kept;  /* asked for since sleepers_begin */
};

struct sleepers {
    struct sleeper *list;
    size_t count, room;
    uint64_t latest;             /* the latest `since` */
    uint64_t recounted, cost_ns; /* when processes were last looked at, and what that took */
    gordian_allocator memory;
};

void sleepers_close(struct sleepers *sleepers);
/* A judgement: begins, asks about sessions, looks at the other processes, asks again, ends. */
void sleepers_begin(struct sleepers *sleepers);
void sleepers_recount(struct sleepers *sleepers, struct locals *locals);
void sleepers_end(struct sleepers *sleepers);

/* Does the session's client sleep until it answers? Since when: 0: it does not, or that is not
 * known yet. */
uint64_t sleeper_since(struct sleepers *sleepers, struct locals *locals, enum sleeper_kind kind,
                       const struct session *session, const struct server_facts *facts);
/* Has some client been seen asleep whose other owners could not be looked for yet? */
bool sleepers_pending(const struct sleepers *sleepers);
