/* The result of one scan of a server: sessions, their waits, and edges from each wait to the
 * sessions that block it. All texts live as long as the scan.
 *
 * Keys identify things that were in the previous scan as well: a session in the same state; an edge
 * of the same wait of the same session for the same holder. `since` is the time when this was first
 * known (see watch.h). */
#pragma once

#include "foundation/base/arena.h"
#include "foundation/base/hash.h"

#define SCAN_NONE UINT32_MAX

struct session {
    int64_t pid;         /* 0: a prepared transaction, which has no process */
    const char *gid;     /* of a prepared transaction, or of XA; otherwise NULL */
    const char *id;      /* another identifier: InnoDB's transaction, PostgreSQL's %c; "" */
    const char *started; /* start, as the server writes it; with the pid it identifies the
                            session */
    const char *user, *application, *database;
    const char *address;           /* the client's address: "10.0.0.7"; "": a local socket */
    uint32_t port;                 /* the client's port; 0: none */
    uint32_t peer_port;            /* of a thread that waits for an answer: the server's port */
    const char *state;             /* "active", "idle in transaction", ... */
    const char *query;             /* the current query, or the last one */
    const char *changed;           /* time of the last change of state, as the server writes it */
    const char *transaction;       /* start of its transaction, as the server writes it; "" */
    const char *statement;         /* start of its statement, or the statement's number; "" */
    double transaction_s, state_s; /* ages in seconds; negative: none, or not visible */
    uint64_t work;                 /* rows changed, or locks held: the cost of ending it */
    bool active;                   /* runs a statement, or waits in one */
    bool idle;                     /* waits for its client in an open transaction */
    bool spared;                   /* cannot be ended: it belongs to a superuser, and we do not */
    bool thread;                   /* a thread of an inspected process: see
                                      sources/watch/graph/inspected_process.h */
    bool linked;                   /* another session of the client waits for it:
                                      sources/watch/graph/links.h */
    bool calls;                    /* its query may be waiting for an answer from another server */
    const char *unseen; /* why the cause of its wait is not visible; NULL: it is visible */
    bool joins;         /* a thread that waits for the end of another thread */
    int64_t peer;       /* of a thread: the process whose answer it waits for; 0 */
    uint32_t wait;      /* SCAN_NONE: it does not wait for a lock */
    uint64_t key, since;
};

struct wait {
    uint32_t session;
    const char *mode;   /* the requested mode: "ShareLock", "X" */
    const char *object; /* "transaction 745", "table accounts" */
    const char *row;    /* "accounts(0,3)", or "" */
    const char *began;  /* as the server writes it */
    double age_s;
    bool any; /* the release of any one of the blockers ends the wait */
};

struct edge {
    uint32_t wait, holder; /* holder: a session */
    bool soft;             /* the holder only precedes in the queue */
    bool guessed;          /* soft and unchecked: only for display */
    const char *mode;      /* held, or requested; "": not known */
    uint64_t own;          /* distinguishes edges of one wait from several rows; 0 */
    const char *lock;      /* identity of the lock, as the server writes it; "": not known */
    const char *began;     /* start of the wait for the lock, as the server writes it; "": not
                              known */
    uint64_t key, since;
    uint64_t request; /* key of the request: the same statement wants the same lock from the same
                         holder. A statement that waits again has the same key. */
};

struct scan {
    uint64_t asked, answered;  /* 0: there was no scan */
    bool whole;                /* all queries were answered */
    bool failed;               /* out of memory: discard the scan */
    const struct scan *before; /* while scanning: the previous scan */
    struct queues *queues;     /* while scanning: PostgreSQL's lock queues */
    struct session *sessions;
    size_t session_count, session_capacity;
    struct wait *waits;
    size_t wait_count, wait_capacity;
    struct edge *edges;
    size_t edge_count, edge_capacity;
    struct hash index; /* of sessions, by pid and gid */
    struct arena arena;
    gordian_allocator memory;
};

void scan_open(struct scan *scan, const gordian_allocator *memory);
void scan_close(struct scan *scan);
/* Removes everything. */
void scan_clear(struct scan *scan);

/* All of these functions set scan->failed if memory runs out. */
/* Returns a copy that lives as long as the scan; "" for NULL. */
const char *scan_text(struct scan *scan, const char *text);
/* Returns zeroed memory that lives as long as the scan. NULL: out of memory. */
void *scan_alloc(struct scan *scan, size_t size);
/* Returns the session with this pid (or gid, for pid 0), or SCAN_NONE. */
uint32_t scan_find(const struct scan *scan, int64_t pid, const char *gid);
/* Same, but adds the session if it is new. SCAN_NONE: out of memory. */
uint32_t scan_session(struct scan *scan, int64_t pid, const char *gid);
/* Adds a wait to a session that has none. NULL: out of memory. */
struct wait *scan_wait(struct scan *scan, uint32_t session);
/* Adds an edge, unless it exists already. */
void scan_edge(struct scan *scan, uint32_t wait, uint32_t holder, bool soft, const char *mode);

/* Adds an edge without that check. */
void scan_push(struct scan *scan, const struct edge *edge);
/* Sets the lock's identity in all edges from `first` on. */
void scan_identify(struct scan *scan, size_t first, const char *lock, const char *began);

/* Completes the scan: sets keys, and `since` from the previous scan. */
void scan_settle(struct scan *scan, const struct scan *before);

/* Returns the identity of a session, the same in all scans of its server. */
uint64_t scan_identity(const struct session *session);

/* Returns how many sessions are blocked behind this one, directly or not. */
size_t scan_behind(const struct scan *scan, uint32_t session);
