/* A small HTTP/1.1 server on libevent: what the service's API, metrics and page go through. It
 * knows nothing of them: each complete request goes to one function, which answers it at once, has
 * it wait for its answer, or turns the connection into a stream.
 *
 * Everything a client can make it keep has a limit: connections, bytes of head and body, bytes that
 * wait to be written, and the time a request and its answer may take *in all* (a client that sends
 * or reads one byte now and then gains nothing). When all connections are in use, one that waits
 * for the answer to a wrong token makes room, or the one that has kept its request unfinished
 * longest; those that have shown a token go last. If none can, connections above that number are
 * accepted for what must always be answered (http_is_reserved). libevent's own evhttp can limit
 * neither that time nor that number, nor can it tell a client what was too much: hence this.
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
    unsigned connections; /* at once */
    unsigned reserved;    /* more of them, for liveness and metrics alone */
    unsigned streams;     /* of these */
    size_t body_bytes;
    size_t stream_bytes; /* that a stream's client has not read yet: beyond, it is cut off */
    unsigned request_ms; /* from a request's first byte to its last */
    unsigned answer_ms;  /* to read the answer */
    unsigned idle_ms;    /* between requests; and without any progress in a stream */
};

void httpd_limits_init(struct httpd_limits *limits);

struct httpd_options {
    struct event_base *base;
    struct tls *tls; /* NULL: in the clear */
    struct httpd_limits limits;
    /* Answers a request with one of the functions below before it returns. */
    void (*handle)(void *context, struct http_connection *connection,
                   const struct http_request *request, const char *body, size_t length);
    void *context;
};

gordian_status httpd_open(struct httpd **out, const struct httpd_options *options,
                          gordian_error *error);
/* Cuts every connection off and frees everything. */
void httpd_close(struct httpd *http);

/* At the end of every turn of the loop, when all that is more urgent is done: handles requests that
 * have come, for a short time. With more to do it sees to it that the loop comes back soon. */
void httpd_work(struct httpd *http);

/* ADDR:PORT, [ADDR]:PORT or PORT (on 127.0.0.1); port 0: any. *port (may be NULL) is what it got.
 */
gordian_status httpd_listen(struct httpd *http, const char *address, uint16_t *port,
                            gordian_error *error);
/* The ADDR of such an address; false: it is none. */
bool httpd_host(const char *address, char *host, size_t size);
/* A socket that listens already; it is closed with the server. */
gordian_status httpd_adopt(struct httpd *http, int fd, gordian_error *error);

struct httpd_figures {
    uint64_t requests[6];          /* by the first digit of the answer's status */
    uint64_t accepted;             /* connections */
    uint64_t refused;              /* because there were too many */
    uint64_t cut_off;              /* too slow, or did not read */
    unsigned connections, streams; /* now */
};

void httpd_figures(const struct httpd *http, struct httpd_figures *figures);

/* ------------------------------------------------------------------ answers */

/* `headers`: lines, each with its CR LF; or NULL. The body is taken over and closed. */
void http_reply(struct http_connection *connection, int status, const char *type,
                const char *headers, struct output *body);
/* The same with a body that stays where it is until the server is closed. */
void http_reply_static(struct http_connection *connection, int status, const char *type,
                       const char *headers, const void *body, size_t length);
/* {"error":{"status":404,"message":"..."}} */
void http_reply_error(struct http_connection *connection, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* 405. `allowed`: the methods there are, as the header Allow lists them. */
void http_reply_method(struct http_connection *connection, const char *allowed);

/* Instead of an answer: it comes later, from one of the functions above and then http_go_on. Until
 * then nothing is read from the client. `gone` is called once if the connection is lost before. */
void http_wait(struct http_connection *connection, void (*gone)(void *context), void *context);
void http_go_on(struct http_connection *connection);

/* Instead of an answer: what it takes is done in part, and the same request is handed over again in
 * one of the next turns, before others. http_times tells how often it has been. */
void http_again(struct http_connection *connection);
unsigned http_times(const struct http_connection *connection);

/* A request on this connection was permitted: it is the last to make room for others. */
void http_permit(struct http_connection *connection);
/* Is it one above the limit? Only liveness and metrics are for it; it ends with the answer. */
bool http_is_reserved(const struct http_connection *connection);

/* An error like that of http_reply_error, a second from now: who guesses has to wait. */
void http_reply_slowly(struct http_connection *connection, int status, const char *message);

/* ------------------------------------------------------------------ streams */

/* Begins an answer without an end. `gone` is called once when the connection is lost or cut off,
 * unless http_stream_end was called before. False: there are too many streams, and 503 was
 * answered. */
bool http_stream_begin(struct http_connection *connection, const char *type,
                       void (*gone)(void *context), void *context);
/* False: the client does not read, and will be cut off. */
bool http_stream_write(struct http_connection *connection, const void *bytes, size_t length);
/* Bytes that the client has not read yet. */
size_t http_stream_pending(const struct http_connection *connection);
void http_stream_end(struct http_connection *connection);
/* Cuts the client off; `gone` will be called. */
void http_stream_cut(struct http_connection *connection);
