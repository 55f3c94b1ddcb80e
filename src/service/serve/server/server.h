/*
 * gordian serve: many programs, one service that knows who waits for whom. Read this first.
 *
 *     server/    here: sockets, the loop, signals, clusters, whom to tell of deadlocks (hook.h)
 *     service/   what clients can do: systems, sessions, leases, quotas, incidents; no sockets
 *     system/    one named system of it
 *     store/     what is kept: a journal, snapshots, incidents; on disk or in PostgreSQL
 *     http/      JSON, metrics, the page (web/), streams of events
 *     auth/      tokens, TLS
 *
 * It uses the library, from the inside where images are made, wire (the protocol as bytes) and
 * show.
 *
 * The server: libevent's loop with the service in it. Listeners on a Unix socket and on TCP, one
 * connection.c for each client, timers, signals, the store's doorbell.
 *
 * One turn of the loop: whatever has arrived is read, at most SERVER_READ bytes a connection, and
 * handed to the service; then the batch of records is sealed; then every connection that has
 * answers sends those whose records are kept. A client that does not read its answers is not read
 * from, and is cut off when that lasts. One that is over its quota is not read from either.
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

#define SERVER_READ         (64u << 10) /* bytes read from a connection in one turn */
#define SERVER_FOLLOW_NS    1500000     /* of records applied by a standby in one turn */
#define SERVER_OUT_PAUSE    (1u << 20)  /* unsent bytes: nothing more is read from it */
#define SERVER_DRAIN_MS     30000       /* without any progress in sending: it is cut off */
#define SERVER_START_MS     10000       /* for the first bytes of a connection, and for its HELLO */
#define SERVER_LOCAL_MS     60000       /* the same on the Unix socket, where people type */
#define SERVER_GUESS_MS     1000        /* before a wrong token is answered */
#define SERVER_LISTENERS    16
#define SERVER_DEFAULT_HTTP "127.0.0.1:7420"

/* Everything the command line says. Texts belong to the caller and outlive the server. */
struct server_options {
    const char *socket;    /* Unix socket; NULL: none */
    const char *listen;    /* ADDR:PORT[,ADDR:PORT...] for the protocol; NULL: none */
    const char *http;      /* ADDR:PORT, or "none"; NULL: SERVER_DEFAULT_HTTP */
    const char *data;      /* folder; NULL: nothing is kept */
    const char *store;     /* instead of a folder: PostgreSQL (service/serve/store/store.h) */
    const char *schema;    /* there */
    const char *advertise; /* what clients shall call this server; NULL: where it listens */
    uint64_t leader_lease_ms;
    struct systemd *systemd; /* of the server before this one; NULL: the environment tells */
    struct hook *hook;       /* likewise: it may be telling something yet; NULL: none. The server's,
                                when it has been opened */
    uint64_t rest_ms;        /* others may take the lead first */
    uint32_t commits;        /* under way at once */
    const char *token_file;
    const char *tls_cert, *tls_key, *tls_clients;
    const char *socket_group, *allow_uid, *allow_group;
    const char *on_deadlock, *on_deadlock_secret; /* see hook.h; NULL: nobody is told */
    bool repair;
    bool accept_loss; /* of acknowledged records */
    bool fresh;       /* --new: make a database, also beside files of others */
    bool insecure;    /* a token over TCP or HTTP without TLS, beyond this machine, is fine */
    enum store_durability durability;
    uint64_t keep_incidents_ms;
    uint64_t keep_history_ms, history_bytes; /* of the past: see store/store.h */
    struct service_limits limits;
    /* SIGHUP: what may change while it runs (limits, keep_incidents_ms) is read again. May be NULL.
     */
    bool (*reload)(void *context,
                   struct server_options *options); /* false: it said what is wrong */
    void *reload_context;
    /* A line for the operator: 3 error, 4 warning, 6 info, 7 debug (as syslog has them). */
    void (*log)(void *context, int level, const char *text);
    void *log_context;
    struct log_queue *log_queue; /* where `log` puts its lines, for the metrics; NULL: none */
};

void server_options_init(struct server_options *options);

/* What many clients can bring about at once is told once a minute. */
enum server_rare {
    RARE_ACCEPT, /* no descriptors */
    RARE_PEER,   /* a user who may not use the socket */
    RARE_FULL,   /* turned away: there is no room */
    RARE_CUT,    /* cut off */
    RARE_TOKEN,  /* a wrong one was shown */
    RARE_HOOK,   /* --on-deadlock failed */
    RARE_KINDS,
};

/* Lines about deadlocks: so many at once, then so many a second. One client can cause any number.
 */
#define SERVER_DEADLOCK_LINES    100
#define SERVER_DEADLOCK_RATE     10
#define SERVER_LEFT_OUT_EVERY_MS 10000 /* between reports how many lines were left out */

struct server {
    struct server_options options;
    struct event_base *base;
    struct service *service;
    struct store *store;
    struct auth *auth; /* never NULL; without a token file nothing is required */
    struct auth_peers peers;
    struct tls *tls; /* NULL: none */
    struct systemd systemd;
    uint64_t senseless;       /* record that could not be applied at the start; 0: none */
    struct http_server *http; /* NULL: none */

    struct listener {
        struct evconnlistener *event;
        bool is_unix;
        bool inherited;    /* from systemd: the file is not ours to remove */
        uint64_t inode;    /* of a Unix socket of ours: it may have been replaced by another's */
        uint64_t listened; /* steady ms of the service: when all who had come were let in last */
    } listeners[SERVER_LISTENERS];
    size_t listener_count;

    struct connection *connections; /* a list */
    struct connection *dirty;       /* those with something to send, this turn */
    uint32_t connection_count;
    struct connection *silent, **silent_end; /* who has not said who it is, the oldest first */
    struct server_rarely {
        uint64_t told_at; /* steady ms; 0: never */
        uint64_t left_out;
    } rarely[RARE_KINDS];
    struct server_log_limit {
        uint64_t allowance;   /* thousandths of a line */
        uint64_t refilled;    /* steady ms; 0: never */
        uint64_t left_out;    /* since the last report */
        uint64_t reported_at; /* steady ms */
    } deadlock_lines;
    uint64_t wrong_tokens; /* of the service's, that have been told */
    char guesser[64];      /* who showed the last one over the protocol; "": HTTP */
    struct service_watcher watcher;
    struct hook *hook;        /* NULL: none */
    struct hook_figures told; /* of the hook's, that have been logged */
    unsigned char *scratch;   /* 2 * SERVER_READ bytes to read into */

    struct snapshot_child { /* see server/snapshot.c */
        pid_t pid;          /* 0: there is none */
        int fd;
        struct event *event;
        unsigned char *bytes; /* of a section that is not whole yet */
        size_t used, room;
    } child;

    struct event *events[7]; /* the timer, signals, the doorbell, the watchdog */
    size_t event_count;
    bool more_to_do;             /* the loop should not sleep */
    bool tick;                   /* it is time for service_tick */
    bool was_healthy;            /* the store, when last looked at */
    bool snapshots_fail;         /* as was logged last */
    uint64_t stalls, stalled_ms; /* of the service's, that have been told */
    uint64_t turn_ns;            /* when this turn began */
    uint64_t follow_ns;          /* standing by: when it began to apply records */
    uint64_t stop_at;            /* steady ms: connections are cut then; 0: not stopping */
    bool accepting;              /* descriptors are not used up */
    bool crowded;                /* nobody is accepted over TCP: see connections_have_place */
    bool reload;                 /* SIGHUP came */
    bool hand_over;              /* SIGUSR2 came */
    bool leads; /* of several servers on one store; always, if it is the only one */
    bool lost;  /* ... and not any more: it must be opened again */
    char address[STORE_ADDRESS]; /* what clients call it */
    int stop_signal;             /* 0: none came */
};

/* Opens everything: store, recovery, listeners. On failure *out is NULL. */
gordian_status server_open(struct server **out, const struct server_options *options,
                           gordian_error *error);
/* Runs until a signal stops it: GORDIAN_OK for an orderly end. */
gordian_status server_run(struct server *server, gordian_error *error);
/* One turn of it: waits for something to do, and does it. (Here for tests.) */
gordian_status server_turn(struct server *server, gordian_error *error);
void server_close(struct server *server);
/* Has it ended because it does not lead any more? Then it is to be opened again, to stand by; why,
 * in words. */
bool server_lost(const struct server *server, const char **why);
/* Its sockets from systemd, and the way to it, for the next one; and who tells of deadlocks. */
void server_pass_on(struct server *server, struct systemd *systemd, struct hook **hook);

/* What is in a folder, if it is whole: see store_verify. Nothing is started or changed. */
struct server_verdict {
    struct store_verdict store;
    uint32_t systems, sessions;
    uint64_t processes, deadlocks;
};

gordian_status server_verify(const char *folder, struct server_verdict *verdict,
                             gordian_error *error);

/* Are events taken and kept? Otherwise why not: /readyz. */
bool server_ready(const struct server *server, const char **why);

void server_log(const struct server *server, int level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same, at most once a minute of each kind; how many were left out is said with the next. */
void server_log_rarely(struct server *server, enum server_rare kind, int level, const char *format,
                       ...) __attribute__((format(printf, 4, 5)));
/* May a line about a deadlock be logged now? Otherwise it is counted. */
bool server_may_log_deadlock(struct server *server);
/* Reports how many were not, if it is time for that, or at once. */
void server_report_left_out(struct server *server, bool at_once);

/* ---- the HTTP part (http.c), as the server calls it */

/* `fds`: `count` listening sockets handed over; none: listens on `address`. On failure *out is
 * NULL.
 */
gordian_status http_open(struct http_server **out, struct server *server, const char *address,
                         const int *fds, size_t count, gordian_error *error);
void http_close(struct http_server *http);
/* At the end of a turn: answers whose records are kept. */
void http_flush(struct http_server *http);

/* ---- connections (connection.c), as the server calls them */

enum connection_from {
    FROM_UNIX,
    FROM_TCP,
};

/* A connection that was accepted; it owns the descriptor. */
void connection_open(struct server *server, int fd, enum connection_from from, const char *label,
                     enum service_rights rights);
void connection_close(struct connection *connection);
/* At the end of a turn: sends what may be sent. */
void connections_flush(struct server *server);
/* Once in a while: cuts off those that do not read, or do not say who they are. */
void connections_tick(struct server *server);
/* May another one be accepted over TCP now? False: all places are taken by those that have just
 * come and have not had the time to say who they are. */
bool connections_have_place(const struct server *server);
/* Does a connection without a session wait to be read that has not been since this moment? */
bool connections_unheard(const struct server *server, uint64_t since);
