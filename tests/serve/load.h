/* A load on a real service through the client library, every answer against a model, whatever way
 * leads there; and somebody who kills the service now and then. */
#ifndef GORDIAN_TESTS_SERVE_LOAD_H
#define GORDIAN_TESTS_SERVE_LOAD_H

#include "foundation/base/random.h"
#include "running.h"
#include "test.h"

#include <gordian/client.h>

#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define PROCESSES 40
#define RESOURCES 20

static gordian_error error;

static inline gordian_client *open_client(const char *uri, const gordian_client_options *options)
{
    gordian_client *client;
    gordian_status status = gordian_client_open(&client, uri, options, &error);
    CHECK_MSG(status == GORDIAN_OK, "%s", error.message);
    REQUIRE(client != NULL);
    return client;
}

struct load {
    gordian_client *client;
    gordian_system *model;
    uint32_t processes[PROCESSES], resources[RESOURCES];
    gordian_result *expected;
    unsigned long sent, applied, wrong;
    atomic_ulong answered;
};

static inline void declare_load(struct load *load)
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

static inline void check_reply(void *context, const gordian_reply *reply)
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

static inline void send_one(struct load *load, struct random *random)
{
    uint32_t p = (uint32_t)random_below(random, PROCESSES);
    uint32_t q = (uint32_t)random_below(random, RESOURCES);
    gordian_event event = {
        .op = random_chance(random, 55)   ? GORDIAN_OP_REQUEST
              : random_chance(random, 80) ? GORDIAN_OP_RELEASE
              : random_chance(random, 50) ? GORDIAN_OP_CANCEL
                                          : GORDIAN_OP_EXIT,
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
static inline void compare_states(struct load *load)
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

/* `way`: options for opening it, NULL: none. */
static inline void open_load(struct load *load, const char *uri, const gordian_client_options *way,
                             unsigned long count)
{
    gordian_client_options options;
    gordian_client_options_init(&options);
    if (way)
        options = *way;
    options.lease_ms = options.timeout_ms = 600000; /* longer than a busy machine takes */
    options.window = 2000;
    *load = (struct load){.client = open_client(uri, &options),
                          .expected = malloc(count * sizeof *load->expected)};
    REQUIRE(load->expected && gordian_open(&load->model, NULL, NULL) == GORDIAN_OK);
    declare_load(load);
}

static inline void close_load(struct load *load, unsigned long count)
{
    gordian_status status = gordian_client_drain(load->client, GORDIAN_FOREVER, &error);
    CHECK_MSG(status == GORDIAN_OK, "%d %s", (int)status, error.message);
    CHECK_MSG(load->answered == count && load->wrong == 0, "%lu of %lu answered, %lu wrong",
              load->answered, count, load->wrong);
    compare_states(load);
    gordian_client_close(load->client);
    gordian_close(load->model);
    free(load->expected);
}

/* So many events, as fast as they go, and nothing happens on the way. */
static inline void load_steadily(const char *uri, const gordian_client_options *way,
                                 unsigned long count)
{
    struct load load;
    struct random random;
    random_seed(&random, 1);
    open_load(&load, uri, way, count);
    for (unsigned long i = 0; i < count; i++)
        send_one(&load, &random);
    close_load(&load, count);
    CHECK(load.applied == 0);
}

/* ------------------------------------------------------------------ killed */

struct killer {
    struct running *service;
    struct load *load;
    atomic_bool stop;
    atomic_uint kills;
    struct random random;
};

/* Half of the time something must have been answered in between: on a busy machine a service that
 * is always killed soon would never get to that. */
static inline void wait_to_kill(struct killer *killer)
{
    unsigned long answered = atomic_load(&killer->load->answered);
    bool patient = killer->kills > 0 && random_chance(&killer->random, 50);
    do
        usleep((useconds_t)(20000 + random_below(&killer->random, 150000)));
    while (patient && !atomic_load(&killer->stop) &&
           atomic_load(&killer->load->answered) == answered);
}

static inline void *kill_now_and_then(void *context)
{
    struct killer *killer = context;
    while (!atomic_load(&killer->stop)) {
        wait_to_kill(killer);
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
static inline void load_with_kills(struct running *service, const char *uri,
                                   const gordian_client_options *way, unsigned long count)
{
    struct load load;
    struct random random;
    random_seed(&random, 2);
    open_load(&load, uri, way, count);
    struct killer killer = {.service = service, .load = &load};
    random_seed(&killer.random, 3);
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, kill_now_and_then, &killer) == 0);
    for (unsigned long i = 0; i < count; i++) {
        send_one(&load, &random);
        /* Slow enough to be killed a few times on the way, and once for sure. */
        if (i % 200 == 0 || i == count / 2)
            do {
                CHECK(gordian_client_work(load.client, &error) == GORDIAN_OK);
                usleep(5000);
            } while (i == count / 2 && atomic_load(&killer.kills) == 0);
    }
    CHECK(gordian_client_drain(load.client, GORDIAN_FOREVER, &error) == GORDIAN_OK);
    atomic_store(&killer.stop, true);
    pthread_join(thread, NULL);
    /* A service ends with the thread that started it. */
    running_end(service, SIGKILL);
    REQUIRE(running_again(service));
    close_load(&load, count);
    CHECK(killer.kills > 0);
    printf("killed %u times, %lu answers lost on the way\n", killer.kills, load.applied);
}

/* ------------------------------------------------------------------ ports */

/* No other test may take it while its server is restarted, not until this process ends; ports.py
 * has the same name for it. */
static inline bool reserve_port(unsigned port)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX}; /* abstract: it begins with a NUL */
    int length =
        snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "gordian-test-port-%u", port);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(fd, (struct sockaddr *)&name,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)) == 0)
        return true;
    close(fd);
    return false;
}

/* A port that is free now, and below those that the kernel gives away by itself: it stays free. */
static inline unsigned free_port(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct random random;
    random_seed(&random, (uint64_t)getpid() * 1000003u + (uint64_t)clock());
    for (int tries = 0; tries < 1000; tries++) {
        unsigned port = 10000 + (unsigned)random_below(&random, 20000);
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        at.sin_port = htons((uint16_t)port);
        bool good = bind(fd, (struct sockaddr *)&at, sizeof at) == 0;
        close(fd);
        if (good && reserve_port(port))
            return port;
    }
    REQUIRE(!"a free port");
    return 0;
}

#endif
