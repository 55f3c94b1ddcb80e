/* An HTTP/1.1 server on libevent for the API, metrics and the page. Each complete request is passed
 * to one handler, which responds, defers the response, or turns the connection into a stream.
 *
 * All resources of a client are limited: connections, bytes of head and body, unsent bytes, and the
 * *total* time of a request and of its response (sending or reading a byte now and then does not
 * extend it). When all connections are in use, a connection that waits for the answer to a wrong
 * token is replaced, otherwise the connection whose request has been unfinished longest.
 * Connections with a valid token are replaced last. If none can be replaced, some reserved
 * connections are accepted for health checks and metrics (http_is_reserved). libevent's evhttp
 * cannot limit that time and number, nor report which limit was exceeded.
 */
#pragma once

#include "foundation/base/io/output.h"
#include "foundation/http/request.h"

#include <gordian/gordian.h>

struct event_base;
struct tls;
struct httpd;
struct http_connection;

struct httpd_limits {
    unsigned connections; /* maximum */
    unsigned reserved;    /* additional ones, for health checks and metrics only */
    unsigned streams;     /* maximum of these that are streams */
    size_t body_bytes;
    size_t stream_bytes; /* unread bytes of a stream: beyond, disconnect (back-pressure) */
    unsigned request_ms; /* from the first byte of a request to the last */
    unsigned answer_ms;  /* for reading the response */
    unsigned idle_ms;    /* between requests; also without progress in a stream */
};

void httpd_limits_init(struct httpd_limits *limits);

struct httpd_options {
    struct event_base *base;
    struct tls *tls; /* NULL: plain HTTP */
    struct httpd_limits limits;
    /* Must call one of the functions below before it returns. */
    void (*handle)(void *context, struct http_connection *connection,
                   const struct http_request *request, const char *body, size_t length);
    void *context;
};

gordian_status httpd_open(struct httpd **out, const struct httpd_options *options,
                          gordian_error *error);
/* Closes all connections and frees everything. */
void httpd_close(struct httpd *http);

/* At the end of every iteration of the event loop, after more urgent work: handles requests for a
 * limited time, and wakes the loop again if there are more. */
void httpd_run(struct httpd *http);

/* Listens on ADDR:PORT, [ADDR]:PORT or PORT (on 127.0.0.1); port 0: any. *port (may be NULL) is the
 * port bound. */
gordian_status httpd_listen(struct httpd *http, const char *address, uint16_t *port,
                            gordian_error *error);
/* Returns the host of such an address; false: invalid. */
bool httpd_host(const char *address, char *host, size_t size);
/* Adopts a listening socket; it is closed with the server. */
gordian_status httpd_adopt(struct httpd *http, int fd, gordian_error *error);

struct httpd_figures {
    uint64_t requests[6];          /* by the first digit of the status */
    uint64_t accepted;             /* connections */
    uint64_t refused;              /* too many connections */
    uint64_t cut_off;              /* timeouts and unread streams */
    unsigned connections, streams; /* current */
};

void httpd_figures(const struct httpd *http, struct httpd_figures *figures);

/* ------------------------------------------------------------------ responses */

/* `headers`: lines with CR LF, or NULL. Takes the body over. */
void http_reply(struct http_connection *connection, int status, const char *type,
                const char *headers, struct output *body);
/* The same with a body that must stay valid until the server is closed. */
void http_reply_static(struct http_connection *connection, int status, const char *type,
                       const char *headers, const void *body, size_t length);
/* {"error":{"status":404,"message":"..."}} */
void http_reply_error(struct http_connection *connection, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* 405. `allowed`: value of the Allow header. */
void http_reply_method(struct http_connection *connection, const char *allowed);

/* Defers the response: call one of the functions above later, then http_resume. Until then nothing
 * is read. `gone` is called once if the connection is closed before. */
void http_defer(struct http_connection *connection, void (*gone)(void *context), void *context);
void http_resume(struct http_connection *connection);

/* Defers the request: the handler is called again with it in one of the next iterations, before
 * other requests. http_repeats returns how often that has happened. */
void http_repeat(struct http_connection *connection);
unsigned http_repeats(const struct http_connection *connection);

/* The client has shown a valid token: its connection is replaced last. */
void http_permit(struct http_connection *connection);
/* Is it a reserved connection, for health checks and metrics only? It ends with the response. */
bool http_is_reserved(const struct http_connection *connection);

/* Like http_reply_error, but a second later: a rate limit for guessing tokens. */
void http_reply_delayed(struct http_connection *connection, int status, const char *message);

/* ------------------------------------------------------------------ streams */

/* Starts a response without an end. `gone` is called once when the connection is closed, unless
 * http_stream_end was called. False: too many streams, 503 was sent. */
bool http_stream_begin(struct http_connection *connection, const char *type,
                       void (*gone)(void *context), void *context);
/* False: too much is unread, and the client will be disconnected. */
bool http_stream_write(struct http_connection *connection, const void *bytes, size_t length);
/* Returns the number of unread bytes. */
size_t http_stream_pending(const struct http_connection *connection);
void http_stream_end(struct http_connection *connection);
/* Disconnects the client; `gone` will be called. */
void http_stream_cut(struct http_connection *connection);
