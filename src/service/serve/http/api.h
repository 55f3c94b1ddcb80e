/* What the service answers over HTTP: JSON for programs and the page, metrics, health.
 *
 *     GET  /api/v1/systems[?label=KEY:VALUE]
 *     GET  /api/v1/systems/NAME/graph[?around=NODE&depth=N&limit=N&only=deadlocked|waiting&label=]
 *     GET  /api/v1/systems/NAME/graph?at=MS    the same of a moment in the past
 *     GET  /api/v1/past                        how far back that goes
 *     GET  /api/v1/cluster                     who leads, who stands by
 *     GET  /api/v1/systems/NAME/blockers[?limit=N&label=][?under=P]
 *     GET  /api/v1/systems/NAME/labels         which there are, and how many have each
 *     POST /api/v1/systems/NAME/label          {"process":P,"labels":["KEY:VALUE","KEY:"]}
 *     GET  /api/v1/systems/NAME/feed[?from=N]  server-sent events: see feed_subscribers.h
 *     GET  /api/v1/systems/NAME/chain?process=P
 *     POST /api/v1/systems/NAME/what-if        {"process":P,"wants":[{"resource":Q,"units":N}]}
 *     POST /api/v1/systems/NAME/end            {"process":P,"reason":TEXT}: P exits
 *     POST /api/v1/systems/NAME/cancel         the same: P waits no more
 *     GET  /api/v1/audit[?system=&process=&since=&until=&limit=&before=]
 *     GET  /api/v1/incidents[?system=&process=&since=&until=&open=1&ended=1&limit=&before=]
 *     GET  /api/v1/incidents/ID
 *     GET  /api/v1/rates[?seconds=600&system=NAME]
 *     GET  /api/v1/stream[?system=NAME]        server-sent events: see sse.h
 *     POST /api/v1/login  {"token":T}          sets a cookie;  POST /api/v1/logout ends it
 *     GET  /metrics  /healthz  /readyz  /  /assets/...
 *
 * Times are ms since 1970. Everything runs in the loop's thread and must be quick: whatever grows
 * with a system has a limit, and a thread of its own looks into the history of incidents. An answer
 * is written into an `output` in memory with the one JSON writer (a long one by a thread, from a
 * copy: api_write_apart); a handler returns the status, and for one that is not 200 what went
 * wrong, in words. docs/guide/serve.md describes every answer.
 */
#ifndef GORDIAN_SERVICE_SERVE_HTTP_API_H
#define GORDIAN_SERVICE_SERVE_HTTP_API_H

#include "foundation/base/json/value.h"
#include "service/serve/auth/auth.h"
#include "service/serve/core/service.h"
#include "service/serve/http/blockers.h"
#include "service/serve/http/http.h"
#include "service/serve/http/metrics_rates.h"
#include "service/serve/store/store.h"

#define API_COOKIE      "gordian_session"
#define API_NODES_MAX   2000 /* of a graph */
#define API_EDGES_MAX   8000 /* of it */
#define API_SIDE_MAX    2000 /* edges looked at of one node */
#define API_CHAIN_MAX   200  /* processes of a wait chain */
#define API_HOLDERS_MAX 100  /* named of one resource in a wait chain */
#define API_WITNESS_MAX 2000 /* edges of a witness in it */
#define API_AHEAD_MAX   2000 /* processes looked at for one */
#define API_WANTS_MAX   64   /* of a what-if question */

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
    const char *address;               /* of this server, for other servers' clients; NULL: none */
    struct questions *writers;         /* a thread for long answers; NULL: none */
    struct past_desk *past;            /* NULL: nobody has asked yet, or nothing is kept */
    struct api_held *held, **held_end; /* answers whose records are not kept yet */
    struct graph_work *graph;          /* that is being copied; NULL: none */
    uint32_t looked;                   /* of a very large system: up to here, for the last graph */
    /* Are events taken and kept? */
    bool (*ready)(void *context, const char **why);
    void *ready_context;
};

/* Sends what may be sent now: at the end of a turn. */
void api_flush(struct api *api);
/* The connections of those that wait are gone, or about to be. */
void api_close(struct api *api);

/* Given to httpd as its handler; `context` is a struct api. */
void api_handle(void *context, struct http_connection *connection,
                const struct http_request *request, const char *body, size_t length);

/* ------------------------------------------------------------------ the handlers' interface */

struct api_call {
    struct api *api;
    struct http_connection *connection;
    const struct http_request *request;
    const char *body;
    size_t length;
    struct auth_grant grant; /* of whoever asks */
    struct served *system;   /* of paths below /systems/NAME */
    struct output out;       /* the answer */
    char message[300];       /* of a status that is not 200 */
    char headers[200];       /* more of them, each with CR LF */
};

#define API_LATER 0    /* a status: the answer will come later, and then http_go_on */
#define API_AGAIN (-1) /* another: the request will be handed over again, see http_again */

/* Answers with what `call` has, its output or its message, when this record is kept: false: that is
 * yet to come, and is seen to. */
bool api_reply_kept(struct api_call *call, int status, uint64_t number);
/* Returns the status, with the message for one that is not 200. */
int api_fail(struct api_call *call, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* For a library function that failed. */
int api_broken(struct api_call *call, const gordian_error *error);
/* A number of the query: `fallback` if it is not there, at most `most`; false: not a number. */
bool api_number(const struct api_call *call, const char *key, uint64_t fallback, uint64_t most,
                uint64_t *value);
/* The system of this name, if there is one for whoever asks. */
struct served *api_system(const struct api_call *call, const char *name);
/* label=KEY:VALUE of the query; "": none. */
const char *api_label(const struct api_call *call);
/* The body as JSON, in an arena that this makes; NULL: it is none. A status: 415 if it does not
 * claim to be. */
int api_read_body(struct api_call *call, struct arena *arena, const struct value **body);
/* "1", "true", "yes" */
bool api_flag(const struct api_call *call, const char *key);

/* An answer that a thread looks for. `missing`, `said`: a status, and a message unless NULL, for
 * what ends with GORDIAN_STATUS_END. Its `done` is api_later_answer. */
struct api_later;
struct api_later *api_later_new(struct api_call *call, int missing, const char *said);
void api_later_answer(void *later);
/* The question was asked, or could not be (NULL). A status. */
int api_later_begin(struct api_call *call, struct api_later *later, struct question *question);
/* A long answer, from a copy of what it tells: the thread writes it, and drops the copy. False: the
 * thread has enough to do, or there is none, and the copy is the caller's still. */
bool api_write_apart(struct api_call *call, const struct question_work *what, int *status);

/* A graph: of which system, and which part of it. */
struct graph_ask {
    const struct service *service;
    struct served *system;
    const uint64_t *dead; /* set of processes that can never run again */
    size_t dead_words;
    const char *around, *only, *label; /* NULL or "": not said */
    uint64_t depth, limit;
    uint64_t at;      /* ms since 1970, in the past; 0: now */
    uint32_t *looked; /* of a very large system: up to here, the last time */
};

#define GRAPH_MESSAGE 300 /* as that of a call */

/* Writes the members of an object that is open. A status, as of a handler. */
int graph_write(const struct graph_ask *ask, struct json *json, char message[GRAPH_MESSAGE]);

int api_systems(struct api_call *call);
int api_graph(struct api_call *call);
/* Nobody goes on with the graph that was begun. */
void api_drop_graph(struct api *api);
int api_past_graph(struct api_call *call, const struct graph_ask *ask);
int api_past(struct api_call *call);
int api_cluster(struct api_call *call);
/* Nobody asks about the past any more; what is under way ends soon. */
void api_past_close(struct api *api);
int api_chain(struct api_call *call);
int api_what_if(struct api_call *call);
int api_incidents(struct api_call *call);
int api_incident(struct api_call *call, const char *id);
int api_rates(struct api_call *call);
int api_login(struct api_call *call);
/* Who asks, for the trail. */
const char *api_who(const struct api_call *call);
int api_end(struct api_call *call);
int api_cancel(struct api_call *call);
int api_audit(struct api_call *call);
int api_set_labels(struct api_call *call);
int api_labels(struct api_call *call);
int api_blockers(struct api_call *call);
int api_feed(struct api_call *call);

/* Is everything kept that has been applied? While nothing can be, what is asked is answered. */
bool api_is_kept(const struct api *api);

#endif
