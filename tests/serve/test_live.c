/* The client library and a real service: every answer against a model, also when the service is
 * killed in the middle, over TCP with tokens, and with a lease that runs out. */
#define _GNU_SOURCE
#include "heard.h"
#include "load.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static const char *program;

static void test_model(void)
{
    struct running service;
    REQUIRE(running_start(&service, program, NULL));
    load_steadily(service.uri, NULL, test_scaled(50000));
    CHECK(running_alive(&service));
    CHECK(running_stop(&service) == 0);
}

static void test_killed(void)
{
    struct running service;
    REQUIRE(running_start(&service, program, NULL));
    load_with_kills(&service, service.uri, NULL, 2000 + test_scaled(28000));
    CHECK(running_stop(&service) == 0);
}

/* ------------------------------------------------------------------ grants, leases */

struct waiter {
    const char *uri;
    gordian_reply reply;
    gordian_status status;
    atomic_bool waits;
};

static void *acquire(void *context)
{
    struct waiter *waiter = context;
    gordian_client *client;
    uint32_t process, resource;
    waiter->status = gordian_client_open(&client, waiter->uri, NULL, NULL);
    if (waiter->status != GORDIAN_OK)
        return NULL;
    gordian_client_add_process(client, "waiter", &process, NULL);
    gordian_client_add_resource(client, "lock", 1, &resource, NULL);
    gordian_want want = {.resource = resource, .units = 1};
    atomic_store(&waiter->waits, true);
    waiter->status =
        gordian_client_acquire(client, process, &want, 1, GORDIAN_FOREVER, &waiter->reply, NULL);
    gordian_client_close(client);
    return NULL;
}

/* What a client holds comes back when it says good-bye, is cut off, or is silent for too long. */
static void test_ends(void)
{
    struct running service;
    REQUIRE(running_start(&service, program, NULL));
    for (int how = 0; how < 3; how++) {
        gordian_client_options options;
        gordian_client_options_init(&options);
        options.lease_ms = how == 2 ? 5000 : 0; /* longer than a call takes */
        gordian_client *holder = open_client(service.uri, &options);
        uint32_t process, resource;
        gordian_reply reply;
        CHECK(gordian_client_add_process(holder, "holder", &process, &error) == GORDIAN_OK);
        CHECK(gordian_client_add_resource(holder, "lock", 1, &resource, &error) == GORDIAN_OK);
        CHECK(gordian_client_request(holder, process, resource, 1, &reply, &error) == GORDIAN_OK);
        CHECK_MSG(reply.outcome == GORDIAN_OUTCOME_GRANTED, "way %d: %u", how, reply.outcome);
        struct waiter waiter = {.uri = service.uri};
        pthread_t thread;
        REQUIRE(pthread_create(&thread, NULL, acquire, &waiter) == 0);
        while (!atomic_load(&waiter.waits))
            usleep(1000);
        usleep(20000);
        if (how == 0)
            gordian_client_close(holder);
        else if (how == 1)
            gordian_client_leave(holder);
        pthread_join(thread, NULL);
        CHECK(waiter.status == GORDIAN_OK && waiter.reply.outcome == GORDIAN_OUTCOME_GRANTED);
        if (how == 2) { /* it was only silent, and hears of it now */
            gordian_status status = gordian_client_ping(holder, &error);
            CHECK_MSG(status != GORDIAN_OK, "a session that has ended goes on");
            gordian_client_close(holder);
        }
    }
    CHECK(running_stop(&service) == 0);
}

struct notices {
    unsigned deadlocks, events;
    bool victim;
};

static void note(void *context, gordian_notice kind, const char *json, size_t length)
{
    struct notices *notices = context;
    notices->deadlocks += kind == GORDIAN_NOTICE_DEADLOCK;
    notices->events += kind == GORDIAN_NOTICE_EVENT;
    notices->victim |= memmem(json, length, "\"victim\":\"", 10) != NULL;
}

/* Who has subscribed stays so when the service is killed and comes back, and knows what it missed.
 */
static void test_subscribed(void)
{
    struct running service;
    struct hearer all = {0}, deadlocks = {0}, nothing = {0};
    uint32_t process, resource;
    gordian_reply reply;
    REQUIRE(running_start(&service, program, NULL));
    gordian_client *one = heard_client(
        service.uri, &all, GORDIAN_MY_GRANTS | GORDIAN_ALL_DEADLOCKS | GORDIAN_ALL_EVENTS);
    gordian_client *two =
        heard_client(service.uri, &deadlocks, GORDIAN_MY_GRANTS | GORDIAN_ALL_DEADLOCKS);
    gordian_client *speaker = heard_client(service.uri, &nothing, GORDIAN_MY_GRANTS);
    heard_say(speaker);
    heard_wait(one, &all, 2, 0);
    for (unsigned kills = 1; kills <= 2; kills++) {
        unsigned told = all.events;
        uint64_t known = all.at;
        running_end(&service, SIGKILL);
        REQUIRE(running_again(&service));
        heard_say(speaker); /* while the others are not connected */
        heard_wait(one, &all, known + 2, kills);
        CHECK_MSG(all.at == known + 2 && all.events == told, "%u events", all.events);
        heard_wait(two, &deadlocks, 0, kills);
        heard_say(speaker);
        heard_wait(one, &all, known + 4, kills);
        CHECK(all.at == known + 4 && all.events == told + 2);
    }
    CHECK(!gordian_client_add_resource(speaker, "pair", 2, &resource, &error));
    CHECK(!gordian_client_add_process(speaker, "stuck", &process, &error));
    CHECK(!gordian_client_request(speaker, process, resource, 2, &reply, &error));
    CHECK(!gordian_client_request(speaker, process, resource, 1, &reply, &error));
    CHECK_MSG(reply.outcome == GORDIAN_OUTCOME_DEADLOCK, "%u", reply.outcome);
    heard_wait(one, &all, all.at + 2, 2);
    for (int tries = 0; tries < 12000 && deadlocks.deadlocks == 0; tries++)
        CHECK(!gordian_client_ping(two, &error));
    CHECK(all.gaps == 2 && all.unsaid == 0 && all.deadlocks == 1);
    CHECK(deadlocks.gaps == 2 && deadlocks.unsaid == 2 && deadlocks.deadlocks == 1);
    CHECK(nothing.gaps == 0 && nothing.events == 0);
    gordian_client_close(speaker);
    gordian_client_close(two);
    gordian_client_close(one);
    CHECK(running_stop(&service) == 0);
}

/* A system that recovers by itself ends the victim, who is told, whose request does not hang. */
static void test_recovery(void)
{
    struct running service;
    struct notices notices = {0};
    REQUIRE(running_start(&service, program, NULL));
    gordian_client_options options;
    gordian_client_options_init(&options);
    options.notice = note;
    options.context = &notices;
    gordian_client *client = open_client(service.uri, &options);
    CHECK(gordian_client_use(client, "locks", &error) == GORDIAN_STATUS_INPUT);
    CHECK(gordian_client_open_system(client, "locks", GORDIAN_SERVICE_KIND_DETECTS,
                                     "recover=youngest", &error) == GORDIAN_OK);
    CHECK(gordian_client_subscribe(client, GORDIAN_MY_GRANTS | GORDIAN_ALL_DEADLOCKS, &error) ==
          GORDIAN_OK);
    uint32_t a, b, old, young;
    CHECK(gordian_client_add_resource(client, "a", 1, &a, &error) == GORDIAN_OK);
    CHECK(gordian_client_add_resource(client, "b", 1, &b, &error) == GORDIAN_OK);
    CHECK(gordian_client_add_process(client, "old", &old, &error) == GORDIAN_OK);
    CHECK(gordian_client_add_process(client, "young", &young, &error) == GORDIAN_OK);
    gordian_reply reply;
    CHECK(gordian_client_request(client, old, a, 1, &reply, &error) == GORDIAN_OK);
    CHECK(gordian_client_request(client, young, b, 1, &reply, &error) == GORDIAN_OK);
    CHECK(gordian_client_request(client, young, a, 1, &reply, &error) == GORDIAN_OK);
    CHECK(reply.outcome == GORDIAN_OUTCOME_BLOCKED);
    gordian_want want = {.resource = b, .units = 1};
    CHECK(gordian_client_acquire(client, old, &want, 1, 30000, &reply, &error) == GORDIAN_OK);
    CHECK_MSG(reply.outcome == GORDIAN_OUTCOME_GRANTED, "%u", reply.outcome);
    CHECK(gordian_client_ping(client, &error) == GORDIAN_OK);
    CHECK_MSG(notices.deadlocks >= 1 && notices.victim, "%u deadlocks", notices.deadlocks);
    CHECK(gordian_client_weigh(client, old, 3, 4, &error) == GORDIAN_OK);
    CHECK(gordian_client_exit(client, old, &reply, &error) == GORDIAN_OK);
    CHECK(gordian_client_remove(client, true, (uint32_t[]){a, b}, 2, &error) == GORDIAN_OK);
    gordian_client_close(client);
    CHECK(running_stop(&service) == 0);
}

static void test_avoidance(void)
{
    struct running service;
    REQUIRE(running_start(&service, program, NULL));
    gordian_client *client = open_client(service.uri, NULL);
    uint32_t gpu, one, two;
    gordian_reply reply;
    CHECK(gordian_client_open_system(client, "bank", GORDIAN_SERVICE_KIND_AVOIDS, "queue=yes",
                                     &error) == GORDIAN_OK);
    CHECK(gordian_client_add_resource(client, "gpu", 2, &gpu, &error) == GORDIAN_OK);
    gordian_want claim = {.resource = gpu, .units = 2}, unit = {.resource = gpu, .units = 1};
    gordian_declaration jobs[] = {{.name = "one", .claims = &claim, .claim_count = 1},
                                  {.name = "two", .claims = &claim, .claim_count = 1}};
    uint32_t ids[2];
    CHECK(gordian_client_declare(client, jobs, 2, ids, &error) == GORDIAN_OK);
    one = ids[0];
    two = ids[1];
    CHECK(gordian_client_acquire(client, one, &unit, 1, 0, &reply, &error) == GORDIAN_OK);
    CHECK(reply.outcome == GORDIAN_VERDICT_GRANTED);
    CHECK(gordian_client_request(client, two, gpu, 1, &reply, &error) == GORDIAN_OK);
    CHECK_MSG(reply.outcome == GORDIAN_VERDICT_UNSAFE && reply.waits, "%u", reply.outcome);
    CHECK(gordian_client_wait_granted(client, two, 10, &error) == GORDIAN_STATUS_END);
    CHECK(gordian_client_release(client, one, gpu, 1, &reply, &error) == GORDIAN_OK);
    CHECK(reply.outcome == GORDIAN_VERDICT_RELEASED && reply.served_count == 1 &&
          reply.served[0] == two);
    CHECK(gordian_client_wait_granted(client, two, 0, &error) == GORDIAN_OK);
    CHECK(gordian_client_acquire(client, one, &unit, 1, 20, &reply, &error) == GORDIAN_OK);
    CHECK_MSG(reply.outcome == GORDIAN_VERDICT_UNSAFE && !reply.waits, "%u", reply.outcome);
    gordian_client_close(client);
    CHECK(running_stop(&service) == 0);
}

/* ------------------------------------------------------------------ by name */

struct heard {
    unsigned count;
    gordian_reply replies[64];
    char texts[64][200];
};

static void hear(void *context, const gordian_reply *reply)
{
    struct heard *heard = context;
    REQUIRE(heard->count < 64);
    snprintf(heard->texts[heard->count], sizeof heard->texts[0], "%.*s", (int)reply->json_length,
             reply->json ? reply->json : "");
    heard->replies[heard->count++] = *reply;
}

static void say(gordian_client *client, struct heard *heard, const char *line)
{
    bool event = strncmp(line, "resource", 8) != 0 && strncmp(line, "process", 7) != 0;
    CHECK(gordian_client_send_line(client, line, strlen(line), event, hear, heard, &error) ==
          GORDIAN_OK);
}

static void check_heard(const struct heard *heard, unsigned which, uint64_t number, uint8_t outcome,
                        const char *text)
{
    const gordian_reply *reply = &heard->replies[which];
    CHECK_MSG(reply->status == GORDIAN_OK && reply->number == number && reply->outcome == outcome &&
                  strstr(heard->texts[which], text),
              "answer %u: status %d, number %llu, outcome %u, %s", which, (int)reply->status,
              (unsigned long long)reply->number, reply->outcome, heard->texts[which]);
}

static gordian_client *open_other(const struct running *service)
{
    gordian_client_options options;
    gordian_client_options_init(&options);
    options.lease_ms = 60000;
    options.system = "other";
    options.open = GORDIAN_SERVICE_KIND_DETECTS;
    options.open_options = "recover=none";
    return open_client(service->uri, &options);
}

/* Lines and events by id, on their way together: one session, one row of numbers. */
static void test_lines(void)
{
    struct running service;
    struct heard heard = {0};
    REQUIRE(running_start(&service, program, NULL));
    gordian_client *client = open_other(&service);
    CHECK(gordian_client_kind(client) == GORDIAN_SERVICE_KIND_DETECTS);
    say(client, &heard, "resource a");
    say(client, &heard, "resource b 1");
    say(client, &heard, "request ann a");
    say(client, &heard, "request bob b");
    say(client, &heard, "request ann b # a comment");
    say(client, &heard, "request bob a");
    say(client, &heard, "release cal a");
    say(client, &heard, "exit bob");
    CHECK(gordian_client_unanswered(client) == 8);
    CHECK(gordian_client_drain(client, 30000, &error) == GORDIAN_OK && heard.count == 8);
    check_heard(&heard, 0, 0, 0, "");
    check_heard(&heard, 1, 0, 0, "");
    check_heard(&heard, 2, 1, GORDIAN_OUTCOME_GRANTED, "\"seq\":1,");
    check_heard(&heard, 3, 2, GORDIAN_OUTCOME_GRANTED, "\"process\":\"bob\"");
    check_heard(&heard, 4, 3, GORDIAN_OUTCOME_BLOCKED, "\"result\":\"blocked\"");
    check_heard(&heard, 5, 4, GORDIAN_OUTCOME_DEADLOCK, "\"witness\":[\"bob\",\"a\"");
    check_heard(&heard, 6, 5, GORDIAN_OUTCOME_REFUSED, "'cal' was never seen");
    check_heard(&heard, 7, 6, GORDIAN_OUTCOME_EXITED, "\"granted_to\":[\"ann\"]");
    CHECK(heard.replies[4].waits && heard.replies[5].waits && !heard.replies[2].waits);
    CHECK(heard.replies[7].served_count == 1 && heard.replies[6].process == GORDIAN_NONE);
    uint32_t ann = heard.replies[2].process, a;
    CHECK(gordian_client_add_resource(client, "a", 1, &a, &error) == GORDIAN_OK);
    gordian_reply reply;
    CHECK(gordian_client_release(client, ann, a, 1, &reply, &error) == GORDIAN_OK);
    CHECK(reply.outcome == GORDIAN_OUTCOME_RELEASED && reply.number == 7);
    gordian_client_close(client);
    CHECK(running_stop(&service) == 0);
}

/* One that is refused as a whole uses no number up, however many are on their way behind it. */
static void test_refused_line(void)
{
    struct running service;
    struct heard heard = {0};
    REQUIRE(running_start(&service, program, NULL));
    gordian_client *client = open_other(&service);
    size_t length = 200000;
    char *line = malloc(length + 1);
    REQUIRE(line != NULL);
    snprintf(line, length, "request p");
    for (size_t used = 9; used + 2 <= length; used += 2)
        memcpy(line + used, " q", 3);
    say(client, &heard, "resource q");
    say(client, &heard, "resource q 2");
    for (int i = 0; i < 10; i++)
        say(client, &heard, i % 2 ? "release p q" : "request p q");
    say(client, &heard, line);
    for (int i = 0; i < 10; i++)
        say(client, &heard, i % 2 ? "release p q" : "request p q");
    say(client, &heard, line);
    say(client, &heard, "request p q");
    gordian_event event = {.op = GORDIAN_OP_EXIT, .process = 0, .to = GORDIAN_NONE};
    CHECK(gordian_client_send(client, &event, hear, &heard, &error) == GORDIAN_OK);
    CHECK(gordian_client_drain(client, 30000, &error) == GORDIAN_OK && heard.count == 26);
    CHECK(heard.replies[1].status == GORDIAN_STATUS_INPUT && heard.replies[1].code == 6);
    for (unsigned i = 0; i < 20; i++)
        check_heard(&heard, i < 10 ? 2 + i : 3 + i, i + 1,
                    i % 2 ? GORDIAN_OUTCOME_RELEASED : GORDIAN_OUTCOME_GRANTED, "\"seq\"");
    for (unsigned i = 12; i < 24; i += 11)
        CHECK_MSG(heard.replies[i].status == GORDIAN_STATUS_INPUT && heard.replies[i].code == 6,
                  "answer %u: %u", i, heard.replies[i].code);
    check_heard(&heard, 24, 21, GORDIAN_OUTCOME_GRANTED, "\"seq\":21,");
    check_heard(&heard, 25, 22, GORDIAN_OUTCOME_EXITED, "");
    free(line);
    gordian_client_close(client);
    CHECK(running_stop(&service) == 0);
}

static void test_questions(void)
{
    struct running service;
    const char *json;
    size_t size;
    int code = 0;
    gordian_client_options options;
    gordian_client *client;
    REQUIRE(running_start(&service, program, NULL));
    gordian_client_options_init(&options);
    options.code = &code;
    options.system = "nowhere";
    CHECK(gordian_client_open(&client, service.uri, &options, &error) == GORDIAN_STATUS_INPUT);
    CHECK_MSG(code == 4, "%d", code);
    CHECK(gordian_client_open(&client, "unix:nowhere", &options, &error) == GORDIAN_STATUS_IO);
    CHECK_MSG(code == -ENOENT, "%d", code);
    options.system = NULL;
    client = open_client(service.uri, &options);
    CHECK(gordian_client_ask(client, "state", &json, &size, &error) == GORDIAN_OK);
    CHECK(strlen(json) == size && strstr(json, "{\"state\":{\"name\":\"default\""));
    CHECK(gordian_client_ask(client, "history since=1", &json, &size, &error) == GORDIAN_OK);
    CHECK_MSG(strcmp(json, "{\"incidents\":[],\"next\":null}") == 0, "%s", json);
    CHECK(gordian_client_ask(client, "history when=1", &json, &size, &error) ==
          GORDIAN_STATUS_INPUT);
    CHECK(gordian_client_ask(client, "what-if p q", &json, &size, &error) == GORDIAN_STATUS_INPUT);
    CHECK_MSG(code == 6 && strstr(error.message, "no process"), "%d: %s", code, error.message);
    CHECK(gordian_client_ask(client, "# nothing", &json, &size, &error) == GORDIAN_OK && size == 0);
    CHECK(gordian_client_ask(client, "two\nlines", &json, &size, &error) != GORDIAN_OK);
    gordian_client_close(client);
    CHECK(running_stop(&service) == 0);
}

/* ------------------------------------------------------------------ TCP */

/* Labels: set, changed, taken away; all of them or none; and there after a kill. */
static void test_labels(void)
{
    struct running service;
    uint32_t p, q;
    const char *json;
    size_t size;
    const char *const first[] = {"team:pay", "env:prod"}, *const second[] = {"team:store", "env:"},
                      *const wrong[] = {"env:test", "nothing"};
    gordian_client_options options;
    gordian_client_options_init(&options);
    options.lease_ms = 60000;
    REQUIRE(running_start(&service, program, NULL));
    gordian_client *client = open_client(service.uri, &options);
    REQUIRE(gordian_client_add_process(client, "p", &p, &error) == GORDIAN_OK);
    REQUIRE(gordian_client_add_resource(client, "q", 1, &q, &error) == GORDIAN_OK);
    CHECK(gordian_client_label(client, false, p, first, 2, &error) == GORDIAN_OK);
    CHECK(gordian_client_label(client, true, q, first, 1, &error) == GORDIAN_OK);
    CHECK(gordian_client_label(client, false, p, second, 2, &error) == GORDIAN_OK);
    CHECK(gordian_client_label(client, false, p, wrong, 2, &error) == GORDIAN_STATUS_INPUT);
    CHECK_MSG(strstr(error.message, "KEY:VALUE"), "%s", error.message);
    CHECK(gordian_client_label(client, false, p + 7, first, 2, &error) == GORDIAN_STATUS_INPUT);
    running_end(&service, SIGKILL);
    REQUIRE(running_again(&service));
    CHECK(gordian_client_ask(client, "state p", &json, &size, &error) == GORDIAN_OK);
    CHECK_MSG(strstr(json, "\"labels\":[\"team:store\"]"), "%s", json);
    CHECK(gordian_client_ask(client, "state q", &json, &size, &error) == GORDIAN_OK);
    CHECK_MSG(strstr(json, "\"labels\":[\"team:pay\"]"), "%s", json);
    gordian_client_close(client);
    CHECK(running_stop(&service) == 0);
}

static void write_tokens(const char *path)
{
    FILE *file = fopen(path, "w");
    REQUIRE(file != NULL);
    fputs("app write 0123456789abcdef0123\nlook read fedcba98765432100000\n", file);
    fclose(file);
    chmod(path, 0600);
}

static void test_tcp(void)
{
    struct running service;
    char folder[SCRATCH_SIZE], path[220], listen[40], uri[64];
    gordian_client *client;
    gordian_reply reply;
    uint32_t id;
    REQUIRE(scratch_make(folder, "token"));
    snprintf(path, sizeof path, "%s/tokens", folder);
    write_tokens(path);
    unsigned port = free_port();
    snprintf(listen, sizeof listen, "127.0.0.1:%u", port);
    snprintf(uri, sizeof uri, "tcp://localhost:%u", port);
    const char *more[] = {"--listen", listen, "--token-file", path, NULL};
    REQUIRE(running_start(&service, program, more));
    gordian_client_options options;
    gordian_client_options_init(&options);
    CHECK(gordian_client_open(&client, uri, &options, &error) == GORDIAN_STATUS_INPUT);
    options.token = "0123456789abcdef0124";
    CHECK(gordian_client_open(&client, uri, &options, &error) == GORDIAN_STATUS_INPUT);
    options.token = "fedcba98765432100000";
    client = open_client(uri, &options);
    CHECK(gordian_client_ping(client, &error) == GORDIAN_OK);
    CHECK(gordian_client_add_resource(client, "q", 1, &id, &error) == GORDIAN_STATUS_INPUT);
    gordian_client_close(client);
    options.token = "0123456789abcdef0123";
    client = open_client(uri, &options);
    CHECK(gordian_client_add_resource(client, "q", 1, &id, &error) == GORDIAN_OK);
    uint32_t process;
    CHECK(gordian_client_add_process(client, "p", &process, &error) == GORDIAN_OK);
    CHECK(gordian_client_request(client, process, id, 1, &reply, &error) == GORDIAN_OK &&
          reply.outcome == GORDIAN_OUTCOME_GRANTED);
    gordian_client_close(client);
    CHECK(running_stop(&service) == 0);
    unlink(path);
    rmdir(folder);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    program = argv[1];
    signal(SIGPIPE, SIG_IGN);
    test_model();
    test_killed();
    test_ends();
    test_recovery();
    test_subscribed();
    test_avoidance();
    test_lines();
    test_refused_line();
    test_questions();
    test_labels();
    test_tcp();
    return test_done();
}
