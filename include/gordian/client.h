/*
 * A client of `gordian serve`, the service that keeps systems for many programs at once.
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
 * Four ways to use it, mixed as you like:
 *   one by one   gordian_client_request and its sisters send an event and wait for its answer;
 *   pipelined    gordian_client_send queues an event with a function to call when its answer is
 *                there; gordian_client_drain waits for all of them. This is the fast way: many
 *                events travel in one message and are kept by the service in one go;
 *   by name      gordian_client_send_line does the same with lines of a trace: names instead of
 * ids, and answers in JSON that tell more (witnesses, victims, why something is unsafe); in your
 * loop poll gordian_client_fd for gordian_client_events, at most gordian_client_timeout
 * milliseconds, then call gordian_client_work.
 *
 * Ids are the service's: the same for all clients of a system, and after a restart.
 *
 * Sessions. The service knows a client by its session. With a lease, a session outlives its
 * connection: when the connection breaks, the library connects anew, goes on with the session and
 * sends again what has no answer yet; events carry numbers, so none is ever applied twice. A
 * session ends with gordian_client_close, or when the service hears nothing of it for the length
 * of its lease: whatever the client's processes held and waited for is then given up (or kept, see
 * `keep`). Without a lease the session ends with the connection. While it waits in one of these
 * functions the library keeps the lease alive by itself; a program that computes for longer than a
 * third of its lease calls gordian_client_work in between.
 *
 * Over tcp:// nothing is encrypted: it is for loopback, or a tunnel that encrypts. Over tls:// the
 * service's certificate and name are always checked, and there is no way around that: the
 * certificate must be for the URI's host (or tls_name) and come from an authority of tls_ca, or of
 * the system's store. TLS 1.2 at least; nothing is ever sent in the clear instead. It needs OpenSSL
 * when the library is built, and is GORDIAN_STATUS_UNAVAILABLE otherwise; OpenSSL's own memory does
 * not come from `allocator`.
 *
 * Conventions are those of gordian.h: a status and a message, outputs written on success only,
 * no globals, no output. Threads: a client is used by one thread at a time; different clients are
 * independent. SIGPIPE is never raised.
 */
#ifndef GORDIAN_CLIENT_H
#define GORDIAN_CLIENT_H

#include <gordian/gordian.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gordian_client gordian_client;

#define GORDIAN_SESSION_SIZE 16

/* An outcome beside those of gordian_outcome: the service has taken the event, but its answer was
 * lost with a connection. gordian_client_state tells how things stand. The functions that wait for
 * an answer ask by themselves, and give this only where the state does not tell: whether a release,
 * or a request that is neither waiting nor granted, had been refused. */
#define GORDIAN_APPLIED 255

/* The answer to an event. `outcome` is a gordian_outcome and `refusal` a gordian_refusal; of a
 * system that avoids deadlocks they are a gordian_verdict and a gordian_reason
 * (GORDIAN_VERDICT_GRANTED and GORDIAN_OUTCOME_GRANTED are the same number). */
typedef struct gordian_reply {
    gordian_status status; /* GORDIAN_OK: answered. Otherwise it never will be, see `message` */
    uint8_t outcome;
    uint8_t refusal;
    bool waits;      /* a request that waits now */
    uint64_t number; /* of the event in its session, from 1 */
    uint64_t fence;  /* of the grant, if it is one; 0: not known (see gordian_client_fence) */
    const uint32_t *served; /* whose waiting requests it served, in order; valid in the callback,
                               or until the next call on the client */
    size_t served_count;
    const char *message; /* why there is no answer; NULL if there is one */
    unsigned code;       /* of the service's error, from docs/reference/protocol.md; 0: none */
    /* Of a line: */
    uint32_t process; /* whose event it was; GORDIAN_NONE: not known, or no event */
    const char *json; /* the whole answer, valid in the callback; not ended by a NUL */
    size_t json_length;
} gordian_reply;

/* From within a callback gordian_client_send, _send_batch and what only looks at the client may be
 * called, and nothing that waits (GORDIAN_STATUS_INPUT). */
typedef void gordian_reply_function(void *context, const gordian_reply *reply);
/* A waiting request of one of this session's processes was served. */
typedef void gordian_granted_function(void *context, uint32_t process);
typedef enum gordian_notice {
    GORDIAN_NOTICE_DEADLOCK = 1, /* one formed or ended, or a victim was chosen */
    GORDIAN_NOTICE_EVENT,        /* an event of somebody else's */
    GORDIAN_NOTICE_GAP,          /* notices may be missing: see gordian_client_subscribe */
} gordian_notice;

/* Something subscribed to happened: a JSON object of `length` bytes, without a NUL. Of kinds that
 * it does not know a program had better take no notice. */
typedef void gordian_notice_function(void *context, gordian_notice notice, const char *json,
                                     size_t length);
/* The connection broke (`connected` false; `why` says how) or is there again. */
typedef void gordian_link_function(void *context, bool connected, const char *why);

typedef enum gordian_service_kind {
    GORDIAN_SERVICE_KIND_DETECTS = 1, /* grants what is free, and says when a deadlock forms */
    GORDIAN_SERVICE_KIND_AVOIDS,      /* grants only what stays safe */
} gordian_service_kind;

typedef struct gordian_client_options {
    const char *name;       /* shown to whoever looks after the service; NULL: none */
    const char *token;      /* lets us in; needed over TCP. NULL: none */
    const char *system;     /* to use from the start; NULL: "default" */
    const uint8_t *session; /* GORDIAN_SESSION_SIZE bytes: goes on with this one, or fails with
                               GORDIAN_STATUS_UNAVAILABLE if it has ended; NULL: a new one */
    uint32_t lease_ms;      /* 0 (default): the session ends with the connection */
    bool keep;              /* when the session ends, its processes keep what they have */
    uint32_t timeout_ms;    /* for connecting, and for an answer of the service (10 000) */
    uint32_t connect_ms;    /* for connecting alone; 0: timeout_ms */
    bool patient;           /* a service that is connected, but silent, is waited for: it may be
                               that it cannot keep things now. Otherwise the connection is taken
                               for dead after timeout_ms */
    uint32_t window;        /* events without an answer yet, at most (65 536) */
    gordian_service_kind
        open; /* 0: `system` must exist. Otherwise it is made, like this, if there */
    const char *open_options; /* is none: see gordian_client_open_system */
    int *code; /* NULL, or where to put, when it cannot connect or the service refuses us, why: the
                  code of the service's error, or an errno with a minus. Must outlive the client */
    gordian_granted_function *granted; /* NULL: not told */
    gordian_notice_function *notice;
    gordian_link_function *link;
    void *context; /* handed to the three */
    /* For tls://. Over tcp:// they are refused, over a Unix socket there is no need for them. */
    const char *tls_ca;          /* PEM file of the authorities to trust; NULL: the system's (what
                                    OpenSSL has, or its environment's SSL_CERT_FILE says) */
    const char *tls_name;        /* what the certificate must be for: a name, or an IP address;
                                    NULL: the host of the URI */
    const char *tls_certificate; /* PEM files: ours, with what is between it and the root, and */
    const char *tls_key;         /* its key, where the service asks for one; NULL: none */
    const gordian_allocator *allocator; /* NULL: the C library's; must outlive the client */
} gordian_client_options;

/* Sets every option to its default. */
GORDIAN_API void gordian_client_options_init(gordian_client_options *options);

/* ------------------------------------------------------------------ connecting */

/* Connects and says hello. `uri`: "unix:/path", "tcp://host:port" (the same as "gordian://..."),
 * "tls://host:port", or several of them with commas between, "gordian://a:7420,b:7420": servers on
 * one store (docs/guide/cluster.md), of which the one that leads is found, now and later. NULL: the
 * environment's GORDIAN_SERVICE, or else the service's usual socket (gordian_client_usual_uri).
 * GORDIAN_STATUS_IO: nobody there, or it hangs up; GORDIAN_STATUS_INPUT: a bad URI, a wrong token,
 * no such system, a certificate that is not trusted. On failure *out is NULL. */
GORDIAN_API gordian_status gordian_client_open(gordian_client **out, const char *uri,
                                               const gordian_client_options *options,
                                               gordian_error *error);
/* Ends the session: sends what is queued, says good-bye, waits for the service to have it (no
 * longer than the timeout), frees. NULL is fine. Callbacks are not called any more. */
GORDIAN_API void gordian_client_close(gordian_client *client);
/* Frees without a word: the session lives until its lease is over and can be resumed. What has no
 * answer yet may or may not have been applied. */
GORDIAN_API void gordian_client_leave(gordian_client *client);

/* Where `gordian serve` listens if not told otherwise, into a caller's buffer; returns it. */
GORDIAN_API const char *gordian_client_usual_uri(char *buffer, size_t size);

/* What to give to gordian_client_options.session to go on after a restart of the program. */
GORDIAN_API void gordian_client_session(const gordian_client *client,
                                        uint8_t session[GORDIAN_SESSION_SIZE]);
/* The number of the last event that the service had applied when the session was opened or resumed:
 * what a program that resumes need not send again. */
GORDIAN_API uint64_t gordian_client_last_applied(const gordian_client *client);
/* A number to show to whatever a lock protects, which refuses everybody with a smaller one than it
 * has seen: the newest that the service has told. Asked for while you hold what was granted, it is
 * greater than that of anybody who held it before you, and smaller than that of anybody who holds
 * it after you; also after the service was restarted, or another server has taken over. 0: the
 * service has told none. docs/guide/cluster.md has an example. */
GORDIAN_API uint64_t gordian_client_fence(const gordian_client *client);
/* "0.2.0"; what an answer promises: "none", "batch", "full". */
GORDIAN_API const char *gordian_client_server_version(const gordian_client *client);
GORDIAN_API const char *gordian_client_durability(const gordian_client *client);

/* ------------------------------------------------------------------ systems and names */

/* Makes a system if there is none of this name, and uses it. `options` as in `gordian serve`:
 * "engine=sparse on-loss=drop", NULL: none. One that exists must have the same configuration. */
GORDIAN_API gordian_status gordian_client_open_system(gordian_client *client, const char *name,
                                                      gordian_service_kind kind,
                                                      const char *options, gordian_error *error);
/* Uses one that exists. */
GORDIAN_API gordian_status gordian_client_use(gordian_client *client, const char *name,
                                              gordian_error *error);

/* What the one in use does. */
GORDIAN_API gordian_service_kind gordian_client_kind(const gordian_client *client);

/* A process, or a resource with its units; a process of a system that avoids has claims. */
typedef struct gordian_declaration {
    const char *name;
    bool is_resource;
    uint64_t units;             /* of a resource */
    const gordian_want *claims; /* of a process */
    size_t claim_count;
} gordian_declaration;

/* Declares all of them in one message; a name that is known gives its id. ids[i] is GORDIAN_NONE
 * where one was refused: another number of units, a claim that cannot be met. */
GORDIAN_API gordian_status gordian_client_declare(gordian_client *client,
                                                  const gordian_declaration *declarations,
                                                  size_t count, uint32_t *ids,
                                                  gordian_error *error);
/* One of them; GORDIAN_STATUS_INPUT if it is refused. */
GORDIAN_API gordian_status gordian_client_add_resource(gordian_client *client, const char *name,
                                                       uint64_t units, uint32_t *id,
                                                       gordian_error *error);
GORDIAN_API gordian_status gordian_client_add_process(gordian_client *client, const char *name,
                                                      uint32_t *id, gordian_error *error);

/* What guides the choice of a victim: low priority and low cost go first. */
GORDIAN_API gordian_status gordian_client_weigh(gordian_client *client, uint32_t process,
                                                int64_t priority, int64_t cost,
                                                gordian_error *error);
/* Labels of a process or a resource, for people to find it by: "KEY:VALUE" each, in place of what
 * there is of that key; "KEY:" takes it away. At most 16 of each; a key has up to 63 bytes, all of
 * it up to 255. All of them, or none: GORDIAN_STATUS_INPUT. */
GORDIAN_API gordian_status gordian_client_label(gordian_client *client, bool resource, uint32_t id,
                                                const char *const *labels, size_t count,
                                                gordian_error *error);
/* Forgets processes, or resources, that nobody holds or waits for: all of them or none. Only of
 * very many (tens of thousands) some are gone if it fails because another client came to use one
 * meanwhile. */
GORDIAN_API gordian_status gordian_client_remove(gordian_client *client, bool resources,
                                                 const uint32_t *ids, size_t count,
                                                 gordian_error *error);
/* Ends a system; GORDIAN_STATUS_INPUT while somebody holds or waits for something in it. */
GORDIAN_API gordian_status gordian_client_close_system(gordian_client *client, const char *name,
                                                       gordian_error *error);

/* ------------------------------------------------------------------ one by one */

/* Each sends one event and waits for its answer. */
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
/* Waits for acts of others, as gordian_await has it: the reply is that of a request that waits, and
 * gordian_client_wait_granted tells when enough have acted. All of them must be declared; whose
 * they are does not matter. */
GORDIAN_API gordian_status gordian_client_await(gordian_client *client, uint32_t process,
                                                const uint32_t *others, size_t count, size_t needed,
                                                gordian_reply *reply, gordian_error *error);
/* `process` has done its part, for `to` or (GORDIAN_NONE) for all that await it. */
GORDIAN_API gordian_status gordian_client_act(gordian_client *client, uint32_t process, uint32_t to,
                                              gordian_reply *reply, gordian_error *error);

#define GORDIAN_FOREVER UINT32_MAX

/* Requests, all or nothing, and waits until it is granted. The outcome is GORDIAN_OUTCOME_GRANTED,
 * or why not: GORDIAN_OUTCOME_DEADLOCK and GORDIAN_OUTCOME_DOOMED come at once,
 * GORDIAN_OUTCOME_BLOCKED when the time is up; the request is then given up and nothing waits any
 * more. A process that was chosen as a victim while it waited gets GORDIAN_OUTCOME_EXITED. A
 * refused request is GORDIAN_OUTCOME_REFUSED. */
GORDIAN_API gordian_status gordian_client_acquire(gordian_client *client, uint32_t process,
                                                  const gordian_want *wants, size_t count,
                                                  uint32_t timeout_ms, gordian_reply *reply,
                                                  gordian_error *error);
/* Waits until a request of this process that was answered GORDIAN_OUTCOME_BLOCKED is served:
 * GORDIAN_OK. GORDIAN_STATUS_END: not within the time; it goes on waiting. */
GORDIAN_API gordian_status gordian_client_wait_granted(gordian_client *client, uint32_t process,
                                                       uint32_t timeout_ms, gordian_error *error);

/* ------------------------------------------------------------------ pipelined */

/* Queues an event and sends it when enough have come together or the library next waits. `answered`
 * (NULL: nobody) is called once, from a later call on the client. Waits itself only while the
 * window is full. */
GORDIAN_API gordian_status gordian_client_send(gordian_client *client, const gordian_event *event,
                                               gordian_reply_function *answered, void *context,
                                               gordian_error *error);
/* The same for several at once: `answered` is called for each, in order. *sent counts those queued,
 * on failure too; it may be NULL. */
GORDIAN_API gordian_status gordian_client_send_batch(gordian_client *client,
                                                     const gordian_event *events, size_t count,
                                                     gordian_reply_function *answered,
                                                     void *context, size_t *sent,
                                                     gordian_error *error);
/* The same for a line of a trace, without its newline: an event, or (`event` false) a declaration,
 * which is answered, too: by an outcome of 0 if it was taken. What the service refuses as a whole
 * (not as an event that makes no sense) has a status, a message and a code. */
GORDIAN_API gordian_status gordian_client_send_line(gordian_client *client, const char *line,
                                                    size_t length, bool event,
                                                    gordian_reply_function *answered, void *context,
                                                    gordian_error *error);
/* Hands what is queued to the kernel, as far as it takes it without waiting. */
GORDIAN_API gordian_status gordian_client_flush(gordian_client *client, gordian_error *error);
/* Waits until everything is answered. GORDIAN_STATUS_END: not within the time. */
GORDIAN_API gordian_status gordian_client_drain(gordian_client *client, uint32_t timeout_ms,
                                                gordian_error *error);
/* Events without an answer so far. */
GORDIAN_API size_t gordian_client_unanswered(const gordian_client *client);

/* ------------------------------------------------------------------ in your own loop */

/* Changes when the library connects anew: ask before every poll. -1: none at the moment. */
GORDIAN_API int gordian_client_fd(const gordian_client *client);
/* POLLIN, POLLOUT: what to poll for. */
GORDIAN_API short gordian_client_events(const gordian_client *client);
/* Call gordian_client_work after this many milliseconds at the latest; -1: no hurry. */
GORDIAN_API int gordian_client_timeout(const gordian_client *client);
/* Reads and writes what there is, without waiting, and calls the callbacks. A failure is final:
 * everything unanswered has been told so, and the client can only be closed. */
GORDIAN_API gordian_status gordian_client_work(gordian_client *client, gordian_error *error);

/* ------------------------------------------------------------------ questions */

enum {
    GORDIAN_MY_GRANTS = 1,     /* on from the start */
    GORDIAN_MY_DEADLOCKS = 2,  /* my processes in a deadlock, or chosen as victims */
    GORDIAN_ALL_DEADLOCKS = 4, /* every deadlock of the system */
    GORDIAN_ALL_EVENTS = 8,
};

/* What to be told of the system in use. Deadlocks and events come to `notice`.
 *
 * A client with a lease that has lost its connection, or whose server leads no more, subscribes
 * again by itself: to the same, in the same system, at whichever server leads then. What happened
 * meanwhile it is not told. So the first notice of every connection but the first is one of the
 * library's own, GORDIAN_NOTICE_GAP: {"gap":{"from":12,"seq":20}} says that of the system's events
 * 13 to 20 some or all were not told (one's own, which never are, count, too; with 12 and 12 none
 * is missing but, maybe, a deadlock). {"gap":{}}: it is not known which, as always without
 * GORDIAN_ALL_EVENTS. "history" (gordian_client_ask) has the deadlocks that were missed. Said in a
 * line ("subscribe all", "use other") it is the connection's alone, and not said again. */
GORDIAN_API gordian_status gordian_client_subscribe(gordian_client *client, unsigned mask,
                                                    gordian_error *error);

/* What a request would be answered if it were made now; nothing changes. */
GORDIAN_API gordian_status gordian_client_what_if(gordian_client *client,
                                                  const gordian_event *request,
                                                  gordian_reply *reply, gordian_error *error);

/* The lists stay valid until the next call on the client. */
typedef struct gordian_process_state {
    bool known, waiting, deadlocked;
    uint64_t waiting_ms; /* for so long */
    const gordian_want *held, *wanted;
    size_t held_count, wanted_count;
} gordian_process_state;

/* Asks what a process holds and waits for, and waits for the answer. The lists last until the next
 * call. */
GORDIAN_API gordian_status gordian_client_state(gordian_client *client, uint32_t process,
                                                gordian_process_state *state, gordian_error *error);

/* Asks in a line of docs/reference/protocol.md ("state", "what-if ann fork", "history since=0") and
 * waits for the answer: a JSON object, ended by a NUL, valid until the next call on the client. */
GORDIAN_API gordian_status gordian_client_ask(gordian_client *client, const char *line,
                                              const char **json, size_t *length,
                                              gordian_error *error);

/* Goes to the service and back. */
GORDIAN_API gordian_status gordian_client_ping(gordian_client *client, gordian_error *error);

#ifdef __cplusplus
}
#endif

#endif
