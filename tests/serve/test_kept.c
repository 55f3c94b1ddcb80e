/* Over HTTP nobody sees what is not kept yet: a power cut could still undo it. */
#include "api_world.h"
#include "scratch.h"
#include "service/serve/http/feed_subscribers.h"
#include "service/serve/http/sse.h"
#include "test.h"

#include <arpa/inet.h>
#include <event2/event.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define TURNS    300
#define PATIENCE 1000000 /* turns */

static struct event_base *base;
static struct api api;
static struct client client;
static uint16_t port;
static int bell = -1; /* of the thread that writes long answers */

static void open_world(const char *folder)
{
    gordian_error error;
    struct store_options keep;
    struct service_options options;
    struct httpd_options web = {.handle = api_handle, .context = &api};
    web.base = base = event_base_new();
    store_options_init(&keep);
    keep.folder = folder;
    REQUIRE(store_open(&api.store, &keep, NULL, &error) == GORDIAN_OK);
    service_options_init(&options);
    options.journal = store_journal(api.store);
    REQUIRE(service_new(&api.service, &options, &error) == GORDIAN_OK);
    REQUIRE(auth_open(&api.auth, NULL, &error) == GORDIAN_OK);
    api.ready = always_ready;
    httpd_limits_init(&web.limits);
    REQUIRE(httpd_open(&api.httpd, &web, &error) == GORDIAN_OK);
    REQUIRE(httpd_listen(api.httpd, "127.0.0.1:0", &port, &error) == GORDIAN_OK);
    REQUIRE(sse_open(&api.sse, &api, &error) == GORDIAN_OK);
    REQUIRE(subscribers_open(&api.followers, &api, &error) == GORDIAN_OK);
    rates_init(&api.rates, api.service);
    blockers_init(&api.blockers, api.service);
    client.wake = no_wake;
    REQUIRE(service_attach(api.service, &client, SERVICE_WRITE, &error) == GORDIAN_OK);
}

static void close_world(void)
{
    service_detach(&client);
    subscribers_close(api.followers);
    sse_close(api.sse);
    httpd_close(api.httpd);
    api_close(&api);
    questions_close(api.writers);
    close(bell);
    rates_free(&api.rates);
    blockers_free(&api.blockers);
    service_free(api.service);
    store_close(api.store);
    auth_close(api.auth);
    event_base_loop(base, EVLOOP_NONBLOCK);
    event_base_free(base);
}

/* Applied, and in the open batch. */
static void feed(const char *text)
{
    size_t wanted;
    while (*text)
        text += service_take(&client, text, strlen(text), 1u << 20, &wanted);
    client.out.used = 0;
}

static int dial(const char *path)
{
    char request[200];
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    snprintf(request, sizeof request, "GET %s HTTP/1.0\r\n\r\n", path);
    REQUIRE(fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) == 0);
    REQUIRE(send(fd, request, strlen(request), 0) == (ssize_t)strlen(request));
    return fd;
}

static void take_turn(void)
{
    event_base_loop(base, EVLOOP_NONBLOCK);
    if (api.writers)
        questions_poll(api.writers);
    api_flush(&api);
}

/* What comes until this is in it, however long that takes; NULL: in some turns of the loop. */
static const char *hear(int fd, const char *wanted)
{
    static char text[1 << 20];
    size_t used = 0;
    text[0] = '\0';
    for (unsigned turn = 0; wanted ? turn < PATIENCE && !strstr(text, wanted) : turn < TURNS;
         turn++) {
        take_turn();
        ssize_t count = recv(fd, text + used, sizeof text - 1 - used, MSG_DONTWAIT);
        used += count > 0 ? (size_t)count : 0;
        text[used] = '\0';
        if (count <= 0 && wanted)
            usleep(100);
    }
    return text;
}

static void keep_all(void)
{
    store_seal(api.store);
    while (store_committed(api.store) < store_last(api.store))
        usleep(100);
}

/* How often a text comes in another. */
static unsigned times(const char *text, const char *part)
{
    unsigned count = 0;
    for (const char *at = text; (at = strstr(at, part)); at++)
        count++;
    return count;
}

/* Every event once and in order; from where one left off; and what is gone is said to be. */
static void check_feed(void)
{
    char line[100], path[100];
    feed("resource z\n");
    keep_all();
    uint64_t from = api.service->systems[0]->seq;
    snprintf(path, sizeof path, "/api/v1/systems/default/feed?from=%llu", (unsigned long long)from);
    int now = dial("/api/v1/systems/default/feed");
    CHECK(!strstr(hear(now, "\r\n\r\n"), "id:"));
    feed("request f1 z\n");
    CHECK(!strstr(hear(now, NULL), "f1")); /* not kept */
    keep_all();
    CHECK(strstr(hear(now, "}\n\n"), "\"op\":\"request\",\"process\":\"f1\""));
    feed("release f1 z\n");
    keep_all();
    const char *told = hear(now, "}\n\n");
    CHECK_MSG(strstr(told, "\"effects\":[[\"-h\",\"f1\",\"z\",1]"), "%s", told);
    close(now);
    int again = dial(path);
    told = hear(again, "\"release\"");
    CHECK_MSG(times(told, "event: event") == 2 && !strstr(told, "gap"), "%s", told);
    close(again);
    for (unsigned i = 0; i < 20000; i++) { /* more than is kept of them */
        snprintf(line, sizeof line, "request g%u b\ncancel g%u\n", i % 2, i % 2);
        feed(line);
        if (i % 100 == 0)
            keep_all();
    }
    keep_all();
    again = dial(path);
    told = hear(again, "event: gap");
    CHECK(times(told, "event: gap") == 1);
    close(again);
    int wrong = dial("/api/v1/systems/default/feed?from=x");
    CHECK(strstr(hear(wrong, "400"), "400"));
    close(wrong);
}

/* ------------------------------------------------------------------ long answers */

#define GRAPH "/api/v1/systems/default/graph"

static atomic_bool gate; /* of the thread that writes long answers */

static gordian_status wait_for_gate(void *job, struct output *out, gordian_error *error)
{
    (void)job;
    (void)out;
    (void)error;
    while (!gate)
        usleep(100);
    return GORDIAN_OK;
}

static void drop_nothing(void *job)
{
    (void)job;
}

/* Until it is opened again the thread gets nothing done. */
static struct question *shut_gate(void)
{
    const struct question_work wait = {wait_for_gate, drop_nothing, NULL};
    gate = false;
    struct question *question = questions_run(api.writers, &wait, 1, NULL, NULL);
    REQUIRE(question);
    return question;
}

/* The body of an answer. */
static char *hear_graph(int fd)
{
    const char *body = strstr(hear(fd, "\"truncated\":"), "\r\n\r\n");
    char *copy = strdup(body ? body : "");
    REQUIRE(copy);
    close(fd);
    return copy;
}

static void feed_many(unsigned count)
{
    char line[100];
    for (unsigned i = 0; i < count; i++) {
        snprintf(line, sizeof line, "resource r%u\nrequest w%u r%u\nrequest v%u r%u\n", i, i, i, i,
                 i);
        feed(line);
    }
    feed("label process w1 a:b c:\"d\"\nlabel resource r1 e:f\n");
    keep_all();
}

/* Until copying a graph has begun, and is not done. */
static int dial_halfway(void)
{
    int fd = dial(GRAPH);
    for (unsigned turn = 0; turn < PATIENCE && !api.graph; turn++)
        take_turn();
    CHECK(api.graph);
    return fd;
}

/* Until it is copied: it is the thread's to write. */
static int dial_copied(void)
{
    int fd = dial_halfway();
    for (unsigned turn = 0; turn < PATIENCE && api.graph; turn++)
        take_turn();
    CHECK(!api.graph);
    return fd;
}

/* A large graph is copied in steps, with turns of the loop between them; when something happens
 * there it is begun anew, and told as it is then. */
static void check_steps(void)
{
    feed_many(200);
    int reader = dial_halfway();
    feed("request middle r0\n");
    keep_all();
    char *graph = hear_graph(reader), *expected = hear_graph(dial(GRAPH));
    CHECK_MSG(strstr(graph, "\"middle\"") && strcmp(graph, expected) == 0, "%s", graph);
    free(graph);
    close(dial_halfway());
    graph = hear_graph(dial(GRAPH));
    CHECK(strcmp(graph, expected) == 0);
    free(graph);
    free(expected);
    reader = dial_halfway();
    char text[100] = "";
    for (unsigned turn = 0; turn < PATIENCE && !*text; turn++) { /* something in every turn */
        feed(turn % 2 ? "request middle r0\n" : "cancel middle\n");
        keep_all();
        take_turn();
        if (recv(reader, text, sizeof text - 1, MSG_DONTWAIT) <= 0)
            usleep(100);
    }
    CHECK_MSG(strncmp(text, "HTTP/1.1 200", 12) == 0, "%s", text);
    close(reader);
    feed("exit middle\n");
    keep_all();
}

/* A long answer is made from what was there when it was asked for, by a thread: events, and short
 * answers, do not wait for it. */
static void check_apart(void)
{
    char *expected = hear_graph(dial(GRAPH)), *other; /* without the thread */
    int fds[64];
    bell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    REQUIRE(questions_open(&api.writers, NULL, NULL, bell, NULL) == GORDIAN_OK);
    struct question *shut = shut_gate();
    int reader = dial_copied(), gone = dial_copied();
    CHECK(!*hear(reader, NULL));
    uint64_t before = api.service->systems[0]->seq;
    feed("request late r0\n");
    keep_all();
    CHECK(api.service->systems[0]->seq == before + 1);
    other = hear_graph(dial(GRAPH "?around=r0&depth=1"));
    CHECK_MSG(strstr(other, "\"late\""), "%s", other);
    free(other);
    close(gone); /* while its answer is being made */
    CHECK(!*hear(reader, NULL));

    /* More than may be under way: who asks then has it written at once. */
    for (size_t i = 0; i < 64; i++)
        fds[i] = dial_copied();
    for (size_t i = 0; i < 64; i++)
        CHECK(i > 60 || !*hear(fds[i], NULL));
    other = hear_graph(dial(GRAPH));
    CHECK_MSG(strstr(other, "\"late\""), "%s", other);
    free(other);
    gate = true;
    other = hear_graph(reader);
    CHECK_MSG(strcmp(other, expected) == 0, "%s", other);
    free(other);
    for (size_t i = 0; i < 64; i++) {
        other = hear_graph(fds[i]);
        CHECK_MSG(strstr(other, "\"late\""), "%s", other);
        free(other);
    }
    free(expected);
    question_forget(shut);

    /* Made, and of what is not kept yet. */
    feed("cancel late\n");
    reader = dial(GRAPH);
    for (unsigned turn = 0; turn < PATIENCE && !api.held; turn++)
        take_turn();
    CHECK(api.held && !*hear(reader, NULL));
    keep_all();
    other = hear_graph(reader);
    CHECK_MSG(*other && !strstr(other, "\"late\",\"waiting\":true"), "%s", other);
    free(other);

    shut = shut_gate(); /* and the end comes while one is being made */
    close(dial_copied());
    question_forget(shut);
    gate = true;
}

int main(void)
{
    char folder[SCRATCH_SIZE], command[SCRATCH_SIZE + 20];
    REQUIRE(scratch_make(folder, "kept"));
    open_world(folder);
    int stream = dial("/api/v1/stream");
    CHECK(strstr(hear(stream, "retry:"), "retry:"));
    feed("resource a\nresource b\nrequest p a\nrequest q b\nrequest p b\n");
    keep_all();
    int reader = dial("/api/v1/systems/default/graph");
    CHECK(strstr(hear(reader, "}\n"), "\"seq\":3"));
    close(reader);
    sse_tick(api.sse, false);
    hear(stream, NULL);

    feed("request q a\n"); /* a deadlock, and nobody has kept it */
    CHECK(store_committed(api.store) < store_last(api.store));
    reader = dial("/api/v1/systems/default/graph");
    int gone = dial("/api/v1/systems"); /* does not wait for its answer */
    sse_tick(api.sse, false);
    const char *early = hear(reader, NULL);
    CHECK_MSG(!*early, "%s", early);
    early = hear(stream, NULL);
    CHECK_MSG(!strstr(early, "incident"), "%s", early);
    close(gone);
    keep_all();
    CHECK(strstr(hear(reader, "}\n"), "\"seq\":4"));
    CHECK_MSG(api.held == NULL, "%s", "an answer was forgotten");
    feed("cancel q\n");
    keep_all();
    sse_tick(api.sse, false);
    const char *told = hear(stream, "\"how\":\"cancelled\"");
    CHECK_MSG(strstr(told, "\"how\":\"cancelled\""), "%s", told);
    close(reader);
    close(stream);
    check_feed();
    check_steps();
    check_apart();
    close_world();
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    CHECK(system(command) == 0);
    return test_done();
}
