/*
 * gordian serve: one service that maintains the wait-for graph of many programs. Read this first.
 *
 *     server/    here: sockets, event loop, signals, clusters, notifications (hook.h)
 *     service/   what clients can do: systems, sessions, leases, quotas, incidents; no sockets
 *     system/    one named system of the service
 *     store/     write-ahead journal, snapshots, incidents; on disk or in PostgreSQL
 *     http/      JSON, metrics, the page (web/), streams of events
 *     auth/      tokens, TLS
 *
 * It uses internals of the library where states are serialized, and the libraries wire (the
 * protocol as bytes) and show.
 *
 * The server is a libevent loop around the service: listeners on a Unix socket and TCP, a
 * connection.c for each client, timers, signals, the eventfd of the store.
 *
 * One iteration of the event loop reads what has arrived, at most SERVER_READ bytes per connection,
 * and passes it to the service. Then it seals the batch of records. Then every connection sends the
 * answers whose records are committed. Back-pressure: a client that does not read its answers is
 * not read from, and is disconnected after a timeout. A client over its rate limit is not read from
 * either.
 */
#pragma once

#include "service/serve/auth/auth.h"
#include "service/serve/auth/tls.h"
#include "service/serve/core/service.h"
#include "service/serve/server/hook.h"
#include "service/serve/server/systemd.h"
#include "service/serve/store/store.h"

struct event;
struct event_base;
struct evconnlistener;
struct connection;
struct http_server; /* http/http.h */
struct log_queue;   /* server/log.h */

#define SERVER_READ         (64u << 10) /* bytes read per connection and iteration */
#define SERVER_APPLY_NS     1500000     /* time for applying records per iteration of a standby */
#define SERVER_OUT_PAUSE    (1u << 20)  /* unsent bytes: stop reading (back-pressure) */
#define SERVER_DRAIN_MS     30000       /* disconnect after this long without progress in sending */
#define SERVER_START_MS     10000 /* timeout for the first bytes of a connection, and for its HELLO */
#define SERVER_LOCAL_MS     60000 /* the same on the Unix socket, where users type */
#define SERVER_GUESS_MS     1000  /* delay of the answer to a wrong token */
#define SERVER_LISTENERS    16
#define SERVER_DEFAULT_HTTP "127.0.0.1:7420"

/* Options of the command line. Texts belong to the caller and outlive the server. */
struct server_options {
    const char *socket;    /* Unix socket; NULL: none */
    const char *listen;    /* ADDR:PORT[,ADDR:PORT...] for the protocol; NULL: none */
    const char *http;      /* ADDR:PORT, or "none"; NULL: SERVER_DEFAULT_HTTP */
    const char *data;      /* folder; NULL: nothing is kept */
    const char *store;     /* PostgreSQL instead of a folder (service/serve/store/store.h) */
    const char *schema;    /* PostgreSQL schema */
    const char *advertise; /* address announced to clients; NULL: where it listens */
    uint64_t leader_lease_ms;
    struct systemd *systemd; /* of the previous server; NULL: from the environment */
    struct hook *hook; /* of the previous server; it may still be sending; NULL: none. The server
                          takes it over. */
    uint64_t rest_ms;  /* let other servers become leader first */
    uint32_t commits;  /* maximum in flight */
    const char *token_file;
    const char *tls_cert, *tls_key, *tls_clients;
    const char *socket_group, *allow_uid, *allow_group;
    const char *on_deadlock, *on_deadlock_secret; /* see hook.h; NULL: none */
    bool repair;
    bool accept_loss; /* acknowledged records are missing */
    bool fresh;       /* --new: make a database, even next to other files */
    bool insecure;    /* allow tokens over remote TCP or HTTP without TLS */
    enum store_durability durability;
    uint64_t keep_incidents_ms;
    uint64_t keep_history_ms, history_bytes; /* for point-in-time queries: see store/store.h */
    struct service_limits limits;
    /* SIGHUP: reads again what may change at run time (limits, keep_incidents_ms). May be NULL.
     * Returns false if it has logged errors. */
    bool (*reload)(void *context, struct server_options *options);
    void *reload_context;
    /* Logs a line; levels as in syslog: 3 error, 4 warning, 6 info, 7 debug. */
    void (*log)(void *context, int level, const char *text);
    void *log_context;
    struct log_queue *log_queue; /* the queue that `log` uses, for metrics; NULL: none */
};

void server_options_init(struct server_options *options);

/* Kinds of messages that clients can trigger often: each is logged once a minute. */
enum server_rare {
    RARE_ACCEPT, /* out of descriptors */
    RARE_PEER,   /* a user without access to the socket */
    RARE_FULL,   /* refused: no free slot */
    RARE_CUT,    /* disconnected */
    RARE_TOKEN,  /* a wrong token */
    RARE_HOOK,   /* --on-deadlock failed */
    RARE_KINDS,
};

/* Rate limit of log lines about deadlocks: a burst, then lines per second. One client can cause any
 * number. */
#define SERVER_DEADLOCK_LINES    100
#define SERVER_DEADLOCK_RATE     10
#define SERVER_LEFT_OUT_EVERY_MS 10000 /* between reports of suppressed lines */

struct server {
    struct server_options options;
    struct event_base *base;
    struct service *service;
    struct store *store;
    struct auth *auth; /* never NULL; without a token file no tokens are required */
    struct auth_peers peers;
    struct tls *tls; /* NULL: none */
    struct systemd systemd;
    uint64_t bad_record;      /* record that could not be applied at the start; 0: none */
    struct http_server *http; /* NULL: none */

    struct listener {
        struct evconnlistener *event;
        bool is_unix;
        bool inherited;    /* from systemd: do not remove its file */
        uint64_t inode;    /* of our Unix socket: another process may have replaced it */
        uint64_t listened; /* steady ms of the service: last time all clients were accepted */
    } listeners[SERVER_LISTENERS];
    size_t listener_count;

    struct connection *connections; /* linked list */
    struct connection *dirty;       /* those with something to send in this iteration */
    uint32_t connection_count;
    /* Connections that have not identified themselves, oldest first. */
    struct connection *unidentified, **unidentified_end;
    struct server_rarely {
        uint64_t logged_at; /* steady ms; 0: never */
        uint64_t left_out;
    } rarely[RARE_KINDS];
    struct server_log_limit {
        uint64_t allowance;   /* thousandths of a line */
        uint64_t refilled;    /* steady ms; 0: never */
        uint64_t left_out;    /* since the last report */
        uint64_t reported_at; /* steady ms */
    } deadlock_lines;
    uint64_t wrong_tokens;  /* of the service, already logged */
    char token_guesser[64]; /* client that showed the last wrong token; "": over HTTP */
    struct service_watcher watcher;
    struct hook *hook;               /* NULL: none */
    struct hook_figures logged_hook; /* of the hook, already logged */
    unsigned char *scratch;          /* read buffer of 2 * SERVER_READ bytes */

    struct snapshot_child { /* see server/snapshot.c */
        pid_t pid;          /* 0: none */
        int fd;
        struct event *event;
        unsigned char *bytes; /* of an incomplete section */
        size_t used, room;
    } child;

    struct event *events[7]; /* timer, signals, eventfd of the store, watchdog */
    size_t event_count;
    bool more_to_do;             /* do not block in the next iteration */
    bool tick;                   /* service_tick is due */
    bool was_healthy;            /* health of the store at the last check */
    bool snapshots_fail;         /* as last logged */
    uint64_t stalls, stalled_ms; /* of the service, already logged */
    uint64_t turn_ns;            /* start of this iteration */
    uint64_t follow_ns;          /* standby: start of applying records */
    uint64_t stop_at;            /* steady ms: disconnect all clients then; 0: not stopping */
    bool accepting;              /* false: out of descriptors */
    bool crowded;                /* TCP is paused: see connections_have_slot */
    bool reload;                 /* SIGHUP was received */
    bool hand_over;              /* SIGUSR2 was received */
    bool leads;                  /* it is the leader; always true without a shared store */
    bool lost;                   /* it has lost the leadership and must be opened again */
    char address[STORE_ADDRESS]; /* address announced to clients */
    int stop_signal;             /* 0: none */
};

/* Opens store and listeners, with recovery. On failure *out is NULL. */
gordian_status server_open(struct server **out, const struct server_options *options,
                           gordian_error *error);
/* Runs until a signal stops it. GORDIAN_OK: orderly end. */
gordian_status server_run(struct server *server, gordian_error *error);
/* Runs one iteration of the event loop. (For tests.) */
gordian_status server_turn(struct server *server, gordian_error *error);
void server_close(struct server *server);
/* Did it end because it lost the leadership? Then it must be opened again as a standby; *why has
 * the reason. */
bool server_lost(const struct server *server, const char **why);
/* Passes the systemd sockets and connection, and the hook, to the next server. */
void server_pass_on(struct server *server, struct systemd *systemd, struct hook **hook);

/* Content of an intact folder: see store_verify. Starts and changes nothing. */
struct server_verdict {
    struct store_verdict store;
    uint32_t systems, sessions;
    uint64_t processes, deadlocks;
};

gordian_status server_verify(const char *folder, struct server_verdict *verdict,
                             gordian_error *error);

/* Are events accepted and committed? If not, *why has the reason (/readyz). */
bool server_ready(const struct server *server, const char **why);

void server_log(const struct server *server, int level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Logs at most once a minute per kind; the next line includes the number of suppressed ones. */
void server_log_rarely(struct server *server, enum server_rare kind, int level, const char *format,
                       ...) __attribute__((format(printf, 4, 5)));
/* Does the rate limit allow a log line about a deadlock now? If not, it is counted. */
bool server_may_log_deadlock(struct server *server);
/* Reports the number of suppressed lines, if due or `at_once`. */
void server_report_left_out(struct server *server, bool at_once);

/* ---- HTTP (http.c) */

/* `fds`: `count` listening sockets handed over; if none, listens on `address`. On failure *out is
 * NULL. */
gordian_status http_open(struct http_server **out, struct server *server, const char *address,
                         const int *fds, size_t count, gordian_error *error);
void http_close(struct http_server *http);
/* At the end of an iteration: sends responses whose records are committed. */
void http_flush(struct http_server *http);

/* ---- connections (connection.c) */

enum connection_from {
    FROM_UNIX,
    FROM_TCP,
};

/* Opens an accepted connection, and takes over the descriptor. */
void connection_open(struct server *server, int fd, enum connection_from from, const char *label,
                     enum service_rights rights);
void connection_close(struct connection *connection);
/* At the end of an iteration: sends what may be sent. */
void connections_flush(struct server *server);
/* Periodically: disconnects clients that do not read or do not identify themselves. */
void connections_tick(struct server *server);
/* Can another TCP connection be accepted now? False: all slots are taken by connections too new to
 * be replaced. */
bool connections_have_slot(const struct server *server);
/* Has a connection without a session unread data since this moment? */
bool connections_unheard(const struct server *server, uint64_t since);
