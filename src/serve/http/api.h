/* What the service answers over HTTP: JSON for programs and the page, metrics, health.
 *
 *     GET  /api/v1/systems
 *     GET  /api/v1/systems/NAME/graph[?around=NODE&depth=N&limit=N&only=deadlocked|waiting]
 *     GET  /api/v1/systems/NAME/chain?process=P
 *     POST /api/v1/systems/NAME/what-if        {"process":P,"wants":[{"resource":Q,"units":N}]}
 *     GET  /api/v1/incidents[?system=&process=&since=&until=&open=1&ended=1&limit=&before=]
 *     GET  /api/v1/incidents/ID
 *     GET  /api/v1/rates[?seconds=600&system=NAME]
 *     GET  /api/v1/stream[?system=NAME]        server-sent events: see sse.h
 *     POST /api/v1/login  {"token":T}          sets a cookie;  POST /api/v1/logout ends it
 *     GET  /metrics  /healthz  /readyz  /  /assets/...
 *
 * Times are ms since 1970. Everything runs in the loop's thread and must be quick: whatever grows
 * with a system has a limit, and a thread of its own looks into the history of incidents. An answer
 * is written into an `output` in memory with the one JSON writer; a handler returns the status, and
 * for one that is not 200 what went wrong, in words. docs/serve.md describes every answer.
 */
#ifndef GORDIAN_SERVE_HTTP_API_H
#define GORDIAN_SERVE_HTTP_API_H

#include "serve/auth/auth.h"
#include "serve/http/http.h"
#include "serve/http/metrics_rates.h"
#include "serve/service/service.h"
#include "serve/store/store.h"

#define API_COOKIE      "gordian_session"
#define API_NODES       5000  /* of a graph, unless told otherwise */
#define API_NODES_MAX   20000 /* whatever is told */
#define API_CHAIN_MAX   200   /* processes of a wait chain */
#define API_HOLDERS_MAX 100   /* named of one resource in a wait chain */
#define API_WITNESS_MAX 4000  /* edges of a witness in it */
#define API_AHEAD_MAX   4000  /* processes looked at for one */
#define API_WANTS_MAX   64    /* of a what-if question */

struct sse;

struct api {
    struct service *service;
    struct store *store;
    struct auth *auth;
    struct tls *tls; /* NULL: none */
    struct httpd *httpd;
    struct sse *sse;
    struct rates rates;
    /* Are events taken and kept? */
    bool (*ready)(void *context, const char **why);
    void *ready_context;
};

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
    struct served *system; /* of paths below /systems/NAME */
    struct output out;     /* the answer */
    char message[300];     /* of a status that is not 200 */
    char headers[200];     /* more of them, each with CR LF */
};

#define API_LATER 0 /* a status: the answer will come from api_reply, and then http_go_on */

/* Answers with what `call` has: its output, or its message. */
void api_reply(struct api_call *call, int status);
/* Returns the status, with the message for one that is not 200. */
int api_fail(struct api_call *call, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* For a library function that failed. */
int api_broken(struct api_call *call, const gordian_error *error);
/* A number of the query: `fallback` if it is not there, at most `most`; false: not a number. */
bool api_number(const struct api_call *call, const char *key, uint64_t fallback, uint64_t most,
                uint64_t *value);
/* "1", "true", "yes" */
bool api_flag(const struct api_call *call, const char *key);

int api_systems(struct api_call *call);
int api_graph(struct api_call *call);
int api_chain(struct api_call *call);
int api_what_if(struct api_call *call);
int api_incidents(struct api_call *call);
int api_incident(struct api_call *call, const char *id);
int api_rates(struct api_call *call);
int api_login(struct api_call *call);

#endif
