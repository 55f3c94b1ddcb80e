/* The HTTP server by itself: whole and half requests, limits of size, time and number, answers that
 * nobody reads, streams. The server runs in a thread, clients are plain sockets. Times are limits
 * for the server's patience, never for its speed: a slow machine only makes the test slower. */
#include "test.h"

#include "foundation/base/clock.h"
#include "service/serve/http/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>
#include <event2/thread.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PATIENCE_MS 600000 /* of the test, for what must happen some time */
#define BIG         (8u << 20)

static struct event_base *base;
static struct httpd *httpd;
static uint16_t port;
static atomic_uint streams_begun, streams_gone;
static atomic_uint refused, connections; /* the server's figures */
static struct http_connection *the_stream, *the_waiting;
static unsigned long_requests;
static char long_order[64]; /* by whom they were sent */
static atomic_uint held;    /* requests that are not answered */
static struct http_connection *the_held[8];
static atomic_bool let_go; /* now they are */
static atomic_bool is_over;

/* ------------------------------------------------------------------ the server */

static void on_gone(void *context)
{
    (void)context;
    the_stream = NULL;
    streams_gone++;
}

static void on_waiting_gone(void *context)
{
    (void)context;
    the_waiting = NULL;
}

/* Answers what has waited for a tick. */
static void answer_waiting(void)
{
    struct http_connection *waiting = the_waiting;
    struct output out;
    if (!waiting)
        return;
    the_waiting = NULL;
    output_open(&out, -1);
    output_text(&out, "at last");
    http_reply(waiting, 200, "text/plain", NULL, &out);
    http_resume(waiting);
}

static void answer_held(void)
{
    for (unsigned i = 0; let_go && held > 0; i++, held--) {
        http_reply_error(the_held[i], 404, "never mind");
        http_resume(the_held[i]);
    }
}

static void take_long(const char *who)
{
    uint64_t end = clock_ns() + 6000000;
    while (clock_ns() < end)
        ;
    long_order[long_requests++ % sizeof long_order] = who ? *who : '?';
}

static void handle(void *context, struct http_connection *connection,
                   const struct http_request *request, const char *body, size_t length)
{
    (void)context;
    struct output out;
    if (strcmp(request->path, "/stream") == 0) {
        if (http_stream_begin(connection, "text/event-stream", on_gone, NULL)) {
            the_stream = connection;
            http_stream_write(connection, ": hello\n\n", 9);
            streams_begun++;
        }
        return;
    }
    if (strcmp(request->path, "/error") == 0) {
        http_reply_error(connection, 404, "not \"here\"");
        return;
    }
    if (strcmp(request->path, "/nothing") == 0)
        return;
    if (strcmp(request->path, "/later") == 0) {
        the_waiting = connection;
        http_defer(connection, on_waiting_gone, NULL);
        return;
    }
    if (strcmp(request->path, "/held") == 0) {
        http_defer(connection, NULL, NULL);
        the_held[held++ % 8] = connection;
        return;
    }
    if (strcmp(request->path, "/slowly") == 0) {
        http_reply_delayed(connection, 401, "guess again");
        return;
    }
    if (strcmp(request->path, "/long") == 0)
        take_long(http_query(request, "who"));
    output_open(&out, -1);
    if (strcmp(request->path, "/big") == 0) {
        for (size_t i = 0; i < BIG / 16; i++)
            output_text(&out, "0123456789abcdef");
    } else if (strcmp(request->path, "/place") == 0) {
        output_text(&out, http_is_reserved(connection) ? "reserved" : "usual");
    } else {
        output_format(&out, "%s %zu ", request->path, length);
        output_bytes(&out, body, length);
    }
    http_reply(connection, 200, "text/plain", "X-Test: yes\r\n", &out);
}

/* A stream that is written to whether it is read or not. */
static void on_tick(evutil_socket_t fd, short what, void *context)
{
    static char text[4096];
    (void)fd;
    (void)what;
    (void)context;
    struct httpd_figures figures;
    httpd_figures(httpd, &figures);
    refused = (unsigned)figures.refused;
    connections = figures.connections;
    memset(text, 'x', sizeof text);
    answer_waiting();
    answer_held();
    if (the_stream)
        http_stream_write(the_stream, text, sizeof text);
}

static void *serve(void *context)
{
    struct timeval every = {.tv_usec = 1000};
    struct event *tick = event_new(base, -1, EV_PERSIST, on_tick, NULL);
    event_add(tick, &every);
    while (!is_over) {
        event_base_loop(base, EVLOOP_ONCE);
        httpd_run(httpd);
    }
    event_free(tick);
    httpd_close(httpd);
    event_base_loop(base, EVLOOP_NONBLOCK); /* what libevent frees later */
    return context;
}

/* One that is patient, or one that soon has enough of those who are slow. */
static void start(pthread_t *thread, bool patient)
{
    gordian_error error;
    struct httpd_options options = {.handle = handle};
    base = event_base_new();
    httpd_limits_init(&options.limits);
    options.base = base;
    options.limits.connections = 8;
    options.limits.streams = 1;
    options.limits.body_bytes = 1000;
    options.limits.stream_bytes = 64u << 10;
    options.limits.request_ms = patient ? PATIENCE_MS : 400;
    options.limits.answer_ms = patient ? PATIENCE_MS : 800;
    options.limits.idle_ms = patient ? PATIENCE_MS : 1000;
    REQUIRE(httpd_open(&httpd, &options, &error) == GORDIAN_OK);
    CHECK(httpd_listen(httpd, "nonsense", NULL, &error) == GORDIAN_STATUS_INPUT);
    CHECK(httpd_listen(httpd, "127.0.0.1:99999", NULL, &error) == GORDIAN_STATUS_INPUT);
    CHECK(httpd_listen(httpd, "192.0.2.1:0", NULL, &error) == GORDIAN_STATUS_IO);
    REQUIRE(httpd_listen(httpd, "127.0.0.1:0", &port, &error) == GORDIAN_OK && port != 0);
    is_over = false;
    REQUIRE(pthread_create(thread, NULL, serve, NULL) == 0);
}

static void stop(pthread_t thread)
{
    is_over = true; /* which it sees with its next tick */
    pthread_join(thread, NULL);
    event_base_free(base);
}

/* ------------------------------------------------------------------ clients */

static int dial(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    REQUIRE(fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) == 0);
    return fd;
}

static bool say(int fd, const char *text)
{
    size_t length = strlen(text);
    return send(fd, text, length, MSG_NOSIGNAL) == (ssize_t)length;
}

/* Reads until the other side ends, or `until` is there. The text, and whether it ended. */
static const char *hear(int fd, const char *until, bool *ended)
{
    static char text[20000];
    size_t used = 0;
    struct pollfd poll_for = {.fd = fd, .events = POLLIN};
    text[0] = '\0';
    *ended = false;
    while (used < sizeof text - 1 && !(until && strstr(text, until)) &&
           poll(&poll_for, 1, PATIENCE_MS) > 0) {
        ssize_t count = recv(fd, text + used, sizeof text - 1 - used, 0);
        if (count <= 0) {
            *ended = true;
            break;
        }
        used += (size_t)count;
        text[used] = '\0';
    }
    return text;
}

static bool ask(const char *request, const char *expected)
{
    bool ended;
    int fd = dial();
    CHECK(say(fd, request));
    const char *text = hear(fd, NULL, &ended);
    close(fd);
    CHECK_MSG(ended && strstr(text, expected), "asked '%.60s', expected '%s', got '%.300s'",
              request, expected, text);
    return ended && strstr(text, expected);
}

static void wait_for(atomic_uint *what, unsigned value)
{
    uint64_t limit = clock_ns() + PATIENCE_MS * UINT64_C(1000000);
    while (*what != value && clock_ns() < limit)
        usleep(1000);
    CHECK(*what == value);
}

/* ------------------------------------------------------------------ whole requests */

static void test_requests(void)
{
    ask("GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", "/a 0 ");
    ask("GET /a HTTP/1.0\r\n\r\n", "Connection: close\r\n");
    ask("GET /a HTTP/1.0\r\n\r\n", "X-Test: yes\r\n");
    ask("POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc",
        "/b 3 abc");
    ask("GET /error HTTP/1.0\r\n\r\n",
        "{\"error\":{\"status\":404,\"message\":\"not \\\"here\\\"\"}}");
    ask("GET /nothing HTTP/1.0\r\n\r\n", "HTTP/1.1 500 ");
    ask("HEAD /abc HTTP/1.0\r\n\r\n", "Content-Length: 7\r\n");
    ask("nonsense\r\n\r\n", "HTTP/1.1 400 ");
    ask("GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n", "HTTP/1.1 411 ");
    ask("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1001\r\n\r\n", "HTTP/1.1 413 ");
    ask("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 18446744073709551615\r\n\r\n",
        "HTTP/1.1 400 ");

    /* No body for HEAD. */
    bool ended;
    int fd = dial();
    say(fd, "HEAD /abc HTTP/1.0\r\n\r\n");
    CHECK(!strstr(hear(fd, NULL, &ended), "/abc 0") && ended);
    close(fd);
}

static void test_keep_alive(void)
{
    bool ended;
    int fd = dial();
    /* Several at once, then one in pieces. */
    say(fd, "GET /1 HTTP/1.1\r\nHost: h\r\n\r\nPOST /2 HTTP/1.1\r\nHost: h\r\nContent-Length: 2"
            "\r\n\r\nxyGET /3 HTTP/1.1\r\nHost: h\r\n\r\n");
    const char *text = hear(fd, "/3 0 ", &ended);
    const char *one = strstr(text, "/1 0 "), *two = strstr(text, "/2 2 xy");
    CHECK(one && two && one < two && strstr(text, "/3 0 ") > two && !ended);
    const char late[] = "POST /4 HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nabcde";
    for (size_t i = 0; late[i]; i++)
        say(fd, (char[]){late[i], '\0'});
    CHECK(strstr(hear(fd, "/4 5 abcde", &ended), "/4 5 abcde") && !ended);
    say(fd, "POST /5 HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n");
    CHECK(strstr(hear(fd, "100 Continue\r\n\r\n", &ended), "HTTP/1.1 100 "));
    say(fd, "z");
    CHECK(strstr(hear(fd, "/5 1 z", &ended), "/5 1 z"));
    close(fd);
}

/* ------------------------------------------------------------------ too much, too slow */

static void test_oversized(void)
{
    bool ended;
    static char head[40000];
    int fd = dial();
    strcpy(head, "GET / HTTP/1.1\r\nHost: h\r\nX: ");
    memset(head + strlen(head), 'a', 30000);
    say(fd, head);
    CHECK(strstr(hear(fd, NULL, &ended), "HTTP/1.1 431 ") && ended);
    close(fd);
    /* The answer arrives although the client sends on and on. */
    fd = dial();
    say(fd, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n");
    for (int i = 0; i < 10; i++)
        send(fd, head, 10000, MSG_NOSIGNAL);
    CHECK(strstr(hear(fd, "413", &ended), "HTTP/1.1 413 "));
    close(fd);
}

/* One byte now and then, for ever: the request's time is limited in all. */
static void drip(const char *start, const char *status)
{
    bool ended = false;
    int fd = dial();
    say(fd, start);
    uint64_t limit = clock_ns() + PATIENCE_MS * UINT64_C(1000000);
    struct pollfd poll_for = {.fd = fd, .events = POLLIN};
    while (clock_ns() < limit && poll(&poll_for, 1, 20) == 0)
        send(fd, "a", 1, MSG_NOSIGNAL);
    const char *text = hear(fd, NULL, &ended);
    CHECK_MSG(ended && strstr(text, status), "%s: '%.100s'", start, text);
    close(fd);
}

static void test_slow(void)
{
    drip("GET /", "HTTP/1.1 408 ");
    drip("GET / HTTP/1.1\r\nHost: h\r\nX: ", "HTTP/1.1 408 ");
    drip("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n", "HTTP/1.1 408 ");
    bool ended;
    int fd = dial(); /* says nothing at all */
    CHECK(strlen(hear(fd, NULL, &ended)) == 0 && ended);
    close(fd);
    /* Says nothing more: whatever came of the first request, it ends some time. */
    fd = dial();
    say(fd, "GET /1 HTTP/1.1\r\nHost: h\r\n\r\n");
    hear(fd, NULL, &ended);
    CHECK(ended);
    close(fd);
}

/* An answer that is not read, or read very slowly, ends the connection. */
static void test_unread(void)
{
    char text[4096];
    wait_for(&connections, 0);
    int fd = dial();
    wait_for(&connections, 1);
    say(fd, "GET /big HTTP/1.1\r\nHost: h\r\n\r\n");
    uint64_t limit = clock_ns() + PATIENCE_MS * UINT64_C(1000000);
    size_t total = 0;
    ssize_t count = 1;
    while (clock_ns() < limit && count > 0) {
        usleep(20000);
        count = recv(fd, text, 16, 0);
        total += count > 0 ? (size_t)count : 0;
        /* What is in the kernel's buffers keeps coming: stop when the server has given up. */
        if (connections == 0)
            break;
    }
    while ((count = recv(fd, text, sizeof text, 0)) > 0)
        total += (size_t)count;
    CHECK(total < BIG);
    close(fd);
}

/* One that is read in full, and another after it on the same connection. */
static void test_read(void)
{
    char text[4096];
    int fd = dial();
    say(fd, "GET /big HTTP/1.1\r\nHost: h\r\n\r\nGET /z HTTP/1.1\r\nHost: h\r\nConnection: close"
            "\r\n\r\n");
    size_t total = 0;
    for (ssize_t count; (count = recv(fd, text, sizeof text, 0)) > 0;)
        total += (size_t)count;
    CHECK(total > BIG && total < BIG + 2000);
    close(fd);
}

/* Whoever keeps all connections busy with nothing keeps nobody else out. */
static void test_crowd(void)
{
    int fds[30];
    for (size_t i = 0; i < 30; i++) {
        fds[i] = dial();
        say(fds[i], "GET /slow");
        if (i % 10 == 9)
            ask("GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", "/a 0 ");
    }
    for (size_t i = 0; i < 30; i++)
        close(fds[i]);
    uint64_t limit = clock_ns() + PATIENCE_MS * UINT64_C(1000000);
    while (refused == 0 && clock_ns() < limit)
        usleep(1000);
    CHECK(refused > 0 && connections <= 8);
}

/* Nor does a wrong token keep a place while its answer waits. */
static void test_guesses(void)
{
    int fds[30];
    for (size_t i = 0; i < 30; i++) {
        fds[i] = dial();
        say(fds[i], "GET /slowly HTTP/1.1\r\nHost: h\r\n\r\n");
        if (i % 10 == 9)
            ask("GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", "/a 0 ");
    }
    for (size_t i = 0; i < 30; i++)
        close(fds[i]);
    wait_for(&connections, 0);
}

/* All places are taken by those that never make room: there is a reserve. */
static void test_reserve(void)
{
    static const char place[] = "GET /place HTTP/1.1\r\nHost: h\r\n\r\n";
    int fds[8], half[20];
    for (size_t i = 0; i < 8; i++) {
        fds[i] = dial();
        say(fds[i], "GET /held HTTP/1.1\r\nHost: h\r\n\r\n");
    }
    wait_for(&held, 8);
    ask(place, "reserved");           /* and it ends with the answer, whatever was asked */
    for (size_t i = 0; i < 20; i++) { /* more than the reserve has */
        half[i] = dial();
        say(half[i], "GET /pl");
    }
    ask(place, "reserved");
    for (size_t i = 0; i < 20; i++)
        close(half[i]);
    let_go = true;
    for (size_t i = 0; i < 8; i++)
        close(fds[i]);
    wait_for(&connections, 0);
    ask("GET /place HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", "usual");
}

/* ------------------------------------------------------------------ streams */

static void test_streams(void)
{
    bool ended;
    int fd = dial();
    say(fd, "GET /stream HTTP/1.1\r\nHost: h\r\n\r\n");
    const char *text = hear(fd, "xxxx", &ended);
    CHECK(strstr(text, "Content-Type: text/event-stream\r\n") && strstr(text, ": hello\n\n"));
    CHECK(!strstr(text, "Content-Length"));
    wait_for(&streams_begun, 1);
    ask("GET /stream HTTP/1.0\r\n\r\n", "HTTP/1.1 503 ");
    close(fd); /* the client goes */
    wait_for(&streams_gone, 1);
    fd = dial();
    say(fd, "GET /stream HTTP/1.1\r\nHost: h\r\n\r\n");
    wait_for(&streams_begun, 2);
    wait_for(&streams_gone, 2); /* it does not read, and is cut off */
    close(fd);
}

/* ------------------------------------------------------------------ answers that come later */

static void test_later(void)
{
    bool ended;
    int fd = dial();
    say(fd, "GET /later HTTP/1.1\r\nHost: h\r\n\r\nGET /later HTTP/1.1\r\nHost: h\r\n\r\n"
            "GET /behind HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    const char *text = hear(fd, "/behind 0 ", &ended), *first = strstr(text, "at last");
    REQUIRE(first);
    const char *second = strstr(first + 1, "at last");
    CHECK(second && strstr(second, "/behind 0 "));
    close(fd);
    ask("GET /later HTTP/1.0\r\n\r\n", "at last");
    ask("GET /slowly HTTP/1.0\r\n\r\n", "guess again");
    fd = dial(); /* goes before its answer comes, or after */
    say(fd, "GET /later HTTP/1.1\r\nHost: h\r\n\r\n");
    close(fd);
    ask("GET /later HTTP/1.0\r\n\r\n", "at last");
}

/* ------------------------------------------------------------------ whatever readers ask */

/* Requests are handled at the end of a turn, when all else is done, and there no more of what takes
 * long than its share; who has to wait for that reason, longer than a request may take, gets its
 * answer; and nobody gets a second one before all others had their first. */
static void test_share(unsigned request_ms)
{
    gordian_error error;
    struct httpd_options options = {.handle = handle};
    int fds[8];
    base = options.base = event_base_new();
    httpd_limits_init(&options.limits);
    options.limits.request_ms = request_ms;
    long_requests = 0;
    REQUIRE(httpd_open(&httpd, &options, &error) == GORDIAN_OK);
    REQUIRE(httpd_listen(httpd, "127.0.0.1:0", &port, &error) == GORDIAN_OK);
    for (size_t i = 0; i < 8; i++) {
        fds[i] = dial();
        char text[200];
        snprintf(text, sizeof text, "GET /long?who=%zu HTTP/1.1\r\nHost: h\r\n\r\n", i);
        say(fds[i], text);
        say(fds[i], text);
    }
    for (unsigned answered = 0; answered < 16; answered = long_requests) {
        REQUIRE(event_base_loop(base, EVLOOP_ONCE) == 0);
        CHECK(long_requests == answered);
        httpd_run(httpd);
        CHECK(long_requests - answered <= 1);
    }
    for (size_t i = 0; i < 8; i++)
        CHECK(memchr(long_order, (int)('0' + i), 8) && memchr(long_order + 8, (int)('0' + i), 8));
    struct httpd_figures figures;
    httpd_figures(httpd, &figures);
    CHECK(figures.requests[4] == 0 && figures.cut_off == 0);
    for (size_t i = 0; i < 8; i++)
        close(fds[i]);
    httpd_close(httpd);
    event_base_loop(base, EVLOOP_NONBLOCK); /* what libevent frees later */
    event_base_free(base);
}

int main(void)
{
    pthread_t thread;
    signal(SIGPIPE, SIG_IGN);
    REQUIRE(evthread_use_pthreads() == 0);
    start(&thread, true);
    test_requests();
    test_keep_alive();
    test_oversized();
    test_read();
    test_crowd();
    test_guesses();
    test_reserve();
    test_streams();
    test_later();
    int last = dial(); /* open when the server ends */
    say(last, "GET /");
    stop(thread);
    close(last);
    start(&thread, false);
    test_slow();
    test_unread();
    stop(thread);
    test_share(PATIENCE_MS);
    test_share(60);
    return test_done();
}
