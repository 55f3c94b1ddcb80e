/* The HTTP API of the service: JSON for programs and the page, metrics, health.
 *
 *     GET  /api/v1/systems[?label=KEY:VALUE]
 *     GET  /api/v1/systems/NAME/graph[?around=NODE&depth=N&limit=N&only=deadlocked|waiting&label=]
 *     GET  /api/v1/systems/NAME/graph?at=MS    the same at a moment of the past
 *     GET  /api/v1/past                        the earliest such moment
 *     GET  /api/v1/cluster                     leader and standbys
 *     GET  /api/v1/systems/NAME/blockers[?limit=N&label=][?under=P]
 *     GET  /api/v1/systems/NAME/labels         labels and their counts
 *     POST /api/v1/systems/NAME/label          {"process":P,"labels":["KEY:VALUE","KEY:"]}
 *     GET  /api/v1/systems/NAME/feed[?from=N]  server-sent events: see feed_subscribers.h
 *     GET  /api/v1/systems/NAME/chain?process=P
 *     POST /api/v1/systems/NAME/what-if        {"process":P,"wants":[{"resource":Q,"units":N}]}
 *     POST /api/v1/systems/NAME/end            {"process":P,"reason":TEXT}: P exits
 *     POST /api/v1/systems/NAME/cancel         the same: cancels the wait of P
 *     GET  /api/v1/audit[?system=&process=&since=&until=&limit=&before=]
 *     GET  /api/v1/incidents[?system=&process=&since=&until=&open=1&ended=1&limit=&before=]
 *     GET  /api/v1/incidents/ID
 *     GET  /api/v1/rates[?seconds=600&system=NAME]
 *     GET  /api/v1/stream[?system=NAME]        server-sent events: see sse.h
 *     POST /api/v1/login  {"token":T}          sets a cookie;  POST /api/v1/logout ends it
 *     GET  /metrics  /healthz  /readyz  /  /assets/...
 *
 * Times are ms since 1970. The handlers run in the event loop and must be fast: everything that
 * grows with a system has a limit, and a thread queries the history of incidents. A response is
 * written to an `output` in memory with the JSON writer; a thread writes long ones from a copy
 * (api_write_in_thread). A handler returns the HTTP status, with a message unless the status is
 * 200. docs/guide/serve.md describes all responses.
 */
#pragma once

#include "foundation/base/json/value.h"
#include "service/serve/auth/auth.h"
#include "service/serve/core/service.h"
#include "service/serve/http/blockers.h"
#include "service/serve/http/http.h"
#include "service/serve/http/metrics_rates.h"
#include "service/serve/store/store.h"

#define API_COOKIE      "gordian_session"
#define API_NODES_MAX   2000 /* nodes of a graph */
#define API_EDGES_MAX   8000 /* edges of a graph */
#define API_SIDE_MAX    2000 /* edges examined per node */
#define API_CHAIN_MAX   200  /* processes of a wait chain */
#define API_HOLDERS_MAX 100  /* holders listed per resource of a wait chain */
#define API_WITNESS_MAX 2000 /* edges of a witness in a wait chain */
#define API_AHEAD_MAX   2000 /* processes examined for a witness */
#define API_WANTS_MAX   64   /* wants of a what-if question */

struct sse;
struct followers;

struct api {
    struct service *service;
    struct store *store;
    struct auth *auth;
    struct tls *tls; /* NULL: none */
    struct httpd *httpd;
    struct sse *sse;
    struct followers *followers; /* see feed_subscribers.h */
    struct rates rates;
    struct blockers blockers;
    const char *address;       /* of this server, for clients of other servers; NULL: none */
    struct questions *writers; /* a thread for long responses; NULL: none */
    struct past_queries *past; /* NULL: not used yet, or nothing is kept */
    struct held_response *held, **held_end; /* responses that wait for a commit */
    struct graph_work *graph;               /* graph that is being copied; NULL: none */
    uint32_t examined; /* of a very large system: where the last graph stopped */
    /* Are events accepted and committed? */
    bool (*ready)(void *context, const char **why);
    void *ready_context;
};

/* At the end of an iteration: sends what may be sent. */
void api_flush(struct api *api);
/* Frees everything that waits. */
void api_close(struct api *api);

/* The handler for httpd; `context` is a struct api. */
void api_handle(void *context, struct http_connection *connection,
                const struct http_request *request, const char *body, size_t length);

/* ------------------------------------------------------------------ interface of the handlers */

struct api_call {
    struct api *api;
    struct http_connection *connection;
    const struct http_request *request;
    const char *body;
    size_t length;
    struct auth_grant grant; /* of the client */
    struct served *system;   /* of paths below /systems/NAME */
    struct output out;       /* the body of the response */
    char message[300];       /* error message, if the status is not 200 */
    char headers[200];       /* more header lines, each with CR LF */
};

#define API_LATER 0    /* status: the response comes later, followed by http_resume */
#define API_AGAIN (-1) /* status: call the handler again, see http_repeat */

/* Sends the output or message of `call` once this record is committed. False: not yet; it will be
 * sent. */
bool api_reply_kept(struct api_call *call, int status, uint64_t number);
/* Sets the message and returns the status. */
int api_fail(struct api_call *call, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same for a library function that failed. */
int api_broken(struct api_call *call, const gordian_error *error);
/* Reads a number of the query: `fallback` if absent, at most `most`. False: not a number. */
bool api_number(const struct api_call *call, const char *key, uint64_t fallback, uint64_t most,
                uint64_t *value);
/* Returns the system of this name if the client may see it. */
struct served *api_system(const struct api_call *call, const char *name);
/* Returns label=KEY:VALUE of the query, or "". */
const char *api_label(const struct api_call *call);
/* Parses the body as JSON into a new arena; NULL: malformed. Returns a status: 415 for another
 * content type. */
int api_read_body(struct api_call *call, struct arena *arena, const struct value **body);
/* Is it "1", "true" or "yes"? */
bool api_flag(const struct api_call *call, const char *key);

/* A response that a thread prepares. `missing`, `said`: status and message (NULL: the error's) for
 * GORDIAN_STATUS_END. Pass api_deferred_answer as `done`. */
struct api_deferred;
struct api_deferred *api_deferred_new(struct api_call *call, int missing, const char *said);
void api_deferred_answer(void *later);
/* Waits for the question; NULL: it could not be asked. Returns a status. */
int api_deferred_begin(struct api_call *call, struct api_deferred *later,
                       struct question *question);
/* Lets the thread write a long response from a copy, which it then frees. False: no thread is
 * available, and the caller keeps the copy. */
bool api_write_in_thread(struct api_call *call, const struct question_work *what, int *status);

/* Selects a part of a system's graph. */
struct graph_ask {
    const struct service *service;
    struct served *system;
    const uint64_t *dead; /* bit set of deadlocked processes */
    size_t dead_words;
    const char *around, *only, *label; /* NULL or "": absent */
    uint64_t depth, limit;
    uint64_t at;        /* ms since 1970; 0: now */
    uint32_t *examined; /* of a very large system: where the last graph stopped */
};

#define GRAPH_MESSAGE 300 /* size of a call's message */

/* Writes the members of an open object. Returns a status. */
int graph_write(const struct graph_ask *ask, struct json *json, char message[GRAPH_MESSAGE]);

int api_systems(struct api_call *call);
int api_graph(struct api_call *call);
/* Cancels the graph that was started. */
void api_drop_graph(struct api *api);
int api_past_graph(struct api_call *call, const struct graph_ask *ask);
int api_past(struct api_call *call);
int api_cluster(struct api_call *call);
/* Ends point-in-time queries; one in progress ends soon. */
void api_past_close(struct api *api);
int api_chain(struct api_call *call);
int api_what_if(struct api_call *call);
int api_incidents(struct api_call *call);
int api_incident(struct api_call *call, const char *id);
int api_rates(struct api_call *call);
int api_login(struct api_call *call);
/* Returns the name of the client for the audit trail. */
const char *api_who(const struct api_call *call);
int api_end(struct api_call *call);
int api_cancel(struct api_call *call);
int api_audit(struct api_call *call);
int api_set_labels(struct api_call *call);
int api_labels(struct api_call *call);
int api_blockers(struct api_call *call);
int api_feed(struct api_call *call);

/* Are all applied records committed? Also true while nothing can be committed. */
bool api_is_kept(const struct api *api);
