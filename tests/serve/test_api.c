/* The API against the truth. Random events go into a service; every graph it answers must be the
 * system's own state, every graph a client keeps up to date from the stream must be the graph it
 * would fetch, and wait chains and deadlocks must be those of the system. But for the one that
 * writes long answers, no threads: the server, its clients and the events take turns. */
#include "api_compare.h"
#include "api_world.h"
#include "foundation/base/json/json_read.h"
#include "test.h"

#include "foundation/base/random.h"
#include "service/serve/http/sse.h"

#include <arpa/inet.h>
#include <event2/event.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define PATIENCE 20000000 /* turns */

static struct event_base *base;
static struct api api;
static uint16_t port;
static struct client client;
static struct random dice;
static uint64_t now_ms = 1000000;

/* ------------------------------------------------------------------ the world */

static uint64_t tell_time(void *context)
{
    (void)context;
    return now_ms;
}

static void open_world(void)
{
    gordian_error error;
    struct store_options keep;
    struct service_options options;
    struct httpd_options web = {.handle = api_handle, .context = &api};
    base = event_base_new();
    store_options_init(&keep);
    REQUIRE(store_open(&api.store, &keep, NULL, &error) == GORDIAN_OK);
    service_options_init(&options);
    options.journal = store_journal(api.store);
    options.clock = options.steady = tell_time;
    REQUIRE(service_new(&api.service, &options, &error) == GORDIAN_OK);
    REQUIRE(auth_open(&api.auth, NULL, &error) == GORDIAN_OK);
    api.ready = always_ready;
    web.base = base;
    httpd_limits_init(&web.limits);
    web.limits.stream_bytes = 64u << 20;
    /* which go by the real time, and a busy machine takes its own */
    web.limits.idle_ms = web.limits.request_ms = web.limits.answer_ms = 3600000;
    REQUIRE(httpd_open(&api.httpd, &web, &error) == GORDIAN_OK);
    REQUIRE(httpd_listen(api.httpd, "127.0.0.1:0", &port, &error) == GORDIAN_OK);
    REQUIRE(sse_open(&api.sse, &api, &error) == GORDIAN_OK);
    rates_init(&api.rates, api.service);
    blockers_init(&api.blockers, api.service);
    client.wake = no_wake;
    REQUIRE(service_attach(api.service, &client, SERVICE_WRITE, &error) == GORDIAN_OK);
}

static void close_world(void)
{
    service_detach(&client);
    sse_close(api.sse);
    httpd_close(api.httpd);
    rates_free(&api.rates);
    blockers_free(&api.blockers);
    service_free(api.service);
    store_close(api.store);
    auth_close(api.auth);
    event_base_free(base);
}

/* Lines to the service; what it answers is not looked at: the state is. */
static void feed(const char *text)
{
    size_t length = strlen(text), wanted;
    while (length > 0) {
        size_t used = service_take(&client, text, length, 1u << 20, &wanted);
        REQUIRE(used > 0);
        text += used;
        length -= used;
    }
    client.out.used = 0;
    store_seal(api.store);
    api_flush(&api);
}

/* ------------------------------------------------------------------ HTTP */

static void take_turn(void)
{
    event_base_loop(base, EVLOOP_NONBLOCK);
    if (api.writers)
        questions_poll(api.writers);
    api_flush(&api);
}

static int dial(const char *request)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    REQUIRE(fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) == 0);
    REQUIRE(send(fd, request, strlen(request), 0) == (ssize_t)strlen(request));
    return fd;
}

struct text {
    char *bytes;
    size_t used, room;
};

/* Takes what has come; false at the end. */
static bool take(int fd, struct text *text)
{
    if (text->room - text->used < 65537) {
        text->room = text->room * 2 + 200000;
        text->bytes = realloc(text->bytes, text->room);
        REQUIRE(text->bytes);
    }
    ssize_t count = recv(fd, text->bytes + text->used, 65536, MSG_DONTWAIT);
    if (count > 0)
        text->used += (size_t)count;
    text->bytes[text->used] = '\0';
    return count != 0;
}

/* Answers that have been read, until the last of them has been ended. */
static struct arena replies;
static unsigned open_replies;

static const struct value *read_reply(const char *text, size_t length)
{
    gordian_allocator memory = memory_allocator(NULL);
    const struct value *value = NULL;
    if (open_replies++ == 0)
        arena_init(&replies, &memory);
    REQUIRE(json_read_strictly(&value, &replies, text, length, false, NULL) == GORDIAN_OK);
    return value;
}

static void end_reply(void)
{
    if (--open_replies == 0)
        arena_free(&replies);
}

/* The body of an answer as JSON, and its status. */
static const struct value *get(const char *path, int *status)
{
    char request[600];
    struct text text = {0};
    snprintf(request, sizeof request, "GET %s HTTP/1.0\r\n\r\n", path);
    int fd = dial(request);
    unsigned turn = 0;
    do {
        take_turn();
    } while (take(fd, &text) && turn++ < PATIENCE);
    close(fd);
    const char *body = strstr(text.bytes, "\r\n\r\n");
    REQUIRE(body && sscanf(text.bytes, "HTTP/1.1 %d", status) == 1);
    const struct value *parsed = read_reply(body + 4, strlen(body + 4));
    free(text.bytes);
    return parsed;
}

/* ------------------------------------------------------------------ a watcher */

struct watcher {
    int fd;
    struct text text;
    size_t parsed;
    struct matrix matrix;
    int64_t seq;
    bool stale; /* a reset came: fetch */
    unsigned changes, resets, incidents, skipped, gaps;
};

static void apply_change(struct watcher *watcher, const struct value *change)
{
    size_t i;
    const struct value *effect;
    int64_t from = value_integer(value_find(change, "from"), 0);
    if (from < watcher->seq) {
        watcher->skipped++;
        return;
    }
    if (from > watcher->seq) { /* something was left out: a reset must follow */
        watcher->gaps += !watcher->stale;
        watcher->stale = true;
    }
    watcher->seq = value_integer(value_find(change, "seq"), 0);
    watcher->changes++;
    const struct value *names = value_find(change, "names");
    for (i = 0; (effect = value_item(value_find(change, "effects"), i)) != NULL; i++) {
        const char *what = value_text(value_item(effect, 0));
        int64_t p = value_integer(value_item(effect, 1), 0);
        int64_t q = value_integer(value_item(effect, 2), 0);
        int64_t units = value_integer(value_item(effect, 3), 0);
        char id[32];
        REQUIRE(what && p < PROCESSES && q < RESOURCES);
        watcher->matrix.units[what[1] == 'w'][p][q] += what[0] == '+' ? units : -units;
        snprintf(id, sizeof id, "%lld", (long long)p);
        CHECK(value_is(value_find(value_find(names, "processes"), id), VALUE_TEXT));
        snprintf(id, sizeof id, "%lld", (long long)q);
        CHECK(value_is(value_find(value_find(value_find(names, "resources"), id), "name"),
                       VALUE_TEXT));
    }
}

static void apply_event(struct watcher *watcher, const char *text)
{
    char kind[32] = "";
    const char *data = strstr(text, "data: ");
    if (sscanf(text, "event: %31s", kind) != 1 || !data)
        return;
    const struct value *body = read_reply(data + 6, strcspn(data + 6, "\n"));
    if (strcmp(kind, "change") == 0) {
        apply_change(watcher, body);
    } else if (strcmp(kind, "reset") == 0) {
        watcher->resets++;
        watcher->stale = true;
    } else if (strcmp(kind, "incident") == 0) {
        watcher->incidents++;
        CHECK(!value_find(body, "replay"));
    }
    end_reply();
}

/* The empty line an event ends with; NULL: it is not there yet. (The address sanitizer's strstr
 * looks at all that follows, each time.) */
static char *end_of_event(char *start, const char *stop)
{
    char *end = memchr(start, '\n', (size_t)(stop - start));
    while (end && end[1] != '\n')
        end = memchr(end + 1, '\n', (size_t)(stop - end - 1));
    return end;
}

/* Everything that is on its way to the watcher. */
static void watch(struct watcher *watcher)
{
    for (unsigned quiet = 0; quiet < 50;) {
        size_t before = watcher->text.used;
        take_turn();
        CHECK(take(watcher->fd, &watcher->text));
        quiet = watcher->text.used == before ? quiet + 1 : 0;
    }
    char *start = watcher->text.bytes + watcher->parsed, *end;
    while ((end = end_of_event(start, watcher->text.bytes + watcher->text.used))) {
        *end = '\0';
        apply_event(watcher, start);
        start = end + 2;
    }
    watcher->parsed = (size_t)(start - watcher->text.bytes);
}

/* Fetches the graph, which must be the truth; and what the watcher has put together must be it. */
static void compare(struct watcher *watcher, const char *system)
{
    struct matrix fetched, truth;
    int status;
    char path[300];
    struct served *served = service_find(api.service, system, strlen(system));
    snprintf(path, sizeof path, "/api/v1/systems/%s/graph?limit=20000", system);
    const struct value *graph = get(path, &status);
    CHECK(status == 200);
    read_graph(graph, &fetched);
    read_truth(served, &truth);
    CHECK(is_same(&fetched, &truth));
    CHECK(is_false(value_find(graph, "truncated")));
    watch(watcher); /* answering the graph brought it up to date */
    if (watcher->stale) {
        watcher->matrix = fetched;
        watcher->seq = value_integer(value_find(graph, "seq"), 0);
        watcher->stale = false;
    }
    CHECK(is_same(&watcher->matrix, &truth));
    CHECK((uint64_t)watcher->seq == served->seq);
    end_reply();
}

/* ------------------------------------------------------------------ events */

static void random_line(char *line, size_t size, bool avoid)
{
    unsigned p = (unsigned)random_below(&dice, PROCESSES);
    unsigned q = (unsigned)random_below(&dice, RESOURCES), r = (q + 1) % RESOURCES;
    unsigned units = 1 + (unsigned)random_below(&dice, 2);
    switch (random_below(&dice, 10)) {
    case 0:
        snprintf(line, size, "cancel p%u\n", p);
        break;
    case 1: /* from a bank one is gone after that */
        snprintf(line, size, "%s p%u\n", avoid ? "cancel" : "exit", p);
        break;
    case 2:
        snprintf(line, size, "request p%u q%u=%u q%u\n", p, q, units, r);
        break;
    case 3:
    case 4:
    case 5:
        snprintf(line, size, "release p%u q%u=%u\n", p, q, units);
        break;
    default:
        snprintf(line, size, "request p%u q%u=%u\n", p, q, units);
    }
}

static void declare_all(bool avoid)
{
    char line[600];
    for (unsigned q = 0; q < RESOURCES; q++) {
        snprintf(line, sizeof line, "resource q%u %u\n", q, 1 + q % 4 + 4 * avoid);
        feed(line);
    }
    for (unsigned p = 0; p < PROCESSES; p++) {
        size_t used = (size_t)snprintf(line, sizeof line, "process p%u", p);
        for (unsigned q = 0; avoid && q < RESOURCES; q++)
            used += (size_t)snprintf(line + used, sizeof line - used, " q%u=3", q);
        snprintf(line + used, sizeof line - used, "\n");
        feed(line);
    }
}

/* ------------------------------------------------------------------ who is deadlocked, and why */

/* Once it took long: with as few processes as here all are found all the same. */
static void was_slow(const struct served *served)
{
    struct rates_system *rates = (struct rates_system *)rates_of(&api.rates, served);
    if (rates)
        rates->dead_cost_ns = UINT64_MAX;
}

static void check_deadlocked(const char *system)
{
    int status;
    char path[300];
    const uint32_t *list;
    bool dead[PROCESSES] = {false};
    size_t count, i, marked = 0;
    const struct value *process;
    struct served *served = service_find(api.service, system, strlen(system));
    was_slow(served);
    snprintf(path, sizeof path, "/api/v1/systems/%s/graph?only=deadlocked", system);
    const struct value *graph = get(path, &status);
    REQUIRE(gordian_deadlocked(served->system, &list, &count, NULL) == GORDIAN_OK);
    for (i = 0; i < count; i++)
        dead[list[i]] = true;
    for (i = 0; (process = value_item(value_find(graph, "processes"), i)) != NULL; i++)
        marked += value_is_true(value_find(process, "deadlocked"));
    CHECK_MSG(marked == count && value_count(value_find(graph, "processes")) == count, "%zu of %zu",
              marked, count);
    end_reply();
    for (uint32_t p = 0; p < PROCESSES; p += 7) {
        snprintf(path, sizeof path, "/api/v1/systems/%s/chain?process=p%u", system, p);
        const struct value *chain = get(path, &status);
        CHECK(status == 200);
        CHECK(value_is_true(value_find(chain, "deadlocked")) == dead[p]);
        const struct value *first = value_item(value_find(chain, "chain"), 0);
        CHECK((value_count(value_find(first, "waits_for")) > 0) ==
              gordian_is_waiting(served->system, p));
        end_reply();
    }
}

/* ------------------------------------------------------------------ the tests */

static void watch_system(const char *system, bool avoid, unsigned rounds)
{
    char line[2000], name[100];
    struct watcher watcher = {.stale = true};
    snprintf(line, sizeof line, "open %s %s%s\nuse %s\n", system, avoid ? "avoid" : "detect",
             avoid ? " queue=yes" : "", system);
    feed(line);
    declare_all(avoid);
    snprintf(name, sizeof name, "GET /api/v1/stream?system=%s HTTP/1.1\r\nHost: localhost\r\n\r\n",
             system);
    watcher.fd = dial(name);
    watch(&watcher);
    compare(&watcher, system);
    for (unsigned round = 0; round < rounds; round++) {
        uint64_t burst = round % 50 == 25 ? 6000 : random_below(&dice, 60);
        for (uint64_t i = 0; i < burst; i++) {
            random_line(line, sizeof line, avoid);
            feed(line);
        }
        now_ms += random_below(&dice, 300);
        if (random_chance(&dice, 80))
            sse_tick(api.sse, rates_tick(&api.rates));
        if (random_chance(&dice, 30)) {
            now_ms += 1000; /* a reset that is due may come */
            sse_tick(api.sse, rates_tick(&api.rates));
            compare(&watcher, system);
        }
        if (!avoid && random_chance(&dice, 10))
            check_deadlocked(system);
    }
    CHECK_MSG(watcher.changes > rounds / 4 && watcher.resets > 0 && watcher.resets < rounds / 4,
              "%u changes, %u resets", watcher.changes, watcher.resets);
    CHECK(watcher.gaps <= watcher.resets);
    CHECK(avoid || watcher.incidents > 0);
    close(watcher.fd);
    free(watcher.text.bytes);
}

/* The neighbourhood of a node is what a search of our own finds. */
static void check_around(const char *system, uint32_t start, unsigned depth)
{
    struct matrix truth;
    bool processes[PROCESSES] = {false}, resources[RESOURCES] = {false};
    struct served *served = service_find(api.service, system, strlen(system));
    read_truth(served, &truth);
    processes[start] = true;
    for (unsigned step = 0; step < depth; step++) {
        bool more[PROCESSES] = {false}, most[RESOURCES] = {false};
        for (uint32_t p = 0; p < PROCESSES; p++)
            for (uint32_t q = 0; q < RESOURCES; q++)
                if (truth.units[0][p][q] || truth.units[1][p][q]) {
                    more[p] |= resources[q];
                    most[q] |= processes[p];
                }
        for (uint32_t p = 0; p < PROCESSES; p++)
            processes[p] |= more[p];
        for (uint32_t q = 0; q < RESOURCES; q++)
            resources[q] |= most[q];
    }
    char path[200];
    int status;
    size_t i, expected = 0;
    const struct value *node;
    snprintf(path, sizeof path, "/api/v1/systems/%s/graph?around=p%u&depth=%u", system, start,
             depth);
    const struct value *graph = get(path, &status);
    for (i = 0; (node = value_item(value_find(graph, "processes"), i)) != NULL; i++)
        CHECK(processes[value_integer(value_find(node, "id"), 0)]);
    for (i = 0; (node = value_item(value_find(graph, "resources"), i)) != NULL; i++)
        CHECK(resources[value_integer(value_find(node, "id"), 0)]);
    for (uint32_t p = 0; p < PROCESSES; p++)
        expected += processes[p];
    for (uint32_t q = 0; q < RESOURCES; q++)
        expected += resources[q];
    CHECK(value_count(value_find(graph, "processes")) +
              value_count(value_find(graph, "resources")) ==
          expected);
    end_reply();
}

/* How many nodes of this kind a graph has; with a name, of that name. */
static size_t nodes_named(const struct value *graph, const char *kind, const char *name)
{
    size_t i, found = 0;
    const struct value *node;
    for (i = 0; (node = value_item(value_find(graph, kind), i)) != NULL; i++)
        found += !name || strcmp(value_text(value_find(node, "name")), name) == 0;
    return found;
}

static bool has_node(const struct value *graph, const char *kind, const struct value *id)
{
    size_t i;
    const struct value *node;
    for (i = 0; (node = value_item(value_find(graph, kind), i)) != NULL; i++)
        if (is_equal(value_find(node, "id"), id))
            return true;
    return false;
}

/* A graph of those that wait has what they wait for and who has it, and nothing else; however few
 * nodes a graph may have, its edges are between those it has. */
static void check_parts(void)
{
    int status;
    char path[200];
    feed("open waits detect\nuse waits\nresource a\nresource b\nresource c\nresource d\n");
    feed("process idle\nrequest p1 a\nrequest p2 b\nrequest p2 a\nrequest p3 b\nrequest p4 c\n");
    const struct value *graph = get("/api/v1/systems/waits/graph?only=waiting", &status);
    CHECK(status == 200 && is_false(value_find(graph, "truncated")));
    CHECK(nodes_named(graph, "processes", "p1") == 1 && nodes_named(graph, "processes", NULL) == 3);
    CHECK(nodes_named(graph, "resources", NULL) == 2 && nodes_named(graph, "resources", "c") == 0);
    CHECK(value_count(value_find(graph, "edges")) == 4);
    end_reply();
    for (unsigned limit = 1; limit <= 10; limit++) {
        size_t i;
        const struct value *edge;
        snprintf(path, sizeof path, "/api/v1/systems/waits/graph?limit=%u", limit);
        graph = get(path, &status);
        size_t nodes =
            nodes_named(graph, "processes", NULL) + nodes_named(graph, "resources", NULL);
        CHECK_MSG(nodes == (limit < 9 ? limit : 9), "%zu of %u", nodes, limit);
        CHECK(value_is_true(value_find(graph, "truncated")) == (limit < 9));
        for (i = 0; (edge = value_item(value_find(graph, "edges"), i)) != NULL; i++)
            CHECK(has_node(graph, "processes", value_find(edge, "process")) &&
                  has_node(graph, "resources", value_find(edge, "resource")));
        end_reply();
    }
}

/* The longest wait is the longest wait. */
static void check_longest(void)
{
    for (uint32_t i = 0; i < api.service->system_limit; i++) {
        const struct served *served = api.service->systems[i];
        uint64_t oldest = 0;
        if (!served)
            continue;
        rates_tick(&api.rates);
        rates_tick(&api.rates);
        for (uint32_t p = 0; p < served_process_limit(served); p++) {
            uint64_t since = served->processes[p].since;
            if (since && (!oldest || since < oldest))
                oldest = since;
        }
        const struct rates_system *rates = rates_of(&api.rates, served);
        CHECK(rates && rates_oldest(rates) == oldest);
    }
}

static unsigned open_streams(void)
{
    struct httpd_figures figures;
    for (unsigned turn = 0; turn < 200; turn++)
        take_turn();
    httpd_figures(api.httpd, &figures);
    return figures.streams;
}

/* One that does not read misses changes, takes no memory for them, and is cut off in the end; one
 * that reads late gets a reset. */
static void test_unread(void)
{
    static const char request[] =
        "GET /api/v1/stream?system=first HTTP/1.1\r\nHost: localhost\r\n\r\n";
    static char lines[100 * 40];
    int small = 4096;
    struct watcher late = {.stale = true};
    unsigned before = open_streams();
    int mute = dial(request);
    late.fd = dial(request);
    setsockopt(mute, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    CHECK(open_streams() == before + 2);
    feed("use first\n");
    for (unsigned round = 0; round < 4000; round++) {
        size_t used = 0;
        for (unsigned i = 0; i < 100; i++) {
            random_line(lines + used, sizeof lines - used, false);
            used += strlen(lines + used);
        }
        feed(lines);
        sse_tick(api.sse, false);
        if (round % 20 == 0)
            take_turn();
    }
    watch(&late);
    late.resets = 0;
    now_ms += 2000;
    sse_tick(api.sse, true);
    watch(&late);
    CHECK(late.resets > 0);
    late.stale = true;
    compare(&late, "first");
    CHECK(open_streams() == before + 2);
    for (unsigned second = 0; second < 35; second++) {
        now_ms += 1000;
        sse_tick(api.sse, rates_tick(&api.rates));
        watch(&late);
    }
    CHECK(open_streams() == before + 1);
    close(mute);
    close(late.fd);
    free(late.text.bytes);
}

/* A cycle of so many: its chain is told up to a limit, its witness whole or not at all. */
static void check_cycle(const char *system, unsigned length, size_t told, bool explained)
{
    char line[200];
    int status;
    snprintf(line, sizeof line, "open %s detect\n", system);
    feed(line);
    for (unsigned i = 0; i < length; i++) {
        snprintf(line, sizeof line, "resource q%u\nrequest p%u q%u\n", i, i, i);
        feed(line);
    }
    for (unsigned i = 0; i < length; i++) {
        snprintf(line, sizeof line, "request p%u q%u\n", i, (i + 1) % length);
        feed(line);
    }
    feed("request behind q7\n");
    for (unsigned i = 0; i < 2; i++) {
        snprintf(line, sizeof line, "/api/v1/systems/%s/chain?process=%s", system,
                 i ? "behind" : "p3");
        const struct value *chain = get(line, &status);
        const struct value *witness = value_find(chain, "witness");
        CHECK(status == 200 && value_is_true(value_find(chain, "deadlocked")));
        CHECK(value_count(value_find(chain, "chain")) == (told ? told : length + i));
        CHECK(value_is_true(value_find(chain, "truncated")) == (told > 0));
        CHECK(explained ? value_count(witness) > 0 : value_is(witness, VALUE_NONE));
        if (explained && i == 0) /* each and what it waits for */
            CHECK(value_count(witness) == 2 * length);
        end_reply();
    }
}

/* `count` processes that hold a unit of each of `wide` resources and wait for another of each; what
 * the first of them waits for. */
static const struct value *crowd(const char *system, unsigned count, unsigned wide)
{
    char line[2000];
    int status;
    snprintf(line, sizeof line, "open %s detect\n", system);
    feed(line);
    for (unsigned q = 0; q < wide; q++) {
        snprintf(line, sizeof line, "resource q%u %u\n", q, count);
        feed(line);
    }
    for (unsigned p = 0; p < 2 * count; p++) {
        int length = snprintf(line, sizeof line, "request p%u", p % count);
        for (unsigned q = 0; q < wide; q++)
            length += snprintf(line + length, sizeof line - (size_t)length, " q%u", q);
        snprintf(line + length, sizeof line - (size_t)length, "\n");
        feed(line);
    }
    snprintf(line, sizeof line, "/api/v1/systems/%s/chain?process=p0", system);
    const struct value *chain = get(line, &status);
    CHECK(status == 200 && value_is_true(value_find(chain, "deadlocked")));
    CHECK(value_count(value_find(chain, "chain")) == count);
    return chain;
}

/* Whatever is left out of a chain, it says so. */
static void check_left_out(void)
{
    const struct value *chain = crowd("small", 5, 5);
    CHECK(value_count(value_find(chain, "witness")) == 2 * 5 * 5);
    CHECK(is_false(value_find(chain, "truncated")));
    end_reply();
    chain = crowd("dense", 70, 60); /* more edges than a witness may have */
    CHECK(value_count(value_find(chain, "witness")) == API_WITNESS_MAX);
    CHECK(value_is_true(value_find(chain, "truncated")));
    end_reply();
    chain = crowd("wide", 2, API_WANTS_MAX + 1);
    const struct value *first = value_item(value_find(chain, "chain"), 0);
    CHECK(value_count(value_find(first, "waits_for")) == API_WANTS_MAX);
    CHECK(value_is_true(value_find(chain, "truncated")));
    end_reply();
}

/* In a large system each call looks at some of the processes, and in the end all are found. */
static void check_large(void)
{
    const unsigned length = RATES_SCAN + 1000;
    const uint64_t *set;
    size_t words;
    char line[200];
    feed("open large detect\n");
    for (unsigned i = 0; i < length; i++) {
        snprintf(line, sizeof line, "resource q%u\nrequest p%u q%u\n", i, i, i);
        feed(line);
    }
    for (unsigned i = 0; i < length; i++) {
        snprintf(line, sizeof line, "request p%u q%u\n", i, (i + 1) % length);
        feed(line);
    }
    const struct served *large = service_find(api.service, "large", 5);
    rates_dead(&api.rates, large, &set, &words); /* not all who are on the cycle are known yet */
    rates_dead(&api.rates, large, &set, &words);
    while (service_tick(api.service) == 0)
        continue;
    while (rates_dead(&api.rates, large, &set, &words) < RATES_SCAN)
        continue;
    CHECK(rates_dead(&api.rates, large, &set, &words) == length);
    CHECK(rates_dead(&api.rates, large, &set, &words) == length);
    feed("exit p7\n");
    CHECK(large->incident_count == 0 && rates_dead(&api.rates, large, &set, &words) == 0);
}

/* However many wait for one, an answer looks at a limited number of them. */
static void check_hub(void)
{
    static const char *const parts[] = {"limit=100000", "only=waiting", "around=hub&depth=9",
                                        "around=w5&depth=1000", "only=deadlocked"};
    char line[100];
    int status;
    feed("open hub detect\nresource hub\nrequest owner hub\n");
    for (unsigned i = 0; i < 3 * API_NODES_MAX; i++) {
        snprintf(line, sizeof line, "request w%u hub\n", i);
        feed(line);
    }
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        snprintf(line, sizeof line, "/api/v1/systems/hub/graph?%s", parts[i]);
        const struct value *graph = get(line, &status);
        size_t nodes =
            nodes_named(graph, "processes", NULL) + nodes_named(graph, "resources", NULL);
        CHECK(status == 200 && nodes <= API_NODES_MAX);
        CHECK(value_count(value_find(graph, "edges")) <= API_EDGES_MAX);
        CHECK(value_is_true(value_find(graph, "truncated")) == (nodes > 0));
        end_reply();
    }
    struct served *hub = service_find(api.service, "hub", 3);
    gordian_edge first[10];
    CHECK(served_first_edges(hub, SERVED_WAITERS, 0, first, 10) == 10 && first[9].waits);
    CHECK(served_first_edges(hub, SERVED_HOLDERS, 0, first, 10) == 1 && !first[0].waits);
    CHECK(served_first_edges(hub, SERVED_WANTED, 3, first, 10) == 1 && first[0].resource == 0);
    CHECK(served_first_edges(hub, SERVED_HELD, 3, first, 10) == 0);
    /* and what the loop was kept from by readers is written down */
    CHECK(metrics_longest(&api.service->counters.spans, CAUSE_READER) > 0);
}

/* What came second by second, and by minutes; the same whoever writes it. */
static void check_rates(void)
{
    static const char *const paths[] = {"/api/v1/rates", "/api/v1/rates?system=rated&seconds=60",
                                        "/api/v1/rates?system=rated&minutes=4320"};
    static const size_t points[] = {RATES_SECONDS, 60, 2}; /* of three days, six minutes each */
    static const int64_t events[] = {2, 2, 5 * 60 * 2};    /* of the second point */
    gordian_error error;
    int status, bell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    struct questions *writers = NULL;
    eventfd_t rung = 0;
    REQUIRE(bell >= 0 && questions_open(&writers, NULL, NULL, bell, &error) == GORDIAN_OK);
    feed("open rated detect\nresource q\n");
    for (unsigned i = 0; i < 11 * 60; i++) {
        feed("request p q\nrelease p q\n");
        now_ms += 1000;
        REQUIRE(rates_tick(&api.rates));
    }
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        const struct value *plain = get(paths[i], &status);
        const struct value *list = value_find(plain, "rates"), *second = value_item(list, 1);
        CHECK(status == 200 && value_count(list) == points[i]);
        CHECK(value_integer(value_find(second, "events"), 0) == events[i]);
        api.writers = writers;
        const struct value *apart = get(paths[i], &status);
        CHECK(status == 200 && is_equal(plain, apart));
        api.writers = NULL;
        end_reply();
        end_reply();
    }
    questions_close(writers); /* its thread has rung for every answer that it has written: */
    CHECK(eventfd_read(bell, &rung) == 0 && rung == 2); /* the long ones */
    close(bell);
}

int main(void)
{
    unsigned rounds = 4u * test_scale();
    rounds = rounds < 60 ? 60 : rounds;
    random_seed(&dice, 2026);
    open_world();
    watch_system("first", false, rounds);
    check_longest();
    for (uint32_t p = 0; p < PROCESSES; p += 3)
        for (unsigned depth = 0; depth < 5; depth++)
            check_around("first", p, depth);
    test_unread();
    watch_system("second", true, rounds);
    check_longest();
    check_parts();
    check_left_out();
    check_cycle("short", 50, 0, true);
    check_cycle("long", 900, 200, true);
    check_cycle("endless", 6000, 200, false);
    check_large();
    check_hub();
    check_rates();
    close_world();
    return test_done();
}
