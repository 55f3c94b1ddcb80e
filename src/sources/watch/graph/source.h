/* A watched server. It connects, sends the gate query in every interval, scans when a session
 * waits, executes orders, and reconnects with growing delays. It never blocks: source_step does
 * what is due and returns.
 *
 * The query budget limits the load. A credit grows by 1 % of the elapsed time, up to a tenth of a
 * second, and pays for the queries. So a new deadlock is scanned immediately, and a server that is
 * slow or has many waiters is queried less often. Time in the server's run queue is not charged:
 * the price of a query is the shortest recent time of a query of its kind with a similar number of
 * rows. The first query of its size costs the time it took.
 *
 * The debt is limited, so that the watcher of a busy server still sees it: a pause takes at most
 * three seconds or, if a query takes longer than 300 ms, ten times the duration of the query.
 *
 * If several addresses lead to one server, one source watches it. The others are `parked`: they
 * send only the gate query, and take over when the first is gone (duplicate_servers.h). */
#pragma once

#include "sources/watch/servers/dialect.h"

#define SOURCE_PRICES 8 /* remembered prices of a kind */
#define SOURCE_KINDS  6 /* the gate, other queries, and the parts of scans */

/* Recent times of queries of one kind. */
struct source_price {
    uint64_t times[SOURCE_PRICES];
    uint64_t rows[SOURCE_PRICES]; /* in their answers */
    uint64_t count;
};

struct source_pace {
    uint64_t interval_ns;
    uint64_t patience_ns; /* timeout of an answer, after which the connection is closed */
};

enum source_state {
    SOURCE_AWAY,       /* not connected; next attempt at `due` */
    SOURCE_CONNECTING, /* connecting */
    SOURCE_GREETING,
    SOURCE_IDENTIFYING,
    SOURCE_RESTING, /* connected; next query at `due` */
    SOURCE_GATE,
    SOURCE_SCANNING,
    SOURCE_ACTING,
};

struct inspector;

struct source {
    struct inspector *inspector; /* a process of this machine; NULL: a server */
    const struct driver *driver;
    const struct dialect *dialect; /* NULL: has never been connected */
    struct connection *connection;
    struct dial *dial; /* while connecting: has the connection; otherwise NULL */
    const struct source_pace *pace;
    struct server_facts facts;
    char label[80]; /* for people, unique among the sources */
    bool named;     /* the label is final */
    bool parked;    /* another source watches the same server */
    bool hurried;   /* the current scan is for an action and free of charge */
    enum source_state state;
    uint64_t due;                 /* AWAY and RESTING: time of the next step */
    uint64_t asked;               /* busy: start of the query */
    uint64_t backoff_ns;          /* AWAY: the current delay */
    unsigned part;                /* LOOKING */
    unsigned attempts;            /* consecutive failed attempts */
    uint64_t looks;               /* number of scans */
    uint64_t scans_before_others; /* scans made while another server had no scan yet (--once) */
    uint64_t first;               /* end of the first scan since the connection was made; 0: none */
    uint64_t spent_ns;            /* total time of queries */
    struct source_price prices[SOURCE_KINDS];
    int64_t credit_ns;    /* query budget */
    uint64_t credited;    /* last update of the budget */
    char trouble[400];    /* why the server is not visible; "": it is visible */
    uint64_t trouble_no;  /* number of new failures, for reports */
    struct scan scan;     /* the latest scan */
    struct scan next;     /* the scan in progress */
    struct remedy_order { /* an order to be sent when the source rests */
        bool pending, done;
        enum remedy_outcome outcome;
        char why[400]; /* the server's message if it refused; "" */
    } order;
    struct output order_sql;
    struct output sql;
    gordian_allocator memory;
};

gordian_status source_open(struct source **out, const char *address, const struct source_pace *pace,
                           const gordian_allocator *memory, gordian_error *error);
/* Returns a source that is neither a server nor a process yet. NULL: out of memory. */
struct source *source_new(const struct source_pace *pace, const gordian_allocator *memory);
void source_close(struct source *source);

/* Sets what to poll for; fd -1: nothing. `until`: the time of the next step in any case. */
void source_wants(const struct source *source, int *fd, short *events, uint64_t *until);
void source_step(struct source *source, short revents, uint64_t now);

static inline bool source_is_up(const struct source *source)
{
    return source->state >= SOURCE_RESTING;
}

/* Orders the end of a wait or a session. The source sends the order when it rests next. The server
 * executes it only if the condition, which refers to the latest scan, still holds. One order at a
 * time. */
void source_order(struct source *source, enum remedy remedy,
                  const struct remedy_condition *condition);
/* Requests a scan as soon as the server shows something new, regardless of the budget. */
void source_scan_soon(struct source *source, uint64_t now);
