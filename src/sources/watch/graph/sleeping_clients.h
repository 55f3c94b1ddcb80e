/* Detects clients of this machine that sleep until a session answers. A client with one thread,
 * which is the only process with its socket and sleeps in a read of it, does nothing else
 * meanwhile.
 *
 * Each verdict checks this again, and it must hold for a while: the client was seen asleep at
 * `since` and has not run since then (the kernel counts a thread's context switches). The owners of
 * the socket are checked after `since`: a sleeping process can neither fork nor pass its socket on.
 */
#pragma once

#include "sources/watch/graph/local_clients.h"

enum sleeper_kind {
    SLEEPER_CLIENT,  /* reads, or polls, only this socket */
    SLEEPER_BACKEND, /* a PostgreSQL session, which also waits for signals */
    SLEEPER_OWNER,   /* sleeps in any call */
};

struct sleeper {
    uint32_t pid;
    uint64_t inode, switches;
    uint64_t since;
    bool alone; /* no other process has the socket */
    bool kept;  /* used since sleepers_begin */
};

struct sleepers {
    struct sleeper *list;
    size_t count, capacity;
    uint64_t latest;             /* the latest `since` */
    uint64_t recounted, cost_ns; /* when all processes were last scanned, and the time it took */
    gordian_allocator memory;
};

void sleepers_close(struct sleepers *sleepers);
/* One verdict: begins, checks sessions, scans the other processes, checks again, ends. */
void sleepers_begin(struct sleepers *sleepers);
void sleepers_recount(struct sleepers *sleepers, struct locals *locals);
void sleepers_end(struct sleepers *sleepers);

/* Returns the time since which a session's client has slept until it answers. 0: it does not sleep,
 * or this is not known yet. */
uint64_t sleeper_since(struct sleepers *sleepers, struct locals *locals, enum sleeper_kind kind,
                       const struct session *session, const struct server_facts *facts);
/* Is there a sleeping client whose socket may have other owners? */
bool sleepers_pending(const struct sleepers *sleepers);
