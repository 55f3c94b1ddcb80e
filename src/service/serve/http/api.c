/* Routes of the HTTP API: authorization and dispatch. */
#include "service/serve/http/api.h"
#include "foundation/http/prometheus.h"

#include "foundation/base/json/json_read.h"

#include "foundation/base/clock.h"
#include "foundation/base/io/reader.h"
#include "foundation/base/memory.h"
#include "service/serve/auth/tls.h"
#include "service/serve/core/metrics.h"
#include "service/serve/http/feed_subscribers.h"
#include "service/serve/http/page.h"
#include "service/serve/http/sse.h"

#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define API_HEADERS                                                                                \
    "Cache-Control: no-store\r\n"                                                                  \
    "X-Content-Type-Options: nosniff\r\n"                                                          \
    "Referrer-Policy: no-referrer\r\n"                                                             \
    "Cross-Origin-Resource-Policy: same-origin\r\n"                                                \
    "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\n"

/* Header for responses of a leader that may have been replaced: they show committed state, which
 * may be out of date. */
#define API_STALE "Warning: 110 gordian \"Response is Stale\"\r\n"

/* ------------------------------------------------------------------ helpers */

int api_fail(struct api_call *call, int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(call->message, sizeof call->message, format, arguments);
    va_end(arguments);
    return status;
}

int api_broken(struct api_call *call, const gordian_error *error)
{
    int status = error->status == GORDIAN_STATUS_INPUT ? 400 : 503;
    return api_fail(call, status, "%.200s", error->message);
}

bool api_number(const struct api_call *call, const char *key, uint64_t fallback, uint64_t most,
                uint64_t *value)
{
    const char *why, *text = http_query(call->request, key);
    *value = fallback;
    if (text && *text && !parse_u64(text, strlen(text), value, &why))
        return false;
    if (*value > most)
        *value = most;
    return true;
}

const char *api_label(const struct api_call *call)
{
    const char *text = http_query(call->request, "label");
    return text ? text : "";
}

int api_read_body(struct api_call *call, struct arena *arena, const struct value **body)
{
    gordian_allocator memory = memory_allocator(NULL);
    arena_init(arena, &memory);
    *body = NULL;
    if (!http_is_json(call->request->content_type))
        return api_fail(call, 415, "send 'Content-Type: application/json'");
    json_read_strictly(body, arena, call->body, call->length, true, NULL);
    return 200;
}

bool api_flag(const struct api_call *call, const char *key)
{
    const char *text = http_query(call->request, key);
    return text &&
           (strcmp(text, "1") == 0 || strcmp(text, "true") == 0 || strcmp(text, "yes") == 0);
}

/* ------------------------------------------------------------------ authorization */

/* Without tokens, a foreign page in a browser on this machine must not reach the service by
 * resolving its own name to our address (DNS rebinding). So only names that cannot be redirected
 * are accepted. */
static bool is_our_host(const struct http_request *request)
{
    static const char local[] = ".localhost";
    unsigned char address[sizeof(struct in6_addr)];
    char name[256];
    if (!request->host)
        return true; /* HTTP/1.0: not a browser */
    if (!http_host_name(request->host, name, sizeof name))
        return false;
    size_t length = strlen(name), end = sizeof local - 1;
    return inet_pton(AF_INET, name, address) == 1 || inet_pton(AF_INET6, name, address) == 1 ||
           strcasecmp(name, local + 1) == 0 ||
           (length >= end && strcasecmp(name + length - end, local) == 0);
}

/* If a browser sent this, did a page of our own send it? */
static bool is_our_origin(const struct http_request *request)
{
    const char *origin = request->origin;
    if (!origin)
        return true;
    const char *host = strstr(origin, "://");
    return host && request->host && strcasecmp(host + 3, request->host) == 0;
}

/* Does the browser say that a foreign page sends this? Such a page could not read the response, but
 * could occupy all streams. Following a link is allowed. */
static bool is_foreign(const struct http_request *request)
{
    const char *site = request->fetch_site, *dest = request->fetch_dest;
    bool own = !site || strcmp(site, "same-origin") == 0 || strcmp(site, "none") == 0;
    bool link = request->method != HTTP_POST && dest && strcmp(dest, "document") == 0;
    return !own && !link;
}

static void find_grant(struct api_call *call)
{
    const struct api *api = call->api;
    size_t length;
    call->grant = (struct auth_grant){.rights = AUTH_WRITE, .name = "", .systems = ""};
    if (!auth_required(api->auth))
        return;
    const char *token = http_bearer(call->request->authorization);
    const char *cookie = http_cookie(call->request->cookie, API_COOKIE, &length);
    if (token) {
        auth_token(api->auth, token, strlen(token), &call->grant);
        api->service->counters.wrong_tokens += call->grant.rights == AUTH_NONE;
    } else if (cookie) {
        auth_cookie(api->auth, cookie, length, service_steady(api->service), &call->grant);
    } else {
        call->grant.rights = AUTH_NONE;
    }
}

struct served *api_system(const struct api_call *call, const char *name)
{
    struct served *served = service_find(call->api->service, name, strlen(name));
    return served && auth_fits(call->grant.systems, name) ? served : NULL;
}

/* Returns 0, or the HTTP status of the refusal. */
static int may_ask(struct api_call *call)
{
    const struct http_request *request = call->request;
    if (!auth_required(call->api->auth) && !is_our_host(request))
        return api_fail(call, 421,
                        "without tokens, this service accepts only an IP address or 'localhost' as "
                        "its host name, not '%.100s'",
                        request->host);
    if (!http_bearer(request->authorization) &&
        (is_foreign(request) || (request->method == HTTP_POST && !is_our_origin(request))))
        return api_fail(call, 403, "requests from pages of another origin are not allowed");
    find_grant(call);
    if (call->grant.rights == AUTH_NONE)
        return api_fail(call, 401, "a token is needed: 'Authorization: Bearer TOKEN', or log in");
    return 0;
}

/* ------------------------------------------------------------------ login */

static int api_logout(struct api_call *call)
{
    size_t length;
    const char *cookie = http_cookie(call->request->cookie, API_COOKIE, &length);
    if (cookie)
        auth_logout(call->api->auth, cookie, length);
    snprintf(call->headers, sizeof call->headers,
             "Set-Cookie: " API_COOKIE "=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0\r\n");
    struct json json;
    json_begin(&json, &call->out);
    json_end(&json);
    return 200;
}

/* ------------------------------------------------------------------ routes */

struct route {
    const char *name;
    bool post;
    bool of_system;
    int (*answer)(struct api_call *call);
};

static const struct route routes[] = {
    {"systems", false, false, api_systems}, {"incidents", false, false, api_incidents},
    {"rates", false, false, api_rates},     {"login", true, false, api_login},
    {"logout", true, false, api_logout},    {"graph", false, true, api_graph},
    {"chain", false, true, api_chain},      {"what-if", true, true, api_what_if},
    {"end", true, true, api_end},           {"cancel", true, true, api_cancel},
    {"audit", false, false, api_audit},     {"blockers", false, true, api_blockers},
    {"feed", false, true, api_feed},        {"label", true, true, api_set_labels},
    {"labels", false, true, api_labels},    {"past", false, false, api_past},
    {"cluster", false, false, api_cluster},
};

/* Dispatches what follows /api/v1/. */
static int route_api(struct api_call *call)
{
    const struct http_request *request = call->request;
    const char *const *segments = request->segments;
    size_t count = request->segment_count;
    bool post = request->method == HTTP_POST;
    bool of_system = count == 5 && strcmp(segments[2], "systems") == 0;
    if (count == 4 && strcmp(segments[2], "incidents") == 0)
        return post ? api_fail(call, 405, "GET, HEAD") : api_incident(call, segments[3]);
    for (size_t i = 0; (of_system || count == 3) && i < sizeof routes / sizeof *routes; i++) {
        if (routes[i].of_system != of_system || strcmp(routes[i].name, segments[count - 1]) != 0)
            continue;
        if (routes[i].post != post) /* the message of a 405 lists the allowed methods */
            return api_fail(call, 405, routes[i].post ? "POST" : "GET, HEAD");
        if (of_system)
            call->system = api_system(call, segments[3]);
        if (of_system && !call->system)
            return api_fail(call, 404, "there is no system '%.100s'", segments[3]);
        return routes[i].answer(call);
    }
    if (of_system)
        return api_fail(call, 404,
                        "systems have 'graph', 'blockers', 'chain', 'feed', 'what-if', 'label', "
                        "'labels', 'end' "
                        "and 'cancel'");
    return api_fail(call, 404, "there is nothing at '%.100s'", request->path);
}

/* ------------------------------------------------------------------ the page */

static void reply_page(struct http_connection *connection, const struct http_request *request)
{
    const struct page_file *file = page_find(request->path);
    char headers[1500];
    size_t used = 0;
    if (!file && strcmp(request->path, "/") != 0) {
        http_reply_error(connection, 404, "there is nothing at '%.100s'", request->path);
        return;
    }
    for (const struct page_header *each = page_headers(file); each->name; each++) {
        int length =
            snprintf(headers + used, sizeof headers - used, "%s: %s\r\n", each->name, each->value);
        if (length < 0 || used + (size_t)length >= sizeof headers - 200) {
            http_reply_error(connection, 500, "the page's headers are too long");
            return;
        }
        used += (size_t)length;
    }
    if (!file) {
        const char *text = page_missing();
        http_reply_static(connection, 200, "text/html; charset=utf-8", headers, text, strlen(text));
        return;
    }
    bool zipped = file->zipped && page_takes_gzip(request->accept_encoding);
    snprintf(headers + used, sizeof headers - used, "ETag: %s\r\n%s",
             zipped ? file->etag_zipped : file->etag, zipped ? "Content-Encoding: gzip\r\n" : "");
    if (page_is_fresh(file, request->if_none_match))
        http_reply_static(connection, 304, NULL, headers, "", 0);
    else
        http_reply_static(connection, 200, file->type, headers, zipped ? file->zipped : file->plain,
                          zipped ? file->zipped_size : file->plain_size);
}

/* ------------------------------------------------------------------ health, metrics, the stream */

/* Health checks need no token and reveal nothing. */
static bool reply_health(const struct api *api, struct http_connection *connection,
                         const struct http_request *request)
{
    const char *text = "ok";
    bool health = strcmp(request->path, "/healthz") == 0;
    if (!health && strcmp(request->path, "/readyz") != 0)
        return false;
    bool ready = health || api->ready(api->ready_context, &text);
    struct output out;
    output_open(&out, -1);
    output_format(&out, "%s\n", ready && !health ? "ready" : text);
    http_reply(connection, ready ? 200 : 503, "text/plain; charset=utf-8", API_HEADERS, &out);
    return true;
}

/* Metrics and streams: these check their rights themselves, and write their own response. */
static bool reply_other(struct api_call *call, struct http_connection *connection)
{
    const struct http_request *request = call->request;
    bool metrics = strcmp(request->path, "/metrics") == 0;
    bool stream = strcmp(request->path, "/api/v1/stream") == 0;
    if ((!metrics && !stream) || request->method == HTTP_POST)
        return false;
    if (stream && request->method == HTTP_GET) {
        sse_begin(call->api->sse, connection, http_query(request, "system"), call->grant.systems);
        return true;
    }
    if (metrics && *call->grant.systems) {
        http_reply_error(
            connection, 403,
            "permission denied: the token is for some systems only, and metrics cover all systems");
        return true;
    }
    struct output out;
    output_open(&out, -1);
    if (metrics)
        metrics_write(call->api, &out);
    http_reply(connection, 200, metrics ? PROMETHEUS_TYPE : "text/event-stream", API_HEADERS, &out);
    return true;
}

/* Can another server lead, although this one has led? A standby knows its role. */
static bool may_be_deposed(const struct api *api)
{
    return store_is_shared(api->store) && !store_is_sure_leader(api->store) &&
           store_role(api->store) != STORE_STANDBY;
}

static void api_reply(struct api_call *call, int status)
{
    char headers[sizeof call->headers + sizeof API_HEADERS + sizeof API_STALE];
    if (status != 200) {
        output_close(&call->out);
        if (status == 405)
            http_reply_method(call->connection, call->message);
        else if (status == 401)
            http_reply_delayed(call->connection, status, call->message);
        else
            http_reply_error(call->connection, status, "%s", call->message);
        return;
    }
    snprintf(headers, sizeof headers, "%s%s%s", API_HEADERS, call->headers,
             may_be_deposed(call->api) ? API_STALE : "");
    http_reply(call->connection, 200, "application/json", headers, &call->out);
}

/* ------------------------------------------------------------------ responses that wait for a
 * commit */

/* A response must not show state that a power failure could still undo. So, like an answer of the
 * protocol, the response waits until its records are committed. */
struct held_response {
    struct held_response *next;
    struct api *api;
    struct http_connection *connection; /* NULL: closed */
    struct output out;
    char headers[sizeof((struct api_call *)0)->headers];
    uint64_t number;
};

/* With a shared store, there may be another leader that never saw uncommitted records. So while the
 * store cannot commit, uncommitted state may be shown only if the store is not shared. */
bool api_is_kept(const struct api *api)
{
    const char *why;
    bool kept = store_committed(api->store) >= store_last(api->store);
    if (store_is_shared(api->store))
        return kept && !api->service->append_pending;
    return kept || api->service->append_pending || !store_healthy(api->store, &why);
}

/* Replaces a response that could show what was never committed. */
static int fail_uncommitted(struct api_call *call)
{
    return api_fail(call, 503,
                    "this server may have lost the leadership, and its state may not be committed: "
                    "ask again, or ask another server");
}

static void on_held_gone(void *context)
{
    struct held_response *held = context;
    held->connection = NULL;
}

static bool hold_back(struct api_call *call, uint64_t number)
{
    gordian_allocator memory = memory_allocator(NULL);
    struct api *api = call->api;
    struct held_response *held = memory_zeroed(&memory, sizeof *held);
    if (!held)
        return false;
    held->api = api;
    held->connection = call->connection;
    held->out = call->out;
    memcpy(held->headers, call->headers, sizeof held->headers);
    held->number = number;
    *(api->held ? api->held_end : &api->held) = held;
    api->held_end = &held->next;
    http_defer(call->connection, on_held_gone, held);
    return true;
}

bool api_reply_kept(struct api_call *call, int status, uint64_t number)
{
    const struct api *api = call->api;
    bool kept = api_is_kept(api) || store_committed(api->store) >= number;
    if (status == 200 && !kept && may_be_deposed(api))
        status = fail_uncommitted(call);
    else if (status == 200 && !kept && hold_back(call, number))
        return false;
    api_reply(call, status);
    return true;
}

static void drop_first_held(struct api *api)
{
    gordian_allocator memory = memory_allocator(NULL);
    struct held_response *held = api->held;
    api->held = held->next;
    output_close(&held->out);
    memory_free(&memory, held);
}

/* Sends the first held response, or an error instead. */
static void reply_held(struct api *api, bool kept)
{
    struct held_response *held = api->held;
    struct http_connection *connection = held->connection;
    struct api_call call = {.api = api, .connection = connection, .out = held->out};
    memcpy(call.headers, held->headers, sizeof call.headers);
    held->out = (struct output){.fd = -1};
    if (connection)
        api_reply(&call, kept ? 200 : fail_uncommitted(&call));
    else
        output_close(&call.out);
    drop_first_held(api);
    if (connection)
        http_resume(connection);
}

void api_flush(struct api *api)
{
    while (api->held) {
        bool kept = api_is_kept(api) || store_committed(api->store) >= api->held->number;
        if (!kept && !may_be_deposed(api))
            break;
        reply_held(api, kept);
    }
    subscribers_send(api->followers);
    sse_release(api->sse, api_is_kept(api) ? UINT64_MAX : store_committed(api->store));
    httpd_run(api->httpd);
}

void api_close(struct api *api)
{
    while (api->held)
        drop_first_held(api);
    api_drop_graph(api);
    api_past_close(api);
}

static void reply_api(struct api_call *call)
{
    output_open(&call->out, -1);
    int status = route_api(call);
    if (status == API_LATER || status == API_AGAIN)
        output_close(&call->out);
    else
        api_reply_kept(call, status, store_last(call->api->store));
}

static void handle_request(struct api *api, struct http_connection *connection,
                           const struct http_request *request, const char *body, size_t length)
{
    struct api_call call = {
        .api = api, .connection = connection, .request = request, .body = body, .length = length};
    bool is_api = request->segment_count > 2 && strcmp(request->segments[0], "api") == 0 &&
                  strcmp(request->segments[1], "v1") == 0;
    bool is_metrics = strcmp(request->path, "/metrics") == 0;
    bool is_login =
        is_api && request->segment_count == 3 &&
        (strcmp(request->segments[2], "login") == 0 || strcmp(request->segments[2], "logout") == 0);
    if (request->method == HTTP_OTHER) {
        http_reply_method(connection, "GET, HEAD, POST");
        return;
    }
    if (!is_api && !is_metrics && request->method != HTTP_POST &&
        reply_health(api, connection, request))
        return;
    if (http_is_reserved(connection) && !is_metrics) {
        http_reply_error(connection, 503,
                         "too many connections are open: only /healthz, /readyz "
                         "and /metrics are answered");
        return;
    }
    if (!is_api && !is_metrics) {
        if (request->method == HTTP_POST)
            http_reply_method(connection, "GET, HEAD");
        else
            reply_page(connection, request);
        return;
    }
    int status = may_ask(&call);
    if (status == 401 && is_login)
        status = 0;
    if (status == 401 && http_bearer(request->authorization)) {
        http_reply_delayed(connection, status, "wrong token");
        return;
    }
    if (status) {
        http_reply_error(connection, status, "%s", call.message);
        return;
    }
    if (!is_login)
        http_permit(connection);
    if (!reply_other(&call, connection))
        reply_api(&call);
}

void api_handle(void *context, struct http_connection *connection,
                const struct http_request *request, const char *body, size_t length)
{
    struct api *api = context;
    uint64_t began = clock_ns();
    handle_request(api, connection, request, body, length);
    metrics_span(&api->service->counters.spans, CAUSE_READER, began, clock_ns());
}
