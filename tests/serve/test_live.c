/* The client library and a real service: every answer against a model, also when the service is
 * killed in the middle, over TCP with tokens, and with a lease that runs out. */
#define _GNU_SOURCE
#include "base/random.h"
#include "running.h"
#include "test.h"

#include <gordian/client.h>

#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROCESSES 40
#define RESOURCES 20

static const char *program;
static gordian_error error;

static unsigned long scaled(unsigned long count)
{
    const char *scale = getenv("GORDIAN_TEST_SCALE");
    unsigned long percent = scale ? strtoul(scale, NULL, 10) : 100;
    return count * percent / 100 + 1;
}

static gordian_client *open_client(const char *uri, const gordian_client_options *options)
{
    gordian_client *client;
    gordian_status status = gordian_client_open(&client, uri, options, &error);
    CHECK_MSG(status == GORDIAN_OK, "%s", error.message);
    REQUIRE(client != NULL);
    return client;
}

/* ------------------------------------------------------------------ against a model */

struct load {
    gordian_client *client;
    gordian_system *model;
    uint32_t processes[PROCESSES], resources[RESOURCES];
    gordian_result *expected;
    unsigned long sent, answered, applied, wrong;
};

static void declare_load(struct load *load)
{
    for (unsigned i = 0; i < PROCESSES; i++) {
        char name[16];
        snprintf(name, sizeof name, "p%u", i);
        CHECK(gordian_client_add_process(load->client, name, &load->processes[i], &error) ==
              GORDIAN_OK);
        gordian_add_process(load->model, name, NULL, NULL);
    }
    for (unsigned i = 0; i < RESOURCES; i++) {
        char name[16];
        snprintf(name, sizeof name, "q%u", i);
        CHECK(gordian_client_add_resource(load->client, name, i % 3 + 1, &load->resources[i],
                                          &error) == GORDIAN_OK);
        gordian_add_resource(load->model, name, i % 3 + 1, NULL, NULL);
    }
}

static void check_reply(void *context, const gordian_reply *reply)
{
    struct load *load = context;
    const gordian_result *expected = &load->expected[load->answered++];
    if (reply->status != GORDIAN_OK || reply->number != load->answered)
        load->wrong++;
    else if (reply->outcome == GORDIAN_APPLIED)
        load->applied++;
    else
        load->wrong += reply->outcome != expected->outcome || reply->refusal != expected->refusal ||
                       reply->served_count != expected->served_count;
}

static void send_one(struct load *load, struct random *random)
{
    uint32_t p = (uint32_t)random_below(random, PROCESSES);
    uint32_t q = (uint32_t)random_below(random, RESOURCES);
    gordian_event event = {
        .op = random_chance(random, 55)   ? GORDIAN_REQUEST
              : random_chance(random, 80) ? GORDIAN_RELEASE
              : random_chance(random, 50) ? GORDIAN_CANCEL
                                          : GORDIAN_EXIT,
        .process = p,
        .resource = q,
        .units = 1,
        .to = GORDIAN_NONE,
    };
    REQUIRE(gordian_feed(load->model, &event, &load->expected[load->sent++], NULL) == GORDIAN_OK);
    event.process = load->processes[p];
    event.resource = load->resources[q];
    gordian_status status = gordian_client_send(load->client, &event, check_reply, load, &error);
    CHECK_MSG(status == GORDIAN_OK, "%s", error.message);
}

/* The service's state, process by process. */
static void compare_states(struct load *load)
{
    for (unsigned i = 0; i < PROCESSES; i++) {
        gordian_process_state state;
        gordian_edge edges[64];
        CHECK(gordian_client_state(load->client, load->processes[i], &state, &error) == GORDIAN_OK);
        size_t count = gordian_holdings(load->model, i, edges, 64);
        CHECK(state.known && state.waiting == gordian_is_waiting(load->model, i));
        CHECK_MSG(state.held_count == count, "p%u: %zu, %zu", i, state.held_count, count);
        for (size_t e = 0; e < count; e++) {
            uint64_t units = 0;
            for (size_t h = 0; h < state.held_count; h++)
                if (state.held[h].resource == load->resources[edges[e].resource])
                    units += state.held[h].units;
            CHECK(units == edges[e].units);
        }
    }
}

static void open_load(struct load *load, const struct running *service, unsigned long count)
{
    gordian_client_options options;
    gordian_client_options_init(&options);
    options.lease_ms = 60000;
    options.timeout_ms = 60000;
    options.window = 2000;
    *load = (struct load){.client = open_client(service->uri, &options),
                          .expected = malloc(count * sizeof *load->expected)};
    REQUIRE(load->expected && gordian_open(&load->model, NULL, NULL) == GORDIAN_OK);
    declare_load(load);
}

static void close_load(struct load *load, unsigned long count)
{
    gordian_status status = gordian_client_drain(load->client, 60000, &error);
    CHECK_MSG(status == GORDIAN_OK, "%d %s", (int)status, error.message);
    CHECK_MSG(load->answered == count && load->wrong == 0, "%lu of %lu answered, %lu wrong",
              load->answered, count, load->wrong);
    compare_states(load);
    gordian_client_close(load->client);
    gordian_close(load->model);
    free(load->expected);
}

static void test_model(void)
{
    struct running service;
    struct load load;
    struct random random;
    unsigned long count = scaled(50000);
    REQUIRE(running_start(&service, program, NULL));
    random_seed(&random, 1);
    open_load(&load, &service, count);
    for (unsigned long i = 0; i < count; i++)
        send_one(&load, &random);
    close_load(&load, count);
    CHECK(load.applied == 0);
    CHECK(running_alive(&service));
    CHECK(running_stop(&service) == 0);
}

/* ------------------------------------------------------------------ killed */

struct killer {
    struct running *service;
    atomic_bool stop;
    unsigned kills;
    struct random random;
};

static void *kill_now_and_then(void *context)
{
    struct killer *killer = context;
    while (!atomic_load(&killer->stop)) {
        usleep((useconds_t)(20000 + random_below(&killer->random, 150000)));
        if (atomic_load(&killer->stop))
            break;
        running_end(killer->service, SIGKILL);
        killer->kills++;
        if (!running_again(killer->service))
            abort();
    }
    return NULL;
}

/* Nothing is lost and nothing is applied twice, however often the service dies. */
static void test_killed(void)
{
    struct running service;
    struct load load;
    struct random random;
    unsigned long count = 10000 + scaled(20000);
    REQUIRE(running_start(&service, program, NULL));
    random_seed(&random, 2);
    open_load(&load, &service, count);
    struct killer killer = {.service = &service};
    random_seed(&killer.random, 3);
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, kill_now_and_then, &killer) == 0);
    for (unsigned long i = 0; i < count; i++) {
        send_one(&load, &random);
        /* Slow enough to be killed a few times on the way. */
        if (i % 200 == 0) {
            CHECK(gordian_client_work(load.client, &error) == GORDIAN_OK);
            usleep(5000);
        }
    }
    CHECK(gordian_client_drain(load.client, 60000, &error) == GORDIAN_OK);
    atomic_store(&killer.stop, true);
    pthread_join(thread, NULL);
    /* A service ends with the thread that started it. */
    running_end(&service, SIGKILL);
    REQUIRE(running_again(&service));
    close_load(&load, count);
    CHECK(killer.kills > 0);
    printf("killed %u times, %lu answers lost on the way\n", killer.kills, load.applied);
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
    waiter->status = gordian_client_acquire(client, process, &want, 1, 60000, &waiter->reply, NULL);
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
        options.lease_ms = how == 2 ? 300 : 0;
        gordian_client *holder = open_client(service.uri, &options);
        uint32_t process, resource;
        gordian_reply reply;
        CHECK(gordian_client_add_process(holder, "holder", &process, &error) == GORDIAN_OK);
        CHECK(gordian_client_add_resource(holder, "lock", 1, &resource, &error) == GORDIAN_OK);
        CHECK(gordian_client_request(holder, process, resource, 1, &reply, &error) == GORDIAN_OK);
        CHECK_MSG(reply.outcome == GORDIAN_GRANTED, "way %d: %u", how, reply.outcome);
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
        CHECK(waiter.status == GORDIAN_OK && waiter.reply.outcome == GORDIAN_GRANTED);
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
    CHECK(gordian_client_use(client, "locks", &error) == GORDIAN_INPUT);
    CHECK(gordian_client_open_system(client, "locks", GORDIAN_DETECTS, "recover=youngest",
                                     &error) == GORDIAN_OK);
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
    CHECK(reply.outcome == GORDIAN_BLOCKED);
    gordian_want want = {.resource = b, .units = 1};
    CHECK(gordian_client_acquire(client, old, &want, 1, 30000, &reply, &error) == GORDIAN_OK);
    CHECK_MSG(reply.outcome == GORDIAN_GRANTED, "%u", reply.outcome);
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
    CHECK(gordian_client_open_system(client, "bank", GORDIAN_AVOIDS, "queue=yes", &error) ==
          GORDIAN_OK);
    CHECK(gordian_client_add_resource(client, "gpu", 2, &gpu, &error) == GORDIAN_OK);
    gordian_want claim = {.resource = gpu, .units = 2}, unit = {.resource = gpu, .units = 1};
    gordian_declaration jobs[] = {{.name = "one", .claims = &claim, .claim_count = 1},
                                  {.name = "two", .claims = &claim, .claim_count = 1}};
    uint32_t ids[2];
    CHECK(gordian_client_declare(client, jobs, 2, ids, &error) == GORDIAN_OK);
    one = ids[0];
    two = ids[1];
    CHECK(gordian_client_acquire(client, one, &unit, 1, 0, &reply, &error) == GORDIAN_OK);
    CHECK(reply.outcome == GORDIAN_LENT);
    CHECK(gordian_client_request(client, two, gpu, 1, &reply, &error) == GORDIAN_OK);
    CHECK_MSG(reply.outcome == GORDIAN_UNSAFE && reply.waits, "%u", reply.outcome);
    CHECK(gordian_client_wait_granted(client, two, 10, &error) == GORDIAN_END);
    CHECK(gordian_client_release(client, one, gpu, 1, &reply, &error) == GORDIAN_OK);
    CHECK(reply.outcome == GORDIAN_RETURNED && reply.served_count == 1 && reply.served[0] == two);
    CHECK(gordian_client_wait_granted(client, two, 0, &error) == GORDIAN_OK);
    CHECK(gordian_client_acquire(client, one, &unit, 1, 20, &reply, &error) == GORDIAN_OK);
    CHECK_MSG(reply.outcome == GORDIAN_UNSAFE && !reply.waits, "%u", reply.outcome);
    gordian_client_close(client);
    CHECK(running_stop(&service) == 0);
}

/* ------------------------------------------------------------------ TCP */

static unsigned free_port(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    REQUIRE(bind(fd, (struct sockaddr *)&at, sizeof at) == 0 &&
            getsockname(fd, (struct sockaddr *)&at, &size) == 0);
    close(fd);
    return ntohs(at.sin_port);
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
    const char *temporary = getenv("TMPDIR");
    char folder[200], path[220], listen[40], uri[64];
    gordian_client *client;
    gordian_reply reply;
    uint32_t id;
    snprintf(folder, sizeof folder, "%.150s/gordian-token-XXXXXX",
             temporary && *temporary ? temporary : "/tmp");
    REQUIRE(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/tokens", folder);
    write_tokens(path);
    unsigned port = free_port();
    snprintf(listen, sizeof listen, "127.0.0.1:%u", port);
    snprintf(uri, sizeof uri, "tcp://localhost:%u", port);
    const char *more[] = {"--listen", listen, "--token-file", path, NULL};
    REQUIRE(running_start(&service, program, more));
    gordian_client_options options;
    gordian_client_options_init(&options);
    CHECK(gordian_client_open(&client, uri, &options, &error) == GORDIAN_INPUT);
    options.token = "0123456789abcdef0124";
    CHECK(gordian_client_open(&client, uri, &options, &error) == GORDIAN_INPUT);
    options.token = "fedcba98765432100000";
    client = open_client(uri, &options);
    CHECK(gordian_client_ping(client, &error) == GORDIAN_OK);
    CHECK(gordian_client_add_resource(client, "q", 1, &id, &error) == GORDIAN_INPUT);
    gordian_client_close(client);
    options.token = "0123456789abcdef0123";
    client = open_client(uri, &options);
    CHECK(gordian_client_add_resource(client, "q", 1, &id, &error) == GORDIAN_OK);
    uint32_t process;
    CHECK(gordian_client_add_process(client, "p", &process, &error) == GORDIAN_OK);
    CHECK(gordian_client_request(client, process, id, 1, &reply, &error) == GORDIAN_OK &&
          reply.outcome == GORDIAN_GRANTED);
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
    test_avoidance();
    test_tcp();
    return test_done();
}
