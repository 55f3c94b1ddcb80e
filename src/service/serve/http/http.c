/* The HTTP server: listeners, connections, requests, rate limit and back-pressure. */
#include "service/serve/http/http_internal.h"

#include "foundation/base/clock.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"
#include "foundation/http/listen.h"
#include "service/serve/auth/tls.h"

#include <errno.h>
#include <event2/util.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LINGER_MS   2000
#define SLOWLY_MS   1000
#define PAUSE_MS    100          /* pause of accepting when out of descriptors */
#define SLOT_MS     5            /* pause of accepting when all slots are taken */
#define GRACE_MS    250          /* an unfinished request cannot be replaced for this long */
#define TIME_PART   5            /* requests get this fraction of the time, */
#define TIME_MOST   2000000      /* at most this many ns at once after a pause, */
#define TIME_SLICE  50000        /* this many ns per iteration; a longer request is the last one, */
#define TIME_DEBT   50000000     /* and a request never costs more than this many ns */
#define OUTPUT_HIGH (256u << 10) /* unsent bytes: the next request waits (back-pressure) */

void httpd_limits_init(struct httpd_limits *limits)
{
    *limits = (struct httpd_limits){
        .connections = 256,
        .reserved = 16,
        .streams = 64,
        .body_bytes = 64u << 10,
        .stream_bytes = 1u << 20,
        .request_ms = 10000,
        .answer_ms = 60000,
        .idle_ms = 60000,
    };
}

/* Returns the maximum number of unprocessed bytes kept per connection. */
static size_t input_most(const struct httpd *http)
{
    return HTTP_HEAD_MAX + 1 + http->options.limits.body_bytes;
}

static struct timeval span_of(uint64_t us)
{
    return (struct timeval){.tv_sec = (time_t)(us / 1000000),
                            .tv_usec = (suseconds_t)(us % 1000000)};
}

static void set_timer(struct http_connection *connection, uint64_t ms)
{
    struct timeval after = span_of(ms * 1000);
    evtimer_add(connection->timer, &after);
}

/* ------------------------------------------------------------------ closing */

/* Removes it from the queue of httpd_run. */
static void leave_queue(struct http_connection *connection)
{
    struct httpd *http = connection->http;
    if (!connection->ready_link)
        return;
    *connection->ready_link = connection->next_ready;
    if (connection->next_ready)
        connection->next_ready->ready_link = connection->ready_link;
    else
        http->ready_end = connection->ready_link;
    connection->ready_link = NULL;
    connection->next_ready = NULL;
}

static void connection_free(struct http_connection *connection)
{
    struct httpd *http = connection->http;
    leave_queue(connection);
    http->figures.streams -= connection->state == HTTP_STREAMING;
    if (connection->gone)
        connection->gone(connection->gone_context);
    if (connection->previous)
        connection->previous->next = connection->next;
    else
        http->newest = connection->next;
    if (connection->next)
        connection->next->previous = connection->previous;
    http->figures.connections--;
    http->reserved -= connection->reserved;
    event_free(connection->timer);
    bufferevent_free(connection->bev);
    memory_free(&http->memory, connection);
}

void http_close_soon(struct http_connection *connection)
{
    connection->closing_soon = true;
    set_timer(connection, 0);
}

void http_rearm(struct http_connection *connection)
{
    const struct httpd_limits *limits = &connection->http->options.limits;
    bool out = evbuffer_get_length(bufferevent_get_output(connection->bev)) > 0;
    if (connection->closing_soon || connection->state == HTTP_LINGERING)
        return;
    if (connection->state == HTTP_STREAMING)
        evtimer_del(connection->timer);
    else if (connection->delayed_status)
        set_timer(connection, SLOWLY_MS);
    else if (connection->state == HTTP_CLOSING && !out) {
        /* The last response is sent. Closing now could destroy it if the client still sends. Shut
         * down our side, and wait a moment for the client to close. */
        connection->state = HTTP_LINGERING;
        if (!connection->http->options.tls)
            shutdown(bufferevent_getfd(connection->bev), SHUT_WR);
        set_timer(connection, LINGER_MS);
    } else if (out || connection->state == HTTP_WAITING)
        set_timer(connection, limits->answer_ms);
    else if (connection->fresh)
        set_timer(connection, limits->idle_ms);
    else
        set_timer(connection, limits->request_ms);
}

/* ------------------------------------------------------------------ requests */

/* Answers an invalid request and closes. */
static void refuse_request(struct http_connection *connection, int status)
{
    static const struct {
        int status;
        const char *why;
    } reasons[] = {
        {400, "not an HTTP/1.1 request"},
        {411, "a body needs a Content-Length"},
        {413, "the body is too large"},
        {414, "the path has too many segments"},
        {417, "only '100-continue' can be expected"},
        {431, "the head of the request is too large"},
        {505, "only HTTP/1.0 and HTTP/1.1 are supported"},
    };
    const char *why = "refused";
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (reasons[i].status == status)
            why = reasons[i].why;
    connection->keep_alive = connection->head_only = false;
    http_reply_error(connection, status, "%s", why);
}

/* Parses the head. False: incomplete or refused. */
static bool have_head(struct http_connection *connection, struct evbuffer *in)
{
    struct httpd *http = connection->http;
    if (connection->head_length)
        return true;
    size_t length = evbuffer_get_length(in);
    size_t look = length < HTTP_HEAD_MAX + 1 ? length : HTTP_HEAD_MAX + 1;
    const char *bytes = (const char *)evbuffer_pullup(in, (ev_ssize_t)look);
    if (!bytes) {
        http_close_soon(connection);
        return false;
    }
    size_t end;
    int status =
        http_take_head(&http->request, bytes, look, HTTP_HEAD_MAX + 1, &connection->seen, &end);
    if (status == HTTP_MORE)
        return false;
    if (!status && http->request.content_length > http->options.limits.body_bytes)
        status = 413;
    if (status) {
        refuse_request(connection, status);
        return false;
    }
    connection->head_length = end;
    connection->body_length = http->request.content_length;
    if (http->request.expects_continue && length - end < connection->body_length)
        evbuffer_add_printf(bufferevent_get_output(connection->bev),
                            "HTTP/1.1 100 Continue\r\n\r\n");
    return true;
}

/* Handles one request if it is complete. */
static bool next_request(struct http_connection *connection)
{
    struct httpd *http = connection->http;
    struct evbuffer *in = bufferevent_get_input(connection->bev);
    if (evbuffer_get_length(in) == 0 || !have_head(connection, in))
        return false;
    size_t total = connection->head_length + (size_t)connection->body_length;
    if (evbuffer_get_length(in) < total)
        return false;
    const char *bytes = (const char *)evbuffer_pullup(in, (ev_ssize_t)total);
    if (!bytes) {
        http_close_soon(connection);
        return false;
    }
    /* Parse again: another connection may have used http->request meanwhile. */
    http_parse(&http->request, bytes, connection->head_length);
    connection->keep_alive = http->request.keep_alive && !connection->reserved;
    connection->head_only = http->request.method == HTTP_HEAD;
    connection->answered = false;
    http->options.handle(http->options.context, connection, &http->request,
                         bytes + connection->head_length, (size_t)connection->body_length);
    if (!connection->answered)
        http_reply_error(connection, 500, "no answer");
    if (connection->again) {
        connection->again = false;
        connection->repeats++;
        return true;
    }
    connection->repeats = 0;
    evbuffer_drain(in, total);
    connection->head_length = connection->seen = 0;
    connection->fresh = evbuffer_get_length(in) == 0;
    connection->since = clock_ms();
    return true;
}

/* ------------------------------------------------------------------ scheduling */

/* Queues a connection that may have a request, at the end; a request that has begun goes first. */
static void join_ready_queue(struct http_connection *connection)
{
    struct httpd *http = connection->http;
    if (connection->ready_link || connection->closing_soon || connection->state != HTTP_READING)
        return;
    struct http_connection **link = connection->repeats > 0 ? &http->ready : http->ready_end;
    connection->next_ready = *link;
    connection->ready_link = link;
    if (*link)
        (*link)->ready_link = &connection->next_ready;
    else
        http->ready_end = &connection->next_ready;
    *link = connection;
}

void http_resume(struct http_connection *connection)
{
    connection->gone = NULL;
    if (connection->closing_soon)
        return;
    connection->since = clock_ms();
    bufferevent_enable(connection->bev, EV_READ);
    join_ready_queue(connection);
    http_rearm(connection);
}

/* Rate limit: most of the time of the event loop is for events, however many readers there are. */
static bool may_run_request(struct httpd *http)
{
    uint64_t now = clock_ns(), gained = (now - http->counted) / TIME_PART;
    if (gained > 0)
        http->counted = now;
    http->time_left += (int64_t)(gained < TIME_MOST ? gained : TIME_MOST);
    if (http->time_left > TIME_MOST)
        http->time_left = TIME_MOST;
    return http->time_left > 0;
}

/* Wakes the loop when requests may run again. */
static void wake_after(struct httpd *http, uint64_t us)
{
    struct timeval after = span_of(us);
    evtimer_add(http->rest, &after);
}

static void drop_input(struct http_connection *connection)
{
    struct evbuffer *in = bufferevent_get_input(connection->bev);
    evbuffer_drain(in, evbuffer_get_length(in));
}

/* Handles one request of the first connection and queues it again. A running timer continues until
 * a request is complete. */
static void run_first_request(struct httpd *http)
{
    struct http_connection *connection = http->ready;
    const struct evbuffer *out = bufferevent_get_output(connection->bev);
    leave_queue(connection);
    if (connection->full)
        bufferevent_enable(connection->bev, EV_READ);
    connection->full = false;
    bool handled = !connection->closing_soon && connection->state == HTTP_READING &&
                   evbuffer_get_length(out) < OUTPUT_HIGH && next_request(connection);
    if (handled)
        join_ready_queue(connection);
    if (connection->state == HTTP_CLOSING)
        drop_input(connection);
    if (handled || connection->state != HTTP_READING)
        http_rearm(connection);
}

void httpd_run(struct httpd *http)
{
    int64_t slice = TIME_SLICE;
    bool worked = false;
    for (; http->ready && slice > 0 && may_run_request(http); worked = true) {
        uint64_t began = work_ns();
        run_first_request(http);
        uint64_t took = work_ns() - began;
        slice -= (int64_t)took;
        if (http->ready && http->ready->repeats > 0)
            slice = 0; /* one step of a long request per iteration */
        http->time_left -= (int64_t)(took < TIME_DEBT ? took : TIME_DEBT);
    }
    if (worked)
        wake_after(http, 0); /* also because the end of an iteration commits and sends */
    else if (http->ready)
        wake_after(http, (uint64_t)(1 - http->time_left) * TIME_PART / 1000 + 1);
}

/* Only ends the iteration; httpd_run continues. */
static void on_requests_due(evutil_socket_t fd, short what, void *context)
{
    (void)fd;
    (void)what;
    (void)context;
}

/* ------------------------------------------------------------------ events */

static void on_read(struct bufferevent *bev, void *context)
{
    struct http_connection *connection = context;
    if (connection->state == HTTP_WAITING)
        return; /* pipelined requests wait */
    if (connection->state != HTTP_READING) {
        drop_input(connection);
        return;
    }
    /* If unread data stayed enabled, the callback would be called again and again. */
    connection->full =
        evbuffer_get_length(bufferevent_get_input(bev)) >= input_most(connection->http);
    if (connection->full)
        bufferevent_disable(bev, EV_READ);
    if (connection->fresh) {
        connection->fresh = false;
        connection->since = clock_ms();
        http_rearm(connection);
    }
    join_ready_queue(connection);
}

/* The output buffer is empty. */
static void on_write(struct bufferevent *bev, void *context)
{
    struct http_connection *connection = context;
    (void)bev;
    join_ready_queue(connection);
    http_rearm(connection);
}

static void on_event(struct bufferevent *bev, short what, void *context)
{
    struct http_connection *connection = context;
    (void)bev;
    if (what & BEV_EVENT_CONNECTED)
        return; /* the TLS handshake is complete */
    if (what & BEV_EVENT_TIMEOUT)
        connection->http->figures.cut_off++;
    connection_free(connection);
}

static void on_timer(evutil_socket_t fd, short what, void *context)
{
    struct http_connection *connection = context;
    (void)fd;
    (void)what;
    if (connection->delayed_status && !connection->closing_soon) {
        int status = connection->delayed_status;
        connection->delayed_status = 0;
        http_reply_error(connection, status, "%s", connection->message);
        http_resume(connection);
        return;
    }
    if (connection->ready_link && !connection->closing_soon && connection->state == HTTP_READING) {
        http_rearm(connection); /* the server is late, not the client */
        return;
    }
    bool reading = connection->state == HTTP_READING && !connection->closing_soon &&
                   !connection->fresh &&
                   evbuffer_get_length(bufferevent_get_output(connection->bev)) == 0;
    if (!connection->closing_soon && connection->state != HTTP_LINGERING && !connection->fresh)
        connection->http->figures.cut_off++;
    if (reading && evbuffer_get_length(bufferevent_get_input(connection->bev)) > 0) {
        connection->keep_alive = connection->head_only = false;
        http_reply_error(connection, 408, "the request took too long");
        http_rearm(connection);
        return;
    }
    connection_free(connection);
}

/* ------------------------------------------------------------------ accepting */

/* Order in which connections are replaced by new ones. */
enum replace_order {
    REPLACE_AT_ONCE,   /* it is closing, or waits for the answer to a wrong token */
    REPLACE_UNKNOWN,   /* request unfinished or response unread, without a valid token */
    REPLACE_PERMITTED, /* the same with a valid token */
    REPLACE_SOON,      /* it waits for the server, or is new */
    REPLACE_NEVER,
};

static enum replace_order replace_order(const struct http_connection *connection, uint64_t now)
{
    bool idle = connection->state == HTTP_READING;
    bool leaving = connection->state == HTTP_CLOSING && !connection->permitted;
    if (connection->state == HTTP_LINGERING || connection->delayed_status)
        return REPLACE_AT_ONCE;
    if (!idle && !leaving)
        return REPLACE_NEVER;
    if (connection->ready_link || now - connection->since < GRACE_MS)
        return REPLACE_SOON;
    return connection->permitted ? REPLACE_PERMITTED : REPLACE_UNKNOWN;
}

/* Returns the connection to replace: of equal ones, the oldest. NULL: none. `reserved`: among the
 * reserved slots, or the others. */
static struct http_connection *find_idle_client(const struct httpd *http, bool reserved,
                                                enum replace_order *way)
{
    struct http_connection *victim = NULL;
    uint64_t now = clock_ms();
    *way = REPLACE_NEVER;
    for (struct http_connection *each = http->newest; each; each = each->next) {
        enum replace_order its =
            each->reserved == reserved ? replace_order(each, now) : REPLACE_NEVER;
        if (its < *way || (victim && its == *way && each->since <= victim->since)) {
            victim = each;
            *way = its;
        }
    }
    return victim;
}

enum slot {
    SLOT_FREE,     /* or taken from a connection that can be replaced */
    SLOT_RESERVED, /* a reserved slot: no other can be freed */
    SLOT_NONE,     /* none yet */
};

/* Finds a slot for a new connection. *victim: the connection to close; NULL: none. */
static enum slot find_slot(const struct httpd *http, struct http_connection **victim)
{
    const struct httpd_limits *limits = &http->options.limits;
    enum replace_order way;
    *victim = NULL;
    if (http->figures.connections - http->reserved < limits->connections)
        return SLOT_FREE;
    struct http_connection *first = find_idle_client(http, false, &way);
    if (way < REPLACE_SOON)
        *victim = first;
    if (way < REPLACE_NEVER)
        return way < REPLACE_SOON ? SLOT_FREE : SLOT_NONE;
    if (http->reserved < limits->reserved)
        return SLOT_RESERVED;
    first = find_idle_client(http, true, &way);
    if (way < REPLACE_SOON)
        *victim = first;
    return way < REPLACE_SOON ? SLOT_RESERVED : SLOT_NONE;
}

static bool start_connection(struct httpd *http, struct http_connection *connection,
                             evutil_socket_t fd)
{
    struct event_base *base = http->options.base;
    const struct httpd_limits *limits = &http->options.limits;
    struct timeval stuck = span_of(UINT64_C(1000) * limits->idle_ms);
    connection->timer = evtimer_new(base, on_timer, connection);
    connection->bev = http->options.tls ? tls_accept(http->options.tls, base, fd, true)
                                        : bufferevent_socket_new(base, fd, BEV_OPT_CLOSE_ON_FREE);
    if (!connection->timer || !connection->bev)
        return false;
    bufferevent_setcb(connection->bev, on_read, on_write, on_event, connection);
    bufferevent_setwatermark(connection->bev, EV_READ, 0, input_most(http));
    bufferevent_set_timeouts(connection->bev, NULL, &stuck);
    return bufferevent_enable(connection->bev, EV_READ | EV_WRITE) == 0;
}

/* Adds it in the slot that was found. */
static void add_connection(struct httpd *http, struct http_connection *connection)
{
    connection->next = http->newest;
    if (http->newest)
        http->newest->previous = connection;
    http->newest = connection;
    http->figures.connections++;
    http->reserved += connection->reserved;
    http_rearm(connection);
}

static void set_accepting(struct httpd *http, bool on)
{
    for (size_t i = 0; i < http->listener_count; i++)
        if (on)
            evconnlistener_enable(http->listeners[i]);
        else
            evconnlistener_disable(http->listeners[i]);
}

static void pause_accepting(struct httpd *http, unsigned ms)
{
    struct timeval after = {.tv_usec = (suseconds_t)ms * 1000};
    set_accepting(http, false);
    evtimer_add(http->pause, &after);
}

/* Pauses accepting instead of accepting and dropping: clients wait in the backlog. */
static void update_accepting(struct httpd *http)
{
    struct http_connection *victim;
    if (find_slot(http, &victim) == SLOT_NONE)
        pause_accepting(http, SLOT_MS);
    else
        set_accepting(http, true);
}

static struct http_connection *new_connection(struct httpd *http)
{
    struct http_connection *victim;
    enum slot slot = find_slot(http, &victim);
    if (slot == SLOT_NONE)
        return NULL;
    struct http_connection *connection = memory_zeroed(&http->memory, sizeof *connection);
    if (connection && victim) {
        http->figures.refused++;
        connection_free(victim);
    }
    if (connection)
        connection->reserved = slot == SLOT_RESERVED;
    return connection;
}

static void on_accept(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address,
                      int length, void *context)
{
    struct httpd *http = context;
    (void)listener;
    (void)address;
    (void)length;
    http->figures.accepted++;
    struct http_connection *connection = new_connection(http);
    if (!connection) {
        http->figures.refused++;
        close(fd);
        return;
    }
    int yes = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes); /* fails on a Unix socket */
    connection->http = http;
    connection->since = clock_ms();
    if (!start_connection(http, connection, fd)) {
        if (connection->bev)
            bufferevent_free(connection->bev);
        else
            close(fd);
        if (connection->timer)
            event_free(connection->timer);
        memory_free(&http->memory, connection);
        return;
    }
    add_connection(http, connection);
    update_accepting(http);
}

static void on_pause_over(evutil_socket_t fd, short what, void *context)
{
    (void)fd;
    (void)what;
    update_accepting(context);
}

/* Out of descriptors or memory: an immediate retry would fail again. */
static void on_accept_error(struct evconnlistener *listener, void *context)
{
    (void)listener;
    pause_accepting(context, PAUSE_MS);
}

/* ------------------------------------------------------------------ listening */

gordian_status httpd_adopt(struct httpd *http, int fd, gordian_error *error)
{
    if (http->listener_count == LISTENERS_MAX)
        return fail(error, GORDIAN_STATUS_INPUT, "more than %d addresses for HTTP", LISTENERS_MAX);
    evutil_make_socket_nonblocking(fd);
    struct evconnlistener *listener = evconnlistener_new(
        http->options.base, on_accept, http, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, fd);
    if (!listener)
        return fail_memory(error);
    evconnlistener_set_error_cb(listener, on_accept_error);
    http->listeners[http->listener_count++] = listener;
    return GORDIAN_OK;
}

bool httpd_host(const char *address, char *host, size_t size)
{
    char port[LISTEN_PORT_SIZE];
    return listen_split(address, host, size, port) && host[0];
}

gordian_status httpd_listen(struct httpd *http, const char *address, uint16_t *port,
                            gordian_error *error)
{
    char host[256], service[LISTEN_PORT_SIZE];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    if (!listen_split(address, host, sizeof host, service) || !host[0])
        return fail(error, GORDIAN_STATUS_INPUT, "'%s' is not ADDRESS:PORT", address);
    int trouble = getaddrinfo(host, service, &hints, &found);
    if (trouble)
        return fail(error, GORDIAN_STATUS_INPUT, "cannot listen on '%s': %s", address,
                    gai_strerror(trouble));
    gordian_status status = GORDIAN_OK;
    bool any = false;
    /* A name may have several addresses; with port 0 they cannot all get the same port. */
    for (const struct addrinfo *rest = found;
         rest && status == GORDIAN_OK && !(any && atoi(service) == 0); any = true) {
        int fd = listen_next(&rest, any, 128, LISTEN_TRIES);
        if (fd < 0 && errno)
            status = fail(error, GORDIAN_STATUS_IO, "cannot listen on '%s': %s%s", address,
                          strerror(errno),
                          errno == EADDRINUSE ? "; name another address, or none (--http)" : "");
        else if (fd >= 0 && (status = httpd_adopt(http, fd, error)) != GORDIAN_OK)
            close(fd);
        else if (fd >= 0 && port)
            *port = listen_port(fd);
    }
    freeaddrinfo(found);
    return status;
}

/* ------------------------------------------------------------------ opening and closing */

gordian_status httpd_open(struct httpd **out, const struct httpd_options *options,
                          gordian_error *error)
{
    gordian_allocator memory = memory_allocator(NULL);
    struct httpd *http = memory_zeroed(&memory, sizeof *http);
    *out = NULL;
    if (!http)
        return fail_memory(error);
    http->memory = memory;
    http->options = *options;
    http->pause = evtimer_new(options->base, on_pause_over, http);
    http->rest = evtimer_new(options->base, on_requests_due, http);
    http->time_left = TIME_MOST;
    http->counted = clock_ns();
    http->ready_end = &http->ready;
    if (!http->pause || !http->rest) {
        httpd_close(http);
        return fail_memory(error);
    }
    *out = http;
    return GORDIAN_OK;
}

void httpd_close(struct httpd *http)
{
    if (!http)
        return;
    gordian_allocator memory = http->memory;
    for (size_t i = 0; i < http->listener_count; i++)
        evconnlistener_free(http->listeners[i]);
    while (http->newest)
        connection_free(http->newest);
    if (http->pause)
        event_free(http->pause);
    if (http->rest)
        event_free(http->rest);
    memory_free(&memory, http);
}

void httpd_figures(const struct httpd *http, struct httpd_figures *figures)
{
    *figures = http->figures;
}
