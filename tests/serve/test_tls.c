/* The client library over TLS, and a real service: all of what it does without, with connections
 * that are cut anywhere, and nothing but small pieces coming through. */
#define _GNU_SOURCE
#include "../alloc/failing.h"
#include "foundation/base/clock.h"
#include "relay.h"
#include "tls_world.h"

#include <poll.h>

static void test_model(void)
{
    struct tls_service service;
    gordian_client_options options = trusting();
    start_service(&service, "good", NULL);
    load_steadily(service.uri, &options, test_scaled(50000));
    stop_service(&service);
}

static void test_killed(void)
{
    struct tls_service service;
    gordian_client_options options = trusting();
    start_service(&service, "good", NULL);
    load_with_kills(&service.running, service.uri, &options, 2000 + test_scaled(28000));
    stop_service(&service);
}

/* ------------------------------------------------------------------ bad networks */

/* Through a relay; how often it has cut a connection. */
static unsigned long load_through(struct relay_options wanted, unsigned long count)
{
    struct tls_service service;
    struct relay relay;
    struct load load;
    struct random random;
    char uri[64];
    gordian_client_options options = trusting();
    start_service(&service, "good", NULL);
    wanted.port = service.port;
    wanted.spared = 8000; /* the first connection is not tried again */
    REQUIRE(relay_start(&relay, &wanted));
    snprintf(uri, sizeof uri, "tls://localhost:%u", relay.port);
    random_seed(&random, wanted.seed);
    open_load(&load, uri, &options, count);
    for (unsigned long i = 0; i < count; i++) {
        send_one(&load, &random);
        if (i % 100 == 0)
            CHECK(gordian_client_work(load.client, &error) == GORDIAN_OK);
    }
    close_load(&load, count);
    unsigned long cuts = atomic_load(&relay.cuts);
    printf("%lu connections, %lu cut, %lu answers lost on the way\n",
           atomic_load(&relay.connections), cuts, load.applied);
    relay_stop(&relay);
    stop_service(&service);
    return cuts;
}

static void test_networks(void)
{
    CHECK(load_through((struct relay_options){.piece = 1, .seed = 1}, test_scaled(1000)) == 0);
    CHECK(load_through((struct relay_options){.piece = 1000, .seed = 2}, test_scaled(10000)) == 0);
    CHECK(load_through((struct relay_options){.cut_every = 6000, .seed = 3},
                       2000 + test_scaled(18000)) > 0);
    CHECK(load_through((struct relay_options){.cut_every = 5000, .piece = 100, .seed = 4}, 3000) >
          0);
    CHECK(load_through((struct relay_options){.cut_every = 5000, .reset = true, .seed = 5},
                       2000 + test_scaled(18000)) > 0);
}

/* ------------------------------------------------------------------ in a loop of one's own */

static void count_reply(void *context, const gordian_reply *reply)
{
    *(unsigned long *)context += reply->status == GORDIAN_OK;
}

/* One turn of it; at most so many milliseconds. */
static void turn(gordian_client *client, int most)
{
    struct pollfd wanted = {.fd = gordian_client_fd(client),
                            .events = gordian_client_events(client)};
    int timeout = gordian_client_timeout(client);
    poll(&wanted, wanted.fd >= 0, timeout < 0 || timeout > most ? most : timeout);
    gordian_status status = gordian_client_work(client, &error);
    CHECK_MSG(status == GORDIAN_OK, "%d %s", (int)status, error.message);
}

/* Nothing is lost to a poll that does not see what OpenSSL holds back, and nothing spins. */
static void test_own_loop(void)
{
    struct tls_service service;
    gordian_client_options options = trusting();
    unsigned long answers = 0, sent = 0, count = test_scaled(20000), idle = 0;
    uint32_t process, resource;
    start_service(&service, "good", NULL);
    options.lease_ms = 60000;
    gordian_client *client = open_client(service.uri, &options);
    CHECK(gordian_client_add_process(client, "p", &process, &error) == GORDIAN_OK);
    CHECK(gordian_client_add_resource(client, "q", 1, &resource, &error) == GORDIAN_OK);
    uint64_t until = clock_ns() + UINT64_C(600000000000);
    while (answers < count && clock_ns() < until) {
        for (unsigned i = 0; i < 1000 && sent < count; i++, sent++) {
            gordian_event event = {.op = sent % 2 ? GORDIAN_OP_RELEASE : GORDIAN_OP_REQUEST,
                                   .process = process,
                                   .resource = resource,
                                   .units = 1,
                                   .to = GORDIAN_NONE};
            REQUIRE(gordian_client_send(client, &event, count_reply, &answers, &error) ==
                    GORDIAN_OK);
        }
        turn(client, 600000);
        if (sent % 5000 == 0)
            CHECK(gordian_client_flush(client, &error) == GORDIAN_OK);
    }
    CHECK_MSG(answers == count, "%lu of %lu", answers, count);
    for (uint64_t end = clock_ns() + 200000000; clock_ns() < end; idle++)
        turn(client, 50);
    CHECK_MSG(idle < 50, "%lu turns with nothing to do", idle);
    gordian_client_close(client);
    stop_service(&service);
}

/* ------------------------------------------------------------------ much at once */

static void note(void *context, gordian_notice kind, const char *json, size_t length)
{
    (void)json;
    (void)length;
    *(unsigned long *)context += kind == GORDIAN_NOTICE_EVENT;
}

/* More than any buffer holds, one way and the other. */
static void test_much(void)
{
    enum { NAMES = 4000 };
    static char names[NAMES][120];
    static gordian_declaration list[NAMES];
    static uint32_t ids[NAMES];
    struct tls_service service;
    unsigned long seen = 0, answers = 0, count = test_scaled(20000);
    gordian_client_options options = trusting();
    start_service(&service, "good", NULL);
    gordian_client *client = open_client(service.uri, &options);
    options.notice = note;
    options.context = &seen;
    gordian_client *watcher = open_client(service.uri, &options);
    CHECK(gordian_client_subscribe(watcher, GORDIAN_ALL_EVENTS, &error) == GORDIAN_OK);
    for (unsigned round = 0; round < 5; round++) {
        for (unsigned i = 0; i < NAMES; i++) {
            snprintf(names[i], sizeof names[i], "%0100u-%u", i, round);
            list[i] = (gordian_declaration){.name = names[i], .is_resource = true, .units = 1};
        }
        gordian_status status = gordian_client_declare(client, list, NAMES, ids, &error);
        CHECK_MSG(status == GORDIAN_OK && ids[NAMES - 1] != GORDIAN_NONE, "%s", error.message);
    }
    uint32_t process;
    CHECK(gordian_client_add_process(client, "p", &process, &error) == GORDIAN_OK);
    for (unsigned long i = 0; i < count; i++) {
        gordian_event event = {.op = i % 2 ? GORDIAN_OP_RELEASE : GORDIAN_OP_REQUEST,
                               .process = process,
                               .resource = ids[0],
                               .units = 1,
                               .to = GORDIAN_NONE};
        REQUIRE(gordian_client_send(client, &event, count_reply, &answers, &error) == GORDIAN_OK);
        if (i % 500 == 0) { /* a watcher that does not read is cut off */
            CHECK(gordian_client_drain(client, 60000, &error) == GORDIAN_OK);
            CHECK(gordian_client_ping(watcher, &error) == GORDIAN_OK);
        }
    }
    CHECK(gordian_client_drain(client, 60000, &error) == GORDIAN_OK);
    CHECK(gordian_client_ping(watcher, &error) == GORDIAN_OK);
    CHECK_MSG(answers == count && seen >= count, "%lu, %lu of %lu", answers, seen, count);
    gordian_client_close(client);
    gordian_client_close(watcher);
    stop_service(&service);
}

/* ------------------------------------------------------------------ memory */

static gordian_status script(const char *uri, struct failing *failing)
{
    gordian_allocator allocator = {failing_resize, failing};
    gordian_client_options options = trusting();
    gordian_client *client;
    uint32_t process, resource;
    unsigned long answers = 0, sent = 0;
    options.allocator = &allocator;
    gordian_status status = gordian_client_open(&client, uri, &options, &error);
    if (status == GORDIAN_OK)
        status = gordian_client_add_process(client, "p", &process, &error);
    if (status == GORDIAN_OK)
        status = gordian_client_add_resource(client, "q", 1, &resource, &error);
    for (unsigned i = 0; i < 400 && status == GORDIAN_OK; i++) {
        gordian_event event = {.op = i % 2 ? GORDIAN_OP_RELEASE : GORDIAN_OP_REQUEST,
                               .process = process,
                               .resource = resource,
                               .units = 1,
                               .to = GORDIAN_NONE};
        status = gordian_client_send(client, &event, count_reply, &answers, &error);
        sent += status == GORDIAN_OK;
    }
    if (client) { /* what failed once can go on */
        failing->fail_at = 0;
        CHECK(gordian_client_drain(client, 60000, &error) == GORDIAN_OK && answers == sent);
    }
    gordian_client_close(client);
    return status;
}

static void test_memory(void)
{
    struct tls_service service;
    start_service(&service, "good", NULL);
    for (size_t at = 1;; at++) {
        struct failing failing = {.fail_at = at};
        gordian_status status = script(service.uri, &failing);
        CHECK_MSG(failing.live_blocks == 0 && failing.live_bytes == 0, "leak after failure %zu",
                  at);
        if (failing.failures == 0) {
            CHECK(status == GORDIAN_OK && at > 5);
            break;
        }
        CHECK_MSG(status == GORDIAN_OK || status == GORDIAN_STATUS_MEMORY ||
                      status == GORDIAN_STATUS_IO,
                  "failure %zu: %d %s", at, (int)status, error.message);
        REQUIRE(at < 1000);
    }
    stop_service(&service);
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    test_model();
    test_killed();
    test_networks();
    test_own_loop();
    test_much();
    test_memory();
    return end();
}
