/* The HTTP part of the server: httpd with the API, its timer, and the thread for long responses. */
#include "service/serve/server/server.h"

#include "foundation/base/clock.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"
#include "service/serve/http/api.h"
#include "service/serve/http/feed_subscribers.h"
#include "service/serve/http/sse.h"
#include "service/serve/store/files.h"

#include <errno.h>
#include <event2/event.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define TICK_MS 100

struct http_server {
    gordian_allocator memory;
    struct api api;
    struct event *timer;
    int bell;             /* eventfd of the thread that writes long responses */
    struct event *answer; /* the event of the eventfd */
};

static void on_tick(evutil_socket_t fd, short what, void *context)
{
    struct http_server *http = context;
    (void)fd;
    (void)what;
    uint64_t began = clock_ns();
    blockers_tick(&http->api.blockers);
    sse_tick(http->api.sse, rates_tick(&http->api.rates));
    metrics_span(&http->api.service->counters.spans, CAUSE_STREAM, began, clock_ns());
}

static void on_writer_done(evutil_socket_t fd, short what, void *context)
{
    struct http_server *http = context;
    (void)what;
    bell_clear(fd);
    questions_poll(http->api.writers);
}

/* Starts the thread that writes long responses. */
static gordian_status start_writers(struct http_server *http, struct event_base *base,
                                    gordian_error *error)
{
    http->bell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (http->bell < 0)
        return fail(error, GORDIAN_STATUS_IO, "cannot make a descriptor: %s", strerror(errno));
    http->answer = event_new(base, http->bell, EV_READ | EV_PERSIST, on_writer_done, http);
    if (!http->answer || event_add(http->answer, NULL) != 0)
        return fail_memory(error);
    return questions_open(&http->api.writers, NULL, NULL, http->bell, error);
}

static bool is_ready(void *context, const char **why)
{
    return server_ready(context, why);
}

/* Opens everything but the listener. */
static gordian_status open_http_parts(struct http_server *http, struct server *server,
                                      gordian_error *error)
{
    struct httpd_options options = {
        .base = server->base,
        .tls = server->tls,
        .handle = api_handle,
        .context = &http->api,
    };
    httpd_limits_init(&options.limits);
    TRY(httpd_open(&http->api.httpd, &options, error));
    TRY(sse_open(&http->api.sse, &http->api, error));
    TRY(subscribers_open(&http->api.followers, &http->api, error));
    TRY(start_writers(http, server->base, error));
    struct timeval every = {.tv_usec = TICK_MS * 1000};
    http->timer = event_new(server->base, -1, EV_PERSIST, on_tick, http);
    if (!http->timer || event_add(http->timer, &every) != 0)
        return fail_memory(error);
    return GORDIAN_OK;
}

/* Listens on the sockets handed over, or on the address. */
static gordian_status start_listening(struct http_server *http, struct server *server,
                                      const char *address, const int *fds, size_t count,
                                      gordian_error *error)
{
    bool tls = server->tls != NULL, insecure = server->options.insecure;
    char host[256];
    for (size_t i = 0; i < count; i++) {
        TRY(auth_check_socket(server->auth, fds[i], tls, insecure, error));
        TRY(httpd_adopt(http->api.httpd, fds[i], error));
    }
    if (count > 0)
        return GORDIAN_OK;
    if (!httpd_host(address, host, sizeof host))
        return fail(error, GORDIAN_STATUS_INPUT, "'%s' is not ADDRESS:PORT", address);
    TRY(auth_check_address(server->auth, host, tls, insecure, error));
    uint16_t port = 0;
    TRY(httpd_listen(http->api.httpd, address, &port, error));
    server_log(server, 6, "page, API and metrics on http%s://%s%s%s:%u/", tls ? "s" : "",
               strchr(host, ':') ? "[" : "", host, strchr(host, ':') ? "]" : "", port);
    return GORDIAN_OK;
}

gordian_status http_open(struct http_server **out, struct server *server, const char *address,
                         const int *fds, size_t count, gordian_error *error)
{
    gordian_allocator memory = memory_allocator(NULL);
    struct http_server *http = memory_zeroed(&memory, sizeof *http);
    *out = NULL;
    if (!http)
        return fail_memory(error);
    http->memory = memory;
    http->bell = -1;
    http->api = (struct api){
        .service = server->service,
        .store = server->store,
        .auth = server->auth,
        .tls = server->tls,
        .address = server->address,
        .ready = is_ready,
        .ready_context = server,
    };
    rates_init(&http->api.rates, server->service);
    blockers_init(&http->api.blockers, server->service);
    gordian_status status = open_http_parts(http, server, error);
    THEN(status, start_listening(http, server, address, fds, count, error));
    if (status == GORDIAN_OK)
        *out = http;
    else
        http_close(http);
    return status;
}

void http_flush(struct http_server *http)
{
    if (http)
        api_flush(&http->api);
}

void http_close(struct http_server *http)
{
    if (!http)
        return;
    gordian_allocator memory = http->memory;
    if (http->timer)
        event_free(http->timer);
    subscribers_close(http->api.followers);
    sse_close(http->api.sse);
    httpd_close(http->api.httpd);
    api_close(&http->api);
    if (http->answer)
        event_free(http->answer);
    questions_close(http->api.writers);
    if (http->bell >= 0)
        close(http->bell);
    rates_free(&http->api.rates);
    blockers_free(&http->api.blockers);
    memory_free(&memory, http);
}
