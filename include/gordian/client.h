/*
 * A client of `gordian serve`, the service that manages systems for many programs.
 *
 *     gordian_client *client;
 *     gordian_error error;
 *     gordian_client_open(&client, "unix:/run/gordian/socket", NULL, &error);
 *     uint32_t table, me;
 *     gordian_client_add_resource(client, "table", 1, &table, &error);
 *     gordian_client_add_process(client, "worker-7", &me, &error);
 *
 *     gordian_want want = {.resource = table, .units = 1};
 *     gordian_reply reply;
 *     gordian_client_acquire(client, me, &want, 1, 5000, &reply, &error);
 *     if (reply.outcome == GORDIAN_OUTCOME_GRANTED) {
 *         ...
 *         gordian_client_release(client, me, table, 1, &reply, &error);
 *     }
 *     gordian_client_close(client);
 *
 * There are four ways to use a client, which can be mixed:
 *   one by one   gordian_client_request and similar functions send an event and wait for its
 * answer. pipelined    gordian_client_send queues an event with a callback for its answer.
 *                gordian_client_drain waits for all answers. This is the fastest way: many events
 *                travel in one message, and the service stores them in one operation.
 *   by name      gordian_client_send_line does the same with lines of a trace. It uses names
 * instead of ids, and answers are JSON with more details (witnesses, victims, reasons). event loop
 * Poll gordian_client_fd for gordian_client_events, for at most gordian_client_timeout
 * milliseconds, then call gordian_client_work.
 *
 * Ids are assigned by the service. They are the same for all clients of a system, and after a
 * restart.
 *
 * Sessions. The service identifies a client by its session. With a lease, a session outlives its
 * connection: when the connection breaks, the library reconnects, resumes the session and resends
 * events without an answer. Events are numbered, so none is applied twice. A session ends with
 * gordian_client_close, or when the service receives nothing from it for the length of its lease.
 * Everything that the processes of the client held and waited for is then released (or kept, see
 * `keep`). Without a lease the session ends with the connection. The library renews the lease while
 * it waits in one of these functions. A program that computes for longer than a third of its lease
 * must call gordian_client_work in between.
 *
 * Encryption. tcp:// is not encrypted; use it for loopback, or through an encrypted tunnel. tls://
 * always checks the certificate and the name of the service, and this cannot be disabled. The
 * certificate must be for the host of the URI (or tls_name) and come from an authority in tls_ca or
 * in the system store. The minimum is TLS 1.2, and the library never falls back to plain text.
 * tls:// needs OpenSSL when the library is built, and is GORDIAN_STATUS_UNAVAILABLE otherwise. The
 * memory of OpenSSL does not come from `allocator`.
 *
 * The conventions are those of gordian.h: functions return a status and a message, write outputs
 * only on success, use no globals and print nothing. Only one thread at a time may use a client.
 * Different clients are independent. SIGPIPE is never raised.
 */
#ifndef GORDIAN_CLIENT_H
#define GORDIAN_CLIENT_H

#include <gordian/gordian.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gordian_client gordian_client;

#define GORDIAN_SESSION_SIZE 16

/* An outcome in addition to those of gordian_outcome: the service has applied the event, but its
 * answer was lost with a connection. gordian_client_state returns the current state. Functions that
 * wait for an answer query the state themselves. They return this outcome only if the state is not
 * conclusive: it does not show whether a release was refused, or a request that neither waits nor
 * is granted. */
#define GORDIAN_APPLIED 255

/* The answer to an event. `outcome` is a gordian_outcome and `refusal` is a gordian_refusal. In a
 * system that avoids deadlocks they are a gordian_verdict and a gordian_reason
 * (GORDIAN_VERDICT_GRANTED and GORDIAN_OUTCOME_GRANTED have the same value). */
typedef struct gordian_reply {
    gordian_status status; /* GORDIAN_OK: answered. Otherwise there is no answer, see `message` */
    uint8_t outcome;
    uint8_t refusal;
    bool waits;             /* the request is waiting now */
    uint64_t number;        /* of the event in its session, from 1 */
    uint64_t fence;         /* fencing token of the grant; 0: unknown (see gordian_client_fence) */
    const uint32_t *served; /* processes whose waiting requests it granted, in order; valid in the
                               callback, or until the next call on the client */
    size_t served_count;
    const char *message; /* why there is no answer; NULL if there is one */
    unsigned code;       /* error code of the service, see docs/reference/protocol.md; 0: none */
    /* For a line: */
    uint32_t process; /* the process of the event; GORDIAN_NONE: unknown, or no event */
    const char *json; /* the complete answer, valid in the callback; without a NUL */
    size_t json_length;
} gordian_reply;

/* A callback may call gordian_client_send, _send_batch and functions that only read the client, but
 * no function that waits (GORDIAN_STATUS_INPUT). */
typedef void gordian_reply_function(void *context, const gordian_reply *reply);
/* A waiting request of a process of this session was granted. */
typedef void gordian_granted_function(void *context, uint32_t process);
typedef enum gordian_notice {
    GORDIAN_NOTICE_DEADLOCK = 1, /* a deadlock formed or ended, or a victim was chosen */
    GORDIAN_NOTICE_EVENT,        /* an event of another session */
    GORDIAN_NOTICE_GAP,          /* notifications may be missing: see gordian_client_subscribe */
} gordian_notice;

/* A notification: a JSON object of `length` bytes, without a NUL. Programs should ignore kinds that
 * they do not know. */
typedef void gordian_notice_function(void *context, gordian_notice notice, const char *json,
                                     size_t length);
/* The connection broke (`connected` is false, and `why` is the reason) or was restored. */
typedef void gordian_link_function(void *context, bool connected, const char *why);

typedef enum gordian_service_kind {
    GORDIAN_SERVICE_KIND_DETECTS = 1, /* grants free units, and reports deadlocks */
    GORDIAN_SERVICE_KIND_AVOIDS,      /* grants only requests that stay safe */
} gordian_service_kind;

typedef struct gordian_client_options {
    const char *name;       /* shown to operators of the service; NULL: none */
    const char *token;      /* for authentication; required over TCP. NULL: none */
    const char *system;     /* initial system; NULL: "default" */
    const uint8_t *session; /* GORDIAN_SESSION_SIZE bytes: resume this session, or fail with
                               GORDIAN_STATUS_UNAVAILABLE if it has ended; NULL: a new one */
    uint32_t lease_ms;      /* 0 (default): the session ends with the connection */
    bool keep;              /* when the session ends, its processes keep their units */
    uint32_t timeout_ms;    /* for connecting, and for an answer (10 000) */
    uint32_t connect_ms;    /* only for connecting; 0: timeout_ms */
    bool patient;    /* wait for a connected service that does not answer; it may be unable to store
                        data now. Otherwise the connection is treated as dead after timeout_ms */
    uint32_t window; /* maximum number of unanswered events (65 536) */
    gordian_service_kind
        open; /* 0: `system` must exist. Otherwise it is made, like this, if there */
    const char *open_options; /* is none: see gordian_client_open_system */
    int *code; /* NULL, or receives the reason if the client cannot connect or is rejected: the
                  error code of the service, or a negative errno. Must outlive the client */
    gordian_granted_function *granted; /* NULL: no callback */
    gordian_notice_function *notice;
    gordian_link_function *link;
    void *context; /* passed to the three callbacks */
    /* For tls://. Rejected over tcp://, and not needed over a Unix socket. */
    const char *tls_ca;   /* PEM file of trusted authorities; NULL: those of the system (of OpenSSL,
                             or of SSL_CERT_FILE in the environment) */
    const char *tls_name; /* name or IP address in the certificate; NULL: the host of the URI */
    const char *tls_certificate;        /* PEM files: client certificate with its chain, and */
    const char *tls_key;                /* its key, if the service requires one; NULL: none */
    const gordian_allocator *allocator; /* NULL: that of the C library; must outlive the client */
} gordian_client_options;

/* Sets every option to its default. */
GORDIAN_API void gordian_client_options_init(gordian_client_options *options);

/* ------------------------------------------------------------------ connecting */

/* Connects and opens a session. `uri` is "unix:/path", "tcp://host:port" (or "gordian://..."),
 * "tls://host:port", or several addresses separated by commas, "gordian://a:7420,b:7420". Several
 * addresses are servers with the same store (docs/guide/cluster.md); the client finds the current
 * leader, now and later. NULL: GORDIAN_SERVICE in the environment, or the default socket of the
 * service (gordian_client_usual_uri). GORDIAN_STATUS_IO: no server answers, or it closes the
 * connection. GORDIAN_STATUS_INPUT: an invalid URI, a wrong token, no such system, or an untrusted
 * certificate. On failure *out is NULL. */
GORDIAN_API gordian_status gordian_client_open(gordian_client **out, const char *uri,
                                               const gordian_client_options *options,
                                               gordian_error *error);
/* Ends the session: sends queued events, ends the session in the service, waits for the
 * confirmation (at most for the timeout), and frees the client. NULL is allowed. Callbacks are no
 * longer called. */
GORDIAN_API void gordian_client_close(gordian_client *client);
/* Frees the client without ending the session: it lives until its lease expires and can be resumed.
 * Unanswered events may or may not have been applied. */
GORDIAN_API void gordian_client_leave(gordian_client *client);

/* Writes the default address of `gordian serve` to a buffer of the caller and returns it. */
GORDIAN_API const char *gordian_client_usual_uri(char *buffer, size_t size);

/* Returns the value for gordian_client_options.session to resume after a restart of the program. */
GORDIAN_API void gordian_client_session(const gordian_client *client,
                                        uint8_t session[GORDIAN_SESSION_SIZE]);
/* Returns the number of the last event that the service had applied when the session was opened or
 * resumed. A program that resumes need not send events up to this number. */
GORDIAN_API uint64_t gordian_client_last_applied(const gordian_client *client);
/* Returns the newest fencing token from the service. Pass it to the protected resource, which must
 * refuse tokens smaller than the largest it has seen. The token during a grant is larger than that
 * of any earlier owner and smaller than that of any later owner, also after a restart of the
 * service or a failover. 0: there is no token. docs/guide/cluster.md has an example. */
GORDIAN_API uint64_t gordian_client_fence(const gordian_client *client);
/* The version, "0.2.0"; the durability of an answer: "none", "batch" or "full". */
GORDIAN_API const char *gordian_client_server_version(const gordian_client *client);
GORDIAN_API const char *gordian_client_durability(const gordian_client *client);

/* ------------------------------------------------------------------ systems and names */

/* Creates a system if the name is new, and uses it. `options` are as in `gordian serve`:
 * "engine=sparse on-loss=drop"; NULL: none. An existing system must have the same configuration. */
GORDIAN_API gordian_status gordian_client_open_system(gordian_client *client, const char *name,
                                                      gordian_service_kind kind,
                                                      const char *options, gordian_error *error);
/* Uses an existing system. */
GORDIAN_API gordian_status gordian_client_use(gordian_client *client, const char *name,
                                              gordian_error *error);

/* The kind of the system in use. */
GORDIAN_API gordian_service_kind gordian_client_kind(const gordian_client *client);

/* A process, or a resource with its units. In a system that avoids deadlocks a process has
 * claims. */
typedef struct gordian_declaration {
    const char *name;
    bool is_resource;
    uint64_t units;             /* of a resource */
    const gordian_want *claims; /* of a process */
    size_t claim_count;
} gordian_declaration;

/* Declares all of them in one message. A known name returns its id. ids[i] is GORDIAN_NONE if a
 * declaration was refused: another number of units, or a claim that cannot be met. */
GORDIAN_API gordian_status gordian_client_declare(gordian_client *client,
                                                  const gordian_declaration *declarations,
                                                  size_t count, uint32_t *ids,
                                                  gordian_error *error);
/* Declare a single one. GORDIAN_STATUS_INPUT if it is refused. */
GORDIAN_API gordian_status gordian_client_add_resource(gordian_client *client, const char *name,
                                                       uint64_t units, uint32_t *id,
                                                       gordian_error *error);
GORDIAN_API gordian_status gordian_client_add_process(gordian_client *client, const char *name,
                                                      uint32_t *id, gordian_error *error);

/* Guides the choice of a victim: low priority and low cost are chosen first. */
GORDIAN_API gordian_status gordian_client_weigh(gordian_client *client, uint32_t process,
                                                int64_t priority, int64_t cost,
                                                gordian_error *error);
/* Sets labels of a process or a resource, each "KEY:VALUE". It replaces the existing label with
 * this key, and "KEY:" removes it. There may be up to 16 labels. A key has up to 63 bytes, and a
 * label has up to 255. All labels are set, or none: GORDIAN_STATUS_INPUT. */
GORDIAN_API gordian_status gordian_client_label(gordian_client *client, bool resource, uint32_t id,
                                                const char *const *labels, size_t count,
                                                gordian_error *error);
/* Removes processes or resources without holds and waits, all of them or none. There is one
 * exception: a very large removal (tens of thousands) that fails because another client has started
 * to use an id may have removed some of them. */
GORDIAN_API gordian_status gordian_client_remove(gordian_client *client, bool resources,
                                                 const uint32_t *ids, size_t count,
                                                 gordian_error *error);
/* Removes a system. GORDIAN_STATUS_INPUT while there are holds or waits in it. */
GORDIAN_API gordian_status gordian_client_close_system(gordian_client *client, const char *name,
                                                       gordian_error *error);

/* ------------------------------------------------------------------ one by one */

/* Each function sends one event and waits for its answer. */
GORDIAN_API gordian_status gordian_client_event(gordian_client *client, const gordian_event *event,
                                                gordian_reply *reply, gordian_error *error);
GORDIAN_API gordian_status gordian_client_request(gordian_client *client, uint32_t process,
                                                  uint32_t resource, uint64_t units,
                                                  gordian_reply *reply, gordian_error *error);
GORDIAN_API gordian_status gordian_client_release(gordian_client *client, uint32_t process,
                                                  uint32_t resource, uint64_t units,
                                                  gordian_reply *reply, gordian_error *error);
GORDIAN_API gordian_status gordian_client_cancel(gordian_client *client, uint32_t process,
                                                 gordian_reply *reply, gordian_error *error);
GORDIAN_API gordian_status gordian_client_exit(gordian_client *client, uint32_t process,
                                               gordian_reply *reply, gordian_error *error);
/* Waits for acts of others, like gordian_await. The reply is that of a waiting request, and
 * gordian_client_wait_granted returns when enough processes have acted. All of them must be
 * declared, in any session. */
GORDIAN_API gordian_status gordian_client_await(gordian_client *client, uint32_t process,
                                                const uint32_t *others, size_t count, size_t needed,
                                                gordian_reply *reply, gordian_error *error);
/* `process` acts for `to`, or with GORDIAN_NONE for all processes that await it. */
GORDIAN_API gordian_status gordian_client_act(gordian_client *client, uint32_t process, uint32_t to,
                                              gordian_reply *reply, gordian_error *error);

#define GORDIAN_FOREVER UINT32_MAX

/* Requests, all or nothing, and waits for the grant. The outcome is GORDIAN_OUTCOME_GRANTED or the
 * reason for failure. GORDIAN_OUTCOME_DEADLOCK and GORDIAN_OUTCOME_DOOMED are returned at once, and
 * GORDIAN_OUTCOME_BLOCKED after the timeout; the request is then cancelled. A process that was
 * chosen as a victim while it waited gets GORDIAN_OUTCOME_EXITED. A refused request is
 * GORDIAN_OUTCOME_REFUSED. */
GORDIAN_API gordian_status gordian_client_acquire(gordian_client *client, uint32_t process,
                                                  const gordian_want *wants, size_t count,
                                                  uint32_t timeout_ms, gordian_reply *reply,
                                                  gordian_error *error);
/* Waits until a request that was answered with GORDIAN_OUTCOME_BLOCKED is granted: GORDIAN_OK.
 * GORDIAN_STATUS_END: the timeout expired, and the request is still waiting. */
GORDIAN_API gordian_status gordian_client_wait_granted(gordian_client *client, uint32_t process,
                                                       uint32_t timeout_ms, gordian_error *error);

/* ------------------------------------------------------------------ pipelined */

/* Queues an event. It is sent when enough events are queued or when the library next waits.
 * `answered` (NULL: none) is called once, from a later call on the client. The function waits only
 * while the window is full. */
GORDIAN_API gordian_status gordian_client_send(gordian_client *client, const gordian_event *event,
                                               gordian_reply_function *answered, void *context,
                                               gordian_error *error);
/* The same for several events. `answered` is called for each, in order. *sent counts the queued
 * events, also on failure; it may be NULL. */
GORDIAN_API gordian_status gordian_client_send_batch(gordian_client *client,
                                                     const gordian_event *events, size_t count,
                                                     gordian_reply_function *answered,
                                                     void *context, size_t *sent,
                                                     gordian_error *error);
/* The same for a line of a trace, without its newline. The line is an event, or (`event` false) a
 * declaration, which is also answered, with outcome 0 if it was accepted. If the service rejects
 * the line itself, not its event, the reply has a status, a message and a code. */
GORDIAN_API gordian_status gordian_client_send_line(gordian_client *client, const char *line,
                                                    size_t length, bool event,
                                                    gordian_reply_function *answered, void *context,
                                                    gordian_error *error);
/* Passes queued events to the kernel, as far as possible without waiting. */
GORDIAN_API gordian_status gordian_client_flush(gordian_client *client, gordian_error *error);
/* Waits until all events are answered. GORDIAN_STATUS_END: the timeout expired. */
GORDIAN_API gordian_status gordian_client_drain(gordian_client *client, uint32_t timeout_ms,
                                                gordian_error *error);
/* The number of unanswered events. */
GORDIAN_API size_t gordian_client_unanswered(const gordian_client *client);

/* ------------------------------------------------------------------ event loop integration */

/* The descriptor changes when the library reconnects: get it before every poll. -1: none now. */
GORDIAN_API int gordian_client_fd(const gordian_client *client);
/* The events to poll for: POLLIN, POLLOUT. */
GORDIAN_API short gordian_client_events(const gordian_client *client);
/* Call gordian_client_work within this many milliseconds; -1: no limit. */
GORDIAN_API int gordian_client_timeout(const gordian_client *client);
/* Reads and writes without waiting, and calls the callbacks. A failure is final: all unanswered
 * events have been reported as failed, and the client can only be closed. */
GORDIAN_API gordian_status gordian_client_work(gordian_client *client, gordian_error *error);

/* ------------------------------------------------------------------ queries */

enum {
    GORDIAN_MY_GRANTS = 1,     /* on by default */
    GORDIAN_MY_DEADLOCKS = 2,  /* own processes in a deadlock, or chosen as victims */
    GORDIAN_ALL_DEADLOCKS = 4, /* all deadlocks of the system */
    GORDIAN_ALL_EVENTS = 8,
};

/* Selects the notifications for the system in use. Deadlocks and events are passed to `notice`.
 *
 * A client with a lease that has lost its connection, or whose server is no longer the leader,
 * subscribes again automatically: to the same notifications, in the same system, at the current
 * leader. Notifications in between are lost. The first notification of each later connection is
 * therefore GORDIAN_NOTICE_GAP, which the library generates. {"gap":{"from":12,"seq":20}} means
 * that notifications of events 13 to 20 may be missing. (The numbers include the client's own
 * events, which are never reported. With 12 and 12 no event is missing, but a deadlock may be.)
 * {"gap":{}} means that the range is unknown, as always without GORDIAN_ALL_EVENTS. "history"
 * (gordian_client_ask) returns missed deadlocks. A subscription made with a line ("subscribe all",
 * "use other") applies only to the connection and is not repeated. */
GORDIAN_API gordian_status gordian_client_subscribe(gordian_client *client, unsigned mask,
                                                    gordian_error *error);

/* Returns how a request would be answered now. Nothing changes. */
GORDIAN_API gordian_status gordian_client_what_if(gordian_client *client,
                                                  const gordian_event *request,
                                                  gordian_reply *reply, gordian_error *error);

/* The lists are valid until the next call on the client. */
typedef struct gordian_process_state {
    bool known, waiting, deadlocked;
    uint64_t waiting_ms; /* time since the wait started */
    const gordian_want *held, *wanted;
    size_t held_count, wanted_count;
} gordian_process_state;

/* Queries what a process holds and waits for. The lists are valid until the next call. */
GORDIAN_API gordian_status gordian_client_state(gordian_client *client, uint32_t process,
                                                gordian_process_state *state, gordian_error *error);

/* Sends a query line of docs/reference/protocol.md ("state", "what-if ann fork", "history since=0")
 * and waits for the answer: a JSON object with a NUL at the end, valid until the next call on the
 * client. */
GORDIAN_API gordian_status gordian_client_ask(gordian_client *client, const char *line,
                                              const char **json, size_t *length,
                                              gordian_error *error);

/* Makes a round trip to the service. */
GORDIAN_API gordian_status gordian_client_ping(gordian_client *client, gordian_error *error);

#ifdef __cplusplus
}
#endif

#endif
