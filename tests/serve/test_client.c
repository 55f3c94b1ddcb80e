/* The client library against a service that misbehaves on purpose (fake.h). */
#define _GNU_SOURCE
#include "../alloc/failing.h"
#include "fake.h"
#include "foundation/base/clock.h"
#include "test.h"

#include <gordian/client.h>

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

static gordian_error error;

/* ------------------------------------------------------------------ addresses */

static void check_bad_uri(const char *uri, gordian_status expected)
{
    gordian_client *client = (gordian_client *)&error;
    gordian_status status = gordian_client_open(&client, uri, NULL, &error);
    CHECK_MSG(status == expected && !client && error.message[0], "%s: %d, %s", uri, (int)status,
              error.message);
}

static void test_addresses(void)
{
    char uri[300] = "unix:/";
    memset(uri + 6, 'x', 200);
    check_bad_uri("nowhere", GORDIAN_STATUS_INPUT);
    check_bad_uri("unix:", GORDIAN_STATUS_INPUT);
    check_bad_uri(uri, GORDIAN_STATUS_INPUT);
    check_bad_uri("tcp://", GORDIAN_STATUS_INPUT);
    check_bad_uri("tcp://localhost", GORDIAN_STATUS_INPUT);
    check_bad_uri("tcp://:1", GORDIAN_STATUS_INPUT);
    check_bad_uri("tcp://::1:80", GORDIAN_STATUS_INPUT);
    check_bad_uri("tcp://[::1]80", GORDIAN_STATUS_INPUT);
    check_bad_uri("unix:/nonexistent/gordian/socket", GORDIAN_STATUS_IO);
    check_bad_uri("tcp://127.0.0.1:1", GORDIAN_STATUS_IO);
    check_bad_uri("tls://", GORDIAN_STATUS_INPUT);
    check_bad_uri("tls://localhost", GORDIAN_STATUS_INPUT);
    check_bad_uri("tls:/localhost:1", GORDIAN_STATUS_INPUT);
#ifdef WITH_TLS
    check_bad_uri("tls://127.0.0.1:1", GORDIAN_STATUS_IO);
#else
    check_bad_uri("tls://127.0.0.1:1", GORDIAN_STATUS_UNAVAILABLE); /* and nothing in the clear */
    CHECK_MSG(strstr(error.message, "OpenSSL"), "%s", error.message);
#endif
}

/* ------------------------------------------------------------------ several servers */

static void check_reaches(const char *uri, const struct fake *leader, unsigned long frames)
{
    gordian_client *client;
    gordian_client_options options;
    gordian_client_options_init(&options);
    options.lease_ms = 60000;
    gordian_status status = gordian_client_open(&client, uri, &options, &error);
    CHECK_MSG(status == GORDIAN_OK, "%s: %s", uri, error.message);
    REQUIRE(status == GORDIAN_OK);
    CHECK(leader->frames > frames);
    gordian_client_close(client);
}

/* However it is told of them, a client comes to the one that leads. */
static void test_servers(void)
{
    struct fake leads, stands_by, knows_nothing;
    struct fake_options options = {.seed = 1};
    char uri[600];
    REQUIRE(fake_start(&leads, &options));
    options.leader = leads.uri;
    REQUIRE(fake_start(&stands_by, &options));
    options.leader = "unknown";
    REQUIRE(fake_start(&knows_nothing, &options));
    check_reaches(stands_by.uri, &leads, leads.frames); /* it was never named to the client */
    const char *const forms[] = {"unix:/nonexistent/socket,%s,%s,%s", "%s,%s,%s",
                                 "tcp://127.0.0.1:1,%s,%s,%s"};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        snprintf(uri, sizeof uri, forms[i], knows_nothing.uri, stands_by.uri, leads.uri);
        check_reaches(uri, &leads, leads.frames);
    }
    snprintf(uri, sizeof uri, "%s,%s", knows_nothing.uri, leads.uri);
    check_reaches(uri, &leads, leads.frames);
    check_bad_uri("gordian://", GORDIAN_STATUS_INPUT);
    check_bad_uri("gordian://127.0.0.1:1,127.0.0.1", GORDIAN_STATUS_INPUT);
    /* nobody is there: each is asked once, and why the last was not reached is told */
    check_bad_uri("gordian://127.0.0.1:1,127.0.0.1:2", GORDIAN_STATUS_IO);
    CHECK_MSG(strstr(error.message, strerror(ECONNREFUSED)), "%s", error.message);
    check_bad_uri("unix:/nonexistent/a,unix:/nonexistent/b", GORDIAN_STATUS_IO);
    CHECK_MSG(strstr(error.message, strerror(ENOENT)), "%s", error.message);
    check_bad_uri("unix:/nonexistent/a,unix:/nonexistent/b,tcp://127.0.0.1:1", GORDIAN_STATUS_IO);
    CHECK_MSG(strncmp(error.message, "tcp://127.0.0.1:1: ", 19) == 0, "%s", error.message);
    /* nobody leads: that is waited for, but not for ever */
    gordian_client_options hurried;
    gordian_client *client;
    gordian_client_options_init(&hurried);
    hurried.connect_ms = 50;
    CHECK(gordian_client_open(&client, knows_nothing.uri, &hurried, &error) == GORDIAN_STATUS_IO);
    struct fake *all[] = {&leads, &stands_by, &knows_nothing};
    for (size_t i = 0; i < 3; i++) {
        fake_stop(all[i]);
        fake_free(all[i]);
    }
}

/* ------------------------------------------------------------------ one by one */

static void test_plain_use(void)
{
    struct fake fake;
    struct fake_options options = {.seed = 1};
    REQUIRE(fake_start(&fake, &options));
    gordian_client *client = fake_client(&fake, NULL);
    uint32_t fork, spoon, ann, bob, id;
    gordian_reply reply;
    CHECK(gordian_client_add_resource(client, "fork", 1, &fork, &error) == GORDIAN_OK);
    CHECK(gordian_client_add_resource(client, "spoon", 1, &spoon, &error) == GORDIAN_OK);
    CHECK(gordian_client_add_process(client, "ann", &ann, &error) == GORDIAN_OK);
    CHECK(gordian_client_add_process(client, "bob", &bob, &error) == GORDIAN_OK);
    CHECK(gordian_client_add_resource(client, "fork", 1, &id, &error) == GORDIAN_OK && id == fork);
    CHECK(gordian_client_add_resource(client, "fork", 2, &id, &error) == GORDIAN_STATUS_INPUT);
    CHECK(gordian_client_add_process(client, "", &id, &error) == GORDIAN_STATUS_INPUT);

    CHECK(gordian_client_request(client, ann, fork, 1, &reply, &error) == GORDIAN_OK);
    CHECK(reply.outcome == GORDIAN_OUTCOME_GRANTED && reply.number == 1 && !reply.waits);
    CHECK(gordian_client_request(client, bob, spoon, 1, &reply, &error) == GORDIAN_OK);
    CHECK(gordian_client_request(client, ann, spoon, 1, &reply, &error) == GORDIAN_OK);
    CHECK(reply.outcome == GORDIAN_OUTCOME_BLOCKED && reply.waits && reply.number == 3);

    gordian_event ask = {.op = GORDIAN_OP_REQUEST, .process = bob, .resource = fork, .units = 1};
    CHECK(gordian_client_what_if(client, &ask, &reply, &error) == GORDIAN_OK);
    CHECK(reply.outcome == GORDIAN_OUTCOME_DEADLOCK);
    gordian_process_state state;
    CHECK(gordian_client_state(client, ann, &state, &error) == GORDIAN_OK);
    CHECK(state.known && state.waiting && !state.deadlocked && state.held_count == 1 &&
          state.held[0].resource == fork && state.wanted_count == 1 &&
          state.wanted[0].resource == spoon);
    CHECK(gordian_client_state(client, 999, &state, &error) == GORDIAN_OK && !state.known);

    CHECK(gordian_client_release(client, bob, spoon, 1, &reply, &error) == GORDIAN_OK);
    CHECK(reply.outcome == GORDIAN_OUTCOME_RELEASED && reply.served_count == 1 &&
          reply.served[0] == ann);
    CHECK(gordian_client_wait_granted(client, ann, 0, &error) == GORDIAN_OK);
    CHECK(gordian_client_cancel(client, ann, &reply, &error) == GORDIAN_OK);
    CHECK(reply.outcome == GORDIAN_OUTCOME_REFUSED && reply.refusal == GORDIAN_REFUSAL_NOT_WAITING);
    CHECK(gordian_client_exit(client, ann, &reply, &error) == GORDIAN_OK);
    CHECK(reply.outcome == GORDIAN_OUTCOME_EXITED);
    CHECK(gordian_client_ping(client, &error) == GORDIAN_OK);
    CHECK(gordian_client_subscribe(client, GORDIAN_ALL_DEADLOCKS, &error) == GORDIAN_OK);
    CHECK(gordian_client_subscribe(client, 16, &error) == GORDIAN_STATUS_INPUT);
    CHECK(gordian_client_use(client, "other", &error) == GORDIAN_OK);
    CHECK(strcmp(gordian_client_server_version(client), "fake") == 0);
    CHECK(strcmp(gordian_client_durability(client), "batch") == 0);
    gordian_client_close(client);
    fake_stop(&fake);
    CHECK(gordian_free_units(fake.system, fork) == 1);
    fake_free(&fake);
}

/* ------------------------------------------------------------------ acquire */

struct rival {
    const char *uri;
    uint32_t process, resource, waiter;
};

/* As soon as somebody waits for it. */
static void *release_when_wanted(void *context)
{
    struct rival *rival = context;
    gordian_client *client;
    if (gordian_client_open(&client, rival->uri, NULL, NULL) != GORDIAN_OK)
        return NULL;
    gordian_process_state state = {0};
    while (gordian_client_state(client, rival->waiter, &state, NULL) == GORDIAN_OK &&
           !state.waiting)
        usleep(1000);
    gordian_client_release(client, rival->process, rival->resource, 1, NULL, NULL);
    gordian_client_close(client);
    return NULL;
}

static void count_grant(void *context, uint32_t process)
{
    (void)process;
    (*(unsigned *)context)++;
}

static void test_acquire(void)
{
    struct fake fake;
    struct fake_options options = {.seed = 2};
    unsigned grants = 0;
    REQUIRE(fake_start(&fake, &options));
    gordian_client_options wanted;
    gordian_client_options_init(&wanted);
    wanted.granted = count_grant;
    wanted.context = &grants;
    gordian_client *client = fake_client(&fake, &wanted);
    gordian_declaration names[] = {{.name = "a", .is_resource = true, .units = 1},
                                   {.name = "b", .is_resource = true, .units = 1},
                                   {.name = "p"},
                                   {.name = "q"}};
    uint32_t ids[4];
    gordian_reply reply;
    REQUIRE(gordian_client_declare(client, names, 4, ids, &error) == GORDIAN_OK);
    gordian_want a = {.resource = ids[0], .units = 1}, b = {.resource = ids[1], .units = 1};
    CHECK(gordian_client_acquire(client, ids[2], &a, 1, 0, &reply, &error) == GORDIAN_OK);
    CHECK(reply.outcome == GORDIAN_OUTCOME_GRANTED);

    /* not within the time: nothing waits any more */
    CHECK(gordian_client_acquire(client, ids[3], &a, 1, 20, &reply, &error) == GORDIAN_OK);
    CHECK(reply.outcome == GORDIAN_OUTCOME_BLOCKED && !reply.waits);
    gordian_process_state state;
    CHECK(gordian_client_state(client, ids[3], &state, &error) == GORDIAN_OK && !state.waiting);

    /* somebody else's release serves it */
    struct rival rival = {fake.uri, ids[2], ids[0], ids[3]};
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, release_when_wanted, &rival) == 0);
    CHECK(gordian_client_acquire(client, ids[3], &a, 1, GORDIAN_FOREVER, &reply, &error) ==
          GORDIAN_OK);
    CHECK(reply.outcome == GORDIAN_OUTCOME_GRANTED && grants == 1);
    pthread_join(thread, NULL);

    /* a deadlock: told at once, and given up */
    CHECK(gordian_client_acquire(client, ids[2], &b, 1, 0, &reply, &error) == GORDIAN_OK);
    CHECK(gordian_client_request(client, ids[2], ids[0], 1, &reply, &error) == GORDIAN_OK);
    CHECK(reply.outcome == GORDIAN_OUTCOME_BLOCKED);
    CHECK(gordian_client_wait_granted(client, ids[2], 10, &error) == GORDIAN_STATUS_END);
    CHECK(gordian_client_acquire(client, ids[3], &b, 1, GORDIAN_FOREVER, &reply, &error) ==
          GORDIAN_OK);
    CHECK(reply.outcome == GORDIAN_OUTCOME_DEADLOCK && !reply.waits);
    CHECK(gordian_client_state(client, ids[3], &state, &error) == GORDIAN_OK && !state.waiting);
    gordian_client_close(client);
    fake_stop(&fake);
    fake_free(&fake);
}

/* ------------------------------------------------------------------ many random events */

#define PROCESSES 24
#define RESOURCES 12

struct load {
    gordian_client *client;
    gordian_system *model; /* what the service should be */
    uint32_t processes[PROCESSES], resources[RESOURCES];
    gordian_result *expected;
    unsigned long sent, answered, applied, wrong, failed;
};

static void declare_load(struct load *load)
{
    char texts[PROCESSES + RESOURCES][16];
    gordian_declaration names[PROCESSES + RESOURCES];
    uint32_t ids[PROCESSES + RESOURCES];
    for (unsigned i = 0; i < PROCESSES + RESOURCES; i++) {
        bool resource = i >= PROCESSES;
        snprintf(texts[i], sizeof texts[i], "%c%u", resource ? 'q' : 'p',
                 resource ? i - PROCESSES : i);
        names[i] = (gordian_declaration){
            .name = texts[i], .is_resource = resource, .units = resource ? i % 3 + 1 : 0};
        if (resource)
            gordian_add_resource(load->model, texts[i], names[i].units,
                                 &load->resources[i - PROCESSES], NULL);
        else
            gordian_add_process(load->model, texts[i], &load->processes[i], NULL);
    }
    CHECK(gordian_client_declare(load->client, names, PROCESSES + RESOURCES, ids, &error) ==
          GORDIAN_OK);
    for (unsigned i = 0; i < PROCESSES + RESOURCES; i++)
        CHECK(ids[i] == (i < PROCESSES ? load->processes[i] : load->resources[i - PROCESSES]));
}

static void check_reply(void *context, const gordian_reply *reply)
{
    struct load *load = context;
    if (reply->status != GORDIAN_OK) {
        load->failed++;
        return;
    }
    const gordian_result *expected = &load->expected[load->answered++];
    if (reply->number != load->answered) {
        load->wrong++;
    } else if (reply->outcome == GORDIAN_APPLIED) {
        load->applied++;
    } else {
        bool waits = expected->outcome >= GORDIAN_OUTCOME_BLOCKED &&
                     expected->outcome <= GORDIAN_OUTCOME_DOOMED;
        load->wrong += reply->outcome != expected->outcome || reply->refusal != expected->refusal ||
                       reply->waits != waits || reply->served_count != expected->served_count;
    }
}

static void random_event(struct load *load, struct random *random, gordian_event *event,
                         gordian_want wants[2])
{
    *event = (gordian_event){
        .op = random_chance(random, 55)   ? GORDIAN_OP_REQUEST
              : random_chance(random, 80) ? GORDIAN_OP_RELEASE
              : random_chance(random, 60) ? GORDIAN_OP_CANCEL
                                          : GORDIAN_OP_EXIT,
        .process = load->processes[random_below(random, PROCESSES)],
        .resource = load->resources[random_below(random, RESOURCES)],
        .units = 1 + random_below(random, 2),
        .to = GORDIAN_NONE,
    };
    if (event->op == GORDIAN_OP_REQUEST && random_chance(random, 30)) {
        for (int i = 0; i < 2; i++)
            wants[i] = (gordian_want){.resource = load->resources[random_below(random, RESOURCES)],
                                      .units = 1};
        event->wants = wants;
        event->want_count = 2;
    }
}

static void send_load(struct load *load, struct random *random, unsigned long count)
{
    for (unsigned long i = 0; i < count; i++) {
        gordian_event event;
        gordian_want wants[2];
        random_event(load, random, &event, wants);
        REQUIRE(gordian_feed(load->model, &event, &load->expected[load->sent], NULL) == GORDIAN_OK);
        gordian_status status =
            gordian_client_send(load->client, &event, check_reply, load, &error);
        CHECK_MSG(status == GORDIAN_OK, "%s", error.message);
        if (status != GORDIAN_OK)
            return;
        load->sent++;
        if (random_chance(random, 5))
            CHECK(gordian_client_flush(load->client, &error) == GORDIAN_OK);
        if (random_chance(random, 1))
            CHECK(gordian_client_work(load->client, &error) == GORDIAN_OK);
    }
}

static void compare_states(const gordian_system *left, const gordian_system *right)
{
    for (uint32_t p = 0; p < PROCESSES; p++) {
        gordian_edge a[64], b[64];
        size_t count = gordian_holdings(left, p, a, 64);
        CHECK(count == gordian_holdings(right, p, b, 64));
        for (size_t i = 0; i < count; i++)
            CHECK(a[i].resource == b[i].resource && a[i].units == b[i].units);
        CHECK(gordian_is_waiting(left, p) == gordian_is_waiting(right, p));
    }
    for (uint32_t q = 0; q < RESOURCES; q++) {
        gordian_edge a[64], b[64];
        size_t count = gordian_waiters(left, q, a, 64);
        CHECK(gordian_free_units(left, q) == gordian_free_units(right, q));
        CHECK(count == gordian_waiters(right, q, b, 64));
        for (size_t i = 0; i < count && i < 64; i++)
            CHECK(a[i].process == b[i].process);
    }
}

static unsigned long all_cuts, all_lost, all_declined;

/* Every event is applied once and in order, and answered once and in order, whatever happens. */
static void run_load(const struct fake_options *options, unsigned long count, uint32_t window)
{
    struct fake fake;
    struct load load = {0};
    struct random random;
    REQUIRE(fake_start(&fake, options));
    random_seed(&random, options->seed);
    gordian_client_options wanted;
    gordian_client_options_init(&wanted);
    wanted.lease_ms = 60000;
    wanted.timeout_ms = 30000;
    wanted.window = window;
    load.client = fake_client(&fake, &wanted);
    load.expected = malloc(count * sizeof *load.expected);
    REQUIRE(load.expected && gordian_open(&load.model, NULL, NULL) == GORDIAN_OK);
    declare_load(&load);
    send_load(&load, &random, count);
    CHECK(gordian_client_drain(load.client, GORDIAN_FOREVER, &error) == GORDIAN_OK);
    CHECK(gordian_client_unanswered(load.client) == 0);
    CHECK_MSG(load.answered == count && load.failed == 0, "%lu of %lu, %lu failed", load.answered,
              count, load.failed);
    CHECK_MSG(load.wrong == 0, "%lu wrong", load.wrong);
    gordian_client_close(load.client);
    fake_stop(&fake);
    CHECK_MSG(fake.applied == count, "%lu applied of %lu", (unsigned long)fake.applied, count);
    CHECK(options->cut_percent || load.applied == 0);
    all_cuts += fake.cuts;
    all_lost += load.applied;
    all_declined += fake.declined;
    compare_states(fake.system, load.model);
    fake_free(&fake);
    gordian_close(load.model);
    free(load.expected);
}

static void test_random(void)
{
    run_load(&(struct fake_options){.seed = 10}, test_scaled(20000), 65536);
    run_load(&(struct fake_options){.seed = 11, .part_percent = 50}, test_scaled(20000), 100);
    run_load(&(struct fake_options){.seed = 12, .decline_percent = 10}, test_scaled(3000) + 2000,
             1000);
    for (uint64_t seed = 20; seed < 20 + test_scaled(8); seed++) {
        run_load(&(struct fake_options){.seed = seed, .cut_percent = 5, .part_percent = 30}, 4000,
                 seed % 2 ? 500 : 65536);
        run_load(
            &(struct fake_options){
                .seed = seed, .cut_percent = 4, .decline_percent = 4, .part_percent = 30},
            2000, 300);
    }
    /* The faults did happen. */
    CHECK_MSG(all_cuts > 0 && all_lost > 0 && all_declined > 0, "%lu cuts, %lu lost, %lu declined",
              all_cuts, all_lost, all_declined);
}

/* Synchronous calls over connections that break: outcomes are never wrong. */
static void test_sync_over_cuts(void)
{
    struct fake fake;
    struct fake_options options = {.seed = 5, .cut_percent = 15, .part_percent = 20};
    unsigned long rounds = test_scaled(300), unknown = 0;
    REQUIRE(fake_start(&fake, &options));
    gordian_client_options wanted;
    gordian_client_options_init(&wanted);
    wanted.lease_ms = 60000;
    wanted.timeout_ms = 30000;
    gordian_client *client = fake_client(&fake, &wanted);
    uint32_t q, p, other;
    gordian_reply reply;
    CHECK(gordian_client_add_resource(client, "q", 1, &q, &error) == GORDIAN_OK);
    CHECK(gordian_client_add_process(client, "p", &p, &error) == GORDIAN_OK);
    CHECK(gordian_client_add_process(client, "other", &other, &error) == GORDIAN_OK);
    for (unsigned long i = 0; i < rounds; i++) {
        gordian_want want = {.resource = q, .units = 1};
        CHECK(gordian_client_acquire(client, p, &want, 1, 1000, &reply, &error) == GORDIAN_OK);
        CHECK_MSG(reply.outcome == GORDIAN_OUTCOME_GRANTED, "%u", reply.outcome);
        CHECK(gordian_client_request(client, other, q, 1, &reply, &error) == GORDIAN_OK);
        CHECK_MSG(reply.outcome == GORDIAN_OUTCOME_BLOCKED && reply.waits, "%u", reply.outcome);
        CHECK(gordian_client_release(client, p, q, 1, &reply, &error) == GORDIAN_OK);
        CHECK(reply.outcome == GORDIAN_OUTCOME_RELEASED || reply.outcome == GORDIAN_APPLIED);
        unknown += reply.outcome == GORDIAN_APPLIED;
        CHECK(gordian_client_wait_granted(client, other, 30000, &error) == GORDIAN_OK);
        CHECK(gordian_client_exit(client, other, &reply, &error) == GORDIAN_OK);
        CHECK(reply.outcome == GORDIAN_OUTCOME_EXITED);
    }
    CHECK(gordian_client_close_system(client, "x", &error) == GORDIAN_OK);
    gordian_client_close(client);
    fake_stop(&fake);
    CHECK(fake.cuts > 0 && unknown < rounds);
    CHECK(fake.applied == rounds * 4);
    fake_free(&fake);
}

/* ------------------------------------------------------------------ ends */

/* Resuming a session by its number, as a program that was restarted does. */
static void test_resume(void)
{
    struct fake fake;
    struct fake_options options = {.seed = 6};
    uint8_t session[GORDIAN_SESSION_SIZE], unknown[GORDIAN_SESSION_SIZE] = {1};
    REQUIRE(fake_start(&fake, &options));
    gordian_client_options wanted;
    gordian_client_options_init(&wanted);
    wanted.lease_ms = 1000;
    gordian_client *client = fake_client(&fake, &wanted);
    gordian_reply reply;
    uint32_t q, p;
    CHECK(gordian_client_add_resource(client, "q", 1, &q, &error) == GORDIAN_OK);
    CHECK(gordian_client_add_process(client, "p", &p, &error) == GORDIAN_OK);
    CHECK(gordian_client_request(client, p, q, 1, &reply, &error) == GORDIAN_OK);
    CHECK(gordian_client_last_applied(client) == 0);
    gordian_client_session(client, session);
    gordian_client_leave(client);
    wanted.session = session;
    client = fake_client(&fake, &wanted);
    CHECK(gordian_client_last_applied(client) == 1);
    CHECK(gordian_client_release(client, p, q, 1, &reply, &error) == GORDIAN_OK);
    CHECK(reply.outcome == GORDIAN_OUTCOME_RELEASED && reply.number == 2);
    gordian_client_close(client);
    wanted.session = unknown;
    CHECK(gordian_client_open(&client, fake.uri, &wanted, &error) == GORDIAN_STATUS_UNAVAILABLE);
    CHECK(!client);
    fake_stop(&fake);
    fake_free(&fake);
}

/* ------------------------------------------------------------------ in the caller's loop */

struct chain {
    gordian_client *client;
    uint32_t process, resource;
    unsigned left;
    gordian_status waited;
};

/* Each answer sends the next event; nothing may wait from here. */
static void go_on(void *context, const gordian_reply *reply)
{
    struct chain *chain = context;
    CHECK(reply->status == GORDIAN_OK);
    if (chain->left == 0)
        return;
    gordian_event event = {.op = chain->left % 2 ? GORDIAN_OP_RELEASE : GORDIAN_OP_REQUEST,
                           .process = chain->process,
                           .resource = chain->resource,
                           .units = 1,
                           .to = GORDIAN_NONE};
    chain->left--;
    CHECK(gordian_client_send(chain->client, &event, go_on, chain, NULL) == GORDIAN_OK);
    chain->waited = gordian_client_ping(chain->client, NULL);
}

static void note_link(void *context, bool connected, const char *why)
{
    (void)connected;
    CHECK(why != NULL);
    (*(unsigned *)context)++;
}

static void test_own_loop(void)
{
    struct fake fake;
    struct fake_options options = {.seed = 7, .cut_percent = 5};
    unsigned links = 0;
    REQUIRE(fake_start(&fake, &options));
    gordian_client_options wanted;
    gordian_client_options_init(&wanted);
    wanted.lease_ms = 30000;
    wanted.link = note_link;
    wanted.context = &links;
    struct chain chain = {.client = fake_client(&fake, &wanted), .left = 200};
    CHECK(gordian_client_add_resource(chain.client, "q", 1, &chain.resource, &error) == GORDIAN_OK);
    CHECK(gordian_client_add_process(chain.client, "p", &chain.process, &error) == GORDIAN_OK);
    gordian_event first = {
        .op = GORDIAN_OP_REQUEST, .process = chain.process, .resource = chain.resource, .units = 1};
    CHECK(gordian_client_send(chain.client, &first, go_on, &chain, &error) == GORDIAN_OK);
    CHECK(gordian_client_events(chain.client) & POLLOUT); /* it is not sent yet */
    gordian_status status = GORDIAN_OK;
    while (status == GORDIAN_OK && gordian_client_unanswered(chain.client) > 0) {
        struct pollfd wait = {.fd = gordian_client_fd(chain.client),
                              .events = gordian_client_events(chain.client)};
        poll(&wait, 1, gordian_client_timeout(chain.client));
        status = gordian_client_work(chain.client, &error);
    }
    CHECK_MSG(status == GORDIAN_OK, "%s", error.message);
    CHECK(chain.left == 0 && chain.waited == GORDIAN_STATUS_INPUT);
    CHECK(links >= 2 && links % 2 == 0);
    gordian_client_close(chain.client);
    fake_stop(&fake);
    CHECK(fake.applied == 201);
    fake_free(&fake);
}

struct subscribed {
    unsigned gaps, links;
};

static void note_gap(void *context, gordian_notice notice, const char *json, size_t length)
{
    struct subscribed *told = context;
    CHECK(notice == GORDIAN_NOTICE_GAP && length == strlen("{\"gap\":{}}") &&
          memcmp(json, "{\"gap\":{}}", length) == 0);
    told->gaps++;
}

static void note_connected(void *context, bool connected, const char *why)
{
    (void)why;
    ((struct subscribed *)context)->links += connected;
}

/* Whoever may only look is let in everywhere, and comes to the one that leads, and tells, when it
 * subscribes. Each time it is connected anew it is told that something may be missing, once. */
static void check_subscribed(uint32_t lease_ms, unsigned cut_percent)
{
    struct fake leads, stands_by;
    struct fake_options options = {.seed = 11, .readers = true, .cut_percent = cut_percent};
    struct subscribed told = {0};
    REQUIRE(fake_start(&leads, &options));
    options = (struct fake_options){.seed = 12, .readers = true, .leader = leads.uri};
    REQUIRE(fake_start(&stands_by, &options));
    gordian_client_options wanted;
    gordian_client_options_init(&wanted);
    wanted.lease_ms = lease_ms;
    wanted.notice = note_gap;
    wanted.link = note_connected;
    wanted.context = &told;
    gordian_client *client = fake_client(&stands_by, &wanted);
    CHECK(leads.frames == 0);
    gordian_status status =
        gordian_client_subscribe(client, GORDIAN_MY_GRANTS | GORDIAN_ALL_DEADLOCKS, &error);
    CHECK_MSG(status == GORDIAN_OK, "%s", error.message);
    CHECK(leads.frames > 0 && told.gaps == 0);
    told.links = 0;
    for (unsigned i = 0; i < 200; i++)
        CHECK(gordian_client_ping(client, &error) == GORDIAN_OK);
    CHECK_MSG(told.gaps == told.links && (told.gaps > 0) == (cut_percent > 0), "%u of %u",
              told.gaps, told.links);
    gordian_client_close(client);
    struct fake *all[] = {&leads, &stands_by};
    for (size_t i = 0; i < 2; i++) {
        fake_stop(all[i]);
        fake_free(all[i]);
    }
}

static void test_subscribed(void)
{
    check_subscribed(0, 0);
    check_subscribed(60000, 10);
}

/* A lease is kept alive while the library waits. */
static void test_keep_alive(void)
{
    struct fake fake;
    struct fake_options options = {.seed = 8};
    REQUIRE(fake_start(&fake, &options));
    gordian_client_options wanted;
    gordian_client_options_init(&wanted);
    wanted.lease_ms = 60;
    gordian_client *client = fake_client(&fake, &wanted);
    gordian_reply reply;
    uint32_t q, p, other;
    CHECK(gordian_client_add_resource(client, "q", 1, &q, &error) == GORDIAN_OK);
    CHECK(gordian_client_add_process(client, "p", &p, &error) == GORDIAN_OK);
    CHECK(gordian_client_add_process(client, "other", &other, &error) == GORDIAN_OK);
    CHECK(gordian_client_request(client, p, q, 1, &reply, &error) == GORDIAN_OK);
    CHECK(gordian_client_request(client, other, q, 1, &reply, &error) == GORDIAN_OK);
    unsigned long before = fake.frames;
    CHECK(gordian_client_timeout(client) >= 0 && gordian_client_timeout(client) <= 21);
    do
        CHECK(gordian_client_wait_granted(client, other, 30, &error) == GORDIAN_STATUS_END);
    while (!test_failed && fake.frames < before + 3);
    gordian_client_close(client);
    fake_stop(&fake);
    fake_free(&fake);
}

/* ------------------------------------------------------------------ memory */

static void ignore_reply(void *context, const gordian_reply *reply)
{
    (void)reply;
    (*(unsigned *)context)++;
}

static gordian_status script(const struct fake *fake, struct failing *failing, unsigned *answers,
                             unsigned *sent)
{
    gordian_allocator allocator = {failing_resize, failing};
    gordian_client_options wanted;
    gordian_client_options_init(&wanted);
    wanted.allocator = &allocator;
    wanted.name = "script";
    wanted.token = "a token";
    gordian_client *client;
    gordian_reply reply;
    gordian_process_state state;
    uint32_t ids[2];
    gordian_declaration names[] = {{.name = "q", .is_resource = true, .units = 1}, {.name = "p"}};
    gordian_status status = gordian_client_open(&client, fake->uri, &wanted, &error);
    if (status == GORDIAN_OK)
        status = gordian_client_declare(client, names, 2, ids, &error);
    if (status == GORDIAN_OK)
        status = gordian_client_use(client, "another", &error);
    for (unsigned i = 0; i < 400 && status == GORDIAN_OK; i++) {
        gordian_event event = {.op = i % 2 ? GORDIAN_OP_RELEASE : GORDIAN_OP_REQUEST,
                               .process = ids[1],
                               .resource = ids[0],
                               .units = 1,
                               .to = GORDIAN_NONE};
        status = gordian_client_send(client, &event, ignore_reply, answers, &error);
        *sent += status == GORDIAN_OK;
    }
    if (status == GORDIAN_OK)
        status = gordian_client_request(client, ids[1], ids[0], 1, &reply, &error);
    if (status == GORDIAN_OK)
        status = gordian_client_state(client, ids[1], &state, &error);
    if (status == GORDIAN_OK)
        CHECK(state.held_count == 1);
    gordian_status after = GORDIAN_OK;
    if (client) { /* what failed once can go on */
        failing->fail_at = 0;
        after = gordian_client_drain(client, GORDIAN_FOREVER, &error);
        CHECK(after == GORDIAN_OK && *answers == *sent);
    }
    gordian_client_close(client);
    return status;
}

static void test_memory(void)
{
    struct fake fake;
    struct fake_options options = {.seed = 9};
    REQUIRE(fake_start(&fake, &options));
    for (size_t at = 1;; at++) {
        struct failing failing = {.fail_at = at};
        unsigned answers = 0, sent = 0;
        gordian_status status = script(&fake, &failing, &answers, &sent);
        CHECK_MSG(failing.live_blocks == 0 && failing.live_bytes == 0, "leak after failure %zu",
                  at);
        CHECK(answers == sent);
        if (failing.failures == 0) {
            CHECK(status == GORDIAN_OK && at > 5);
            break;
        }
        CHECK_MSG(status == GORDIAN_OK || status == GORDIAN_STATUS_MEMORY ||
                      status == GORDIAN_STATUS_IO,
                  "failure %zu: %d %s", at, (int)status, error.message);
        REQUIRE(at < 10000);
    }
    fake_stop(&fake);
    fake_free(&fake);
}

/* ------------------------------------------------------------------ nonsense */

/* A service that answers nonsense: nothing hangs, everybody is told once, nothing is read or
 * written where it should not be. */
static void test_nonsense(void)
{
    unsigned long failures = 0, rounds = test_scaled(60);
    /* On a slow machine a time limit may end all of them: then there are more. */
    for (unsigned long round = 0; round < rounds || failures == round; round++) {
        REQUIRE(round < 100 * rounds);
        struct fake fake;
        struct fake_options options = {.seed = 1000 + round, .noise_percent = 30};
        gordian_client_options wanted;
        gordian_client *client;
        gordian_reply reply;
        unsigned answers = 0, sent = 0;
        REQUIRE(fake_start(&fake, &options));
        gordian_client_options_init(&wanted);
        wanted.timeout_ms = 20;
        wanted.lease_ms = round % 2 ? 100 : 0;
        gordian_status status = gordian_client_open(&client, fake.uri, &wanted, &error);
        if (status == GORDIAN_OK) {
            uint32_t ids[2] = {0, 0};
            gordian_process_state state;
            gordian_declaration names[] = {{.name = "q", .is_resource = true, .units = 1},
                                           {.name = "p"}};
            gordian_client_declare(client, names, 2, ids, &error);
            for (unsigned i = 0; i < 20; i++) {
                gordian_event event = {.op = i % 2 ? GORDIAN_OP_RELEASE : GORDIAN_OP_REQUEST,
                                       .process = ids[1] % 1000,
                                       .resource = ids[0],
                                       .units = 1,
                                       .to = GORDIAN_NONE};
                sent += gordian_client_send(client, &event, ignore_reply, &answers, &error) ==
                        GORDIAN_OK;
            }
            status = gordian_client_drain(client, 50, &error);
            gordian_client_state(client, 0, &state, &error);
            gordian_client_request(client, 0, 0, 1, &reply, &error);
            CHECK(answers <= sent);
            CHECK(status != GORDIAN_OK || answers == sent);
            gordian_client_close(client);
        }
        failures += status != GORDIAN_OK;
        fake_stop(&fake);
        fake_free(&fake);
    }
    CHECK_MSG(rounds < 10 || failures > 0, "none of %lu failed", rounds);
}

int main(void)
{
    test_addresses();
    test_servers();
    test_plain_use();
    test_acquire();
    test_random();
    test_sync_over_cuts();
    test_resume();
    test_own_loop();
    test_subscribed();
    test_keep_alive();
    test_memory();
    test_nonsense();
    return test_done();
}
