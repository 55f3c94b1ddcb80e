/* What one look at a server came to: sessions, their waits, and the edges from a wait to those who
 * are in its way. All texts live as long as the look.
 *
 * Everything has a key that says it is the same as in the look before: of a session, that it is the
 * same one in the same state; of an edge, that it is the same wait of the same session for the same
 * holder. `since` is when it was first known to be so (see watch.h).
 */
#pragma once

#include "foundation/base/arena.h"
#include "foundation/base/hash.h"

#define SCAN_NONE UINT32_MAX

struct session {
    int64_t pid;         /* 0: a prepared transaction, which has no process */
    const char *gid;     /* of a prepared transaction, or XA; else NULL */
    const char *id;      /* what else it is known by: InnoDB's transaction, PostgreSQL's %c; "" */
    const char *started; /* when, as the server writes it: with the pid this says who it is */
    const char *user, *application, *database;
    const char *address;           /* the client's: "10.0.0.7"; "": a local socket */
    uint32_t port;                 /* the client's; 0: none */
    uint32_t peer_port;            /* of a thread that waits for an answer: its server's */
    const char *state;             /* "active", "idle in transaction", ... */
    const char *query;             /* the running one, or the last */
    const char *changed;           /* when the state last changed, as the server writes it */
    const char *transaction;       /* start of its transaction, as the server writes it; "" */
    const char *statement;         /* start of its statement, or the statement's number; "" */
    double transaction_s, state_s; /* how old; below 0: there is none, or it may not be seen */
    uint64_t work;                 /* rows changed, or locks held: what ending it would cost */
    bool active;                   /* runs a statement, or waits in one */
    bool idle;                     /* waits for its client, with a transaction open */
    bool spared;                   /* may not be ended: a superuser's, and we are none */
    bool thread;        /* of an inspected process: see sources/watch/graph/inspected_process.h */
    bool linked;        /* a session of the same client waits for it: sources/watch/graph/links.h */
    bool calls;         /* waits, by what it runs, for an answer from elsewhere */
    const char *unseen; /* why what it waits for cannot be seen; NULL: it can */
    bool joins;         /* a thread that waits for the end of another one */
    int64_t peer;       /* of a thread: whose answer it waits for, a process; 0 */
    uint32_t wait;      /* SCAN_NONE: it waits for no lock */
    uint64_t key, since;
};

struct wait {
    uint32_t session;
    const char *mode;   /* wanted: "ShareLock", "X" */
    const char *object; /* "transaction 745", "table accounts" */
    const char *row;    /* "accounts(0,3)", or "" */
    const char *began;  /* as the server writes it */
    double age_s;
    bool any; /* one of those in the way is enough to end it */
};

struct edge {
    uint32_t wait, holder; /* holder: session */
    bool soft;             /* it only stands ahead in the queue */
    bool guessed;          /* soft, and the server was not asked: counts for nothing but display */
    const char *mode;      /* that it holds, or wants; "" if that is not known */
    uint64_t own;          /* tells edges of one wait apart that came with several rows; 0 */
    const char *lock;      /* identity of the lock, as the server writes it; "": not known */
    const char *began;     /* start of the wait for it, as the server writes it; "": not known */
    uint64_t key, since;
    uint64_t request; /* key of the request: the same statement wants the same lock of the same
                       * holder. A statement that waits again has the same request. */
};

struct scan {
    uint64_t asked, answered;  /* 0: there has been none */
    bool whole;                /* everything that was asked for came */
    bool failed;               /* out of memory: the look is of no use */
    const struct scan *before; /* while it is made: the look before */
    struct queues *queues;     /* while it is made: locks of PostgreSQL */
    struct session *sessions;
    size_t session_count, session_room;
    struct wait *waits;
    size_t wait_count, wait_room;
    struct edge *edges;
    size_t edge_count, edge_room;
    struct hash index; /* of sessions, by pid and gid */
    struct arena arena;
    gordian_allocator memory;
};

void scan_open(struct scan *scan, const gordian_allocator *memory);
void scan_close(struct scan *scan);
/* Forgets everything. */
void scan_clear(struct scan *scan);

/* All of these set scan->failed without memory. */
/* A copy that lives as long as the look; "" for NULL. */
const char *scan_text(struct scan *scan, const char *text);
/* Zeroed, as long as the look; NULL: out of memory. */
void *scan_alloc(struct scan *scan, size_t size);
/* The session with this pid (or gid, for pid 0), or SCAN_NONE. */
uint32_t scan_find(const struct scan *scan, int64_t pid, const char *gid);
/* The same, added if it is new; SCAN_NONE: out of memory. */
uint32_t scan_session(struct scan *scan, int64_t pid, const char *gid);
/* One more wait, of a session that has none yet; NULL: out of memory. */
struct wait *scan_wait(struct scan *scan, uint32_t session);
/* One more edge, once each. */
void scan_edge(struct scan *scan, uint32_t wait, uint32_t holder, bool soft, const char *mode);

/* The same without looking whether it is there. */
void scan_push(struct scan *scan, const struct edge *edge);
/* Identifies the lock of all edges from `first` on. */
void scan_identify(struct scan *scan, size_t first, const char *lock, const char *began);

/* The look is whole: keys, and `since` from the look before. */
void scan_settle(struct scan *scan, const struct scan *before);

/* Which session it is: the same in all looks at its server. */
uint64_t scan_identity(const struct session *session);

/* How many wait behind this session, directly or not. */
size_t scan_behind(const struct scan *scan, uint32_t session);
