/* HTTP responses: status line, headers, body; or a stream. */
#include "service/serve/http/http_internal.h"

#include "foundation/base/json/json_write.h"
#include "foundation/base/memory.h"
#include "foundation/http/response.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* `length`: of the body; SIZE_MAX: it ends with the connection. */
static bool write_response_head(struct http_connection *connection, int status, const char *type,
                                const char *headers, size_t length)
{
    struct output head;
    if (!output_open(&head, OUTPUT_MEMORY))
        return false;
    http_write_head(&head, status, type, headers, length, connection->keep_alive);
    bool fine = !head.failure &&
                evbuffer_add(bufferevent_get_output(connection->bev), head.buffer, head.used) == 0;
    output_close(&head);
    return fine;
}

/* Updates the state after a response. */
static void note_answered(struct http_connection *connection, int status, bool fine)
{
    connection->answered = true;
    connection->http->figures.requests[status / 100 < 6 ? status / 100 : 0]++;
    if (!fine)
        http_close_soon(connection);
    else if (!connection->keep_alive)
        connection->state = HTTP_CLOSING;
    else if (connection->state == HTTP_WAITING)
        connection->state = HTTP_READING;
}

static void free_body(const void *body, size_t length, void *context)
{
    gordian_allocator memory = memory_allocator(NULL);
    (void)length;
    (void)context;
    memory_free(&memory, (void *)(uintptr_t)body);
}

void http_reply(struct http_connection *connection, int status, const char *type,
                const char *headers, struct output *body)
{
    struct output taken = *body;
    *body = (struct output){.fd = -1};
    if (taken.failure) {
        free_body(taken.buffer, 0, NULL);
        connection->keep_alive = false;
        static const char text[] = "{\"error\":{\"status\":503,\"message\":\"out of memory\"}}\n";
        http_reply_static(connection, 503, "application/json", NULL, text, sizeof text - 1);
        return;
    }
    bool fine = write_response_head(connection, status, type, headers, taken.used);
    struct evbuffer *out = bufferevent_get_output(connection->bev);
    if (connection->head_only || !fine || taken.used == 0 ||
        evbuffer_add_reference(out, taken.buffer, taken.used, free_body, NULL) != 0) {
        fine &= connection->head_only || taken.used == 0;
        free_body(taken.buffer, 0, NULL);
    }
    note_answered(connection, status, fine);
}

void http_reply_static(struct http_connection *connection, int status, const char *type,
                       const char *headers, const void *body, size_t length)
{
    bool fine = write_response_head(connection, status, type, headers, length);
    struct evbuffer *out = bufferevent_get_output(connection->bev);
    if (fine && !connection->head_only && length > 0)
        fine = evbuffer_add_reference(out, body, length, NULL, NULL) == 0;
    note_answered(connection, status, fine);
}

static void reply_error(struct http_connection *connection, int status, const char *header,
                        const char *message)
{
    static const char headers[] = "Cache-Control: no-store\r\n"
                                  "X-Content-Type-Options: nosniff\r\n"
                                  "Content-Security-Policy: default-src 'none'\r\n";
    char more[320];
    snprintf(more, sizeof more, "%s%s", headers, header);
    struct output body;
    output_open(&body, -1);
    struct json json;
    json_begin(&json, &body);
    json_open(&json, "error", '{');
    json_key_u64(&json, "status", (uint64_t)status);
    json_key_text(&json, "message", message);
    json_end(&json);
    http_reply(connection, status, "application/json", more, &body);
}

void http_reply_error(struct http_connection *connection, int status, const char *format, ...)
{
    char message[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    reply_error(connection, status,
                status == 401                    ? "WWW-Authenticate: Bearer realm=\"gordian\"\r\n"
                : status == 503 || status == 429 ? "Retry-After: 1\r\n"
                                                 : "",
                message);
}

void http_reply_method(struct http_connection *connection, const char *allowed)
{
    char header[80], message[80];
    snprintf(header, sizeof header, "Allow: %s\r\n", allowed);
    snprintf(message, sizeof message, "allowed methods: %s", allowed);
    reply_error(connection, 405, header, message);
}

/* ------------------------------------------------------------------ deferred responses */

void http_defer(struct http_connection *connection, void (*gone)(void *), void *context)
{
    connection->answered = true; /* it will be */
    connection->state = HTTP_WAITING;
    connection->gone = gone;
    connection->gone_context = context;
    bufferevent_disable(connection->bev, EV_READ);
}

void http_repeat(struct http_connection *connection)
{
    connection->answered = connection->again = true;
}

unsigned http_repeats(const struct http_connection *connection)
{
    return connection->repeats;
}

void http_permit(struct http_connection *connection)
{
    connection->permitted = true;
}

bool http_is_reserved(const struct http_connection *connection)
{
    return connection->reserved;
}

void http_reply_delayed(struct http_connection *connection, int status, const char *message)
{
    connection->delayed_status = status;
    snprintf(connection->message, sizeof connection->message, "%s", message);
    http_defer(connection, NULL, NULL);
}

/* ------------------------------------------------------------------ streams */

bool http_stream_begin(struct http_connection *connection, const char *type, void (*gone)(void *),
                       void *context)
{
    struct httpd *http = connection->http;
    if (http->figures.streams >= http->options.limits.streams) {
        http_reply_error(connection, 503, "too many streams are open");
        return false;
    }
    connection->keep_alive = false;
    bool fine = write_response_head(connection, 200, type,
                                    "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
                                    "Cross-Origin-Resource-Policy: same-origin\r\n"
                                    "X-Accel-Buffering: no\r\n",
                                    SIZE_MAX);
    note_answered(connection, 200, fine);
    connection->state = HTTP_STREAMING;
    connection->gone = gone;
    connection->gone_context = context;
    http->figures.streams++;
    return true;
}

bool http_stream_write(struct http_connection *connection, const void *bytes, size_t length)
{
    struct evbuffer *out = bufferevent_get_output(connection->bev);
    if (connection->closing_soon)
        return false;
    if (evbuffer_get_length(out) + length > connection->http->options.limits.stream_bytes) {
        http_stream_cut(connection);
        return false;
    }
    if (evbuffer_add(out, bytes, length) != 0) {
        http_close_soon(connection);
        return false;
    }
    return true;
}

void http_stream_cut(struct http_connection *connection)
{
    if (connection->closing_soon)
        return;
    connection->http->figures.cut_off++;
    http_close_soon(connection);
}

size_t http_stream_pending(const struct http_connection *connection)
{
    return evbuffer_get_length(bufferevent_get_output(connection->bev));
}

void http_stream_end(struct http_connection *connection)
{
    connection->gone = NULL;
    connection->http->figures.streams--;
    connection->state = HTTP_CLOSING;
    if (!connection->closing_soon)
        http_rearm(connection);
}
