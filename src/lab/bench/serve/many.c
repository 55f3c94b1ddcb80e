/* A thousand clients at once, each with one operation in flight. */
#define _GNU_SOURCE
#include "lab/bench/serve/serve.h"

#include "foundation/base/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#define CLIENTS 1000

struct client_pool {
    struct peer *peers;
    uint64_t *started;
    double *latencies; /* us */
    size_t latency_count, latency_capacity;
    size_t count;
    int epoll;
    struct serve_load load; /* for each client: its own process and resource */
};

/* One process requests and releases one resource. */
static gordian_status make_load(struct serve_load *load, gordian_error *error)
{
    *load = (struct serve_load){.count = 2, .process_count = 1, .resource_count = 1};
    load->events = calloc(2, sizeof *load->events);
    load->expected = calloc(2, sizeof *load->expected);
    if (!load->events || !load->expected)
        return fail_memory(error);
    for (int i = 0; i < 2; i++) {
        load->events[i] = (gordian_event){
            .op = i ? GORDIAN_OP_RELEASE : GORDIAN_OP_REQUEST, .units = 1, .to = GORDIAN_NONE};
        load->expected[i].outcome = i ? GORDIAN_OUTCOME_RELEASED : GORDIAN_OUTCOME_GRANTED;
    }
    return GORDIAN_OK;
}

static gordian_status gather(struct client_pool *pool, const char *socket, bool redis,
                             size_t operations, gordian_error *error)
{
    *pool =
        (struct client_pool){.epoll = epoll_create1(EPOLL_CLOEXEC), .latency_capacity = operations};
    pool->peers = calloc(CLIENTS, sizeof *pool->peers);
    pool->started = calloc(CLIENTS, sizeof *pool->started);
    pool->latencies = calloc(operations, sizeof *pool->latencies);
    gordian_status status = make_load(&pool->load, error);
    if (!pool->peers || !pool->started || !pool->latencies)
        status = fail_memory(error);
    if (pool->epoll < 0)
        status = fail(error, GORDIAN_STATUS_IO, "no epoll: %s", strerror(errno));
    while (status == GORDIAN_OK && pool->count < CLIENTS) {
        char tag[24];
        struct peer *peer = &pool->peers[pool->count];
        snprintf(tag, sizeof tag, "c%zu", pool->count);
        status = peer_open(peer, socket, redis, &pool->load, tag, error);
        if (status != GORDIAN_OK)
            break;
        struct epoll_event event = {.events = EPOLLIN, .data.u64 = pool->count};
        epoll_ctl(pool->epoll, EPOLL_CTL_ADD, peer->talk.fd, &event);
        pool->count++;
    }
    return status;
}

static gordian_status send_one(struct client_pool *pool, size_t which, gordian_error *error)
{
    struct peer *peer = &pool->peers[which];
    pool->started[which] = clock_ns();
    TRY(peer_put(peer, 1, error));
    return talk_flush(&peer->talk, error);
}

/* `more`: number of operations still to be sent; adds the answered ones to *finished. */
static gordian_status serve_event(struct client_pool *pool, size_t which, size_t *more,
                                  size_t *finished, gordian_error *error)
{
    size_t taken = 0;
    struct peer *peer = &pool->peers[which];
    gordian_status status = talk_fill(&peer->talk, false, error);
    THEN(status, peer_take(peer, &taken, error));
    if (status != GORDIAN_OK || taken == 0)
        return status;
    if (pool->latency_count < pool->latency_capacity)
        pool->latencies[pool->latency_count++] = (double)(clock_ns() - pool->started[which]) / 1e3;
    *finished += taken;
    if (*more == 0)
        return GORDIAN_OK;
    --*more;
    return send_one(pool, which, error);
}

static gordian_status run_clients(struct client_pool *pool, size_t operations, double *seconds,
                                  gordian_error *error)
{
    size_t more = operations - pool->count, finished = 0;
    gordian_status status = GORDIAN_OK;
    uint64_t start = clock_ns();
    for (size_t i = 0; i < pool->count && status == GORDIAN_OK; i++)
        status = send_one(pool, i, error);
    while (status == GORDIAN_OK && finished < operations) {
        struct epoll_event events[256];
        int count = epoll_wait(pool->epoll, events, 256, 60000);
        if (count <= 0 && errno != EINTR)
            return fail(error, GORDIAN_STATUS_IO, "a client gets no answer");
        for (int i = 0; i < count && status == GORDIAN_OK; i++)
            status = serve_event(pool, events[i].data.u64, &more, &finished, error);
    }
    *seconds = (double)(clock_ns() - start) / 1e9;
    return status;
}

struct pool_result {
    double rate, median, p99;
};

static gordian_status measure_clients(struct bench *bench, const char *socket, bool redis,
                                      struct pool_result *result)
{
    struct client_pool pool;
    size_t operations = bench->options->quick ? 20000 : 200000;
    double seconds = 1;
    bench_progress(bench, "serve: %d clients at once%s", CLIENTS, redis ? ", redis" : "");
    gordian_status status = gather(&pool, socket, redis, operations, bench->error);
    THEN(status, run_clients(&pool, operations, &seconds, bench->error));
    if (status == GORDIAN_OK)
        *result = (struct pool_result){
            .rate = (double)operations / seconds,
            .median = bench_median(pool.latencies, pool.latency_count),
            .p99 = bench_p99(pool.latencies, pool.latency_count),
        };
    for (size_t i = 0; i < pool.count; i++)
        peer_close(&pool.peers[i]);
    if (pool.epoll >= 0)
        close(pool.epoll);
    serve_load_free(&pool.load);
    free(pool.peers);
    free(pool.started);
    free(pool.latencies);
    return status;
}

/* Raises the limit to a file descriptor for each client. */
static bool may_open_enough(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return false;
    if (limit.rlim_cur >= CLIENTS + 64)
        return true;
    limit.rlim_cur = limit.rlim_max < CLIENTS + 64 ? limit.rlim_max : CLIENTS + 64;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur >= CLIENTS + 64;
}

gordian_status serve_many(struct bench *bench, const struct service_process *ours,
                          const struct service_process *redis)
{
    struct pool_result mine = {0}, theirs = {0};
    if (!may_open_enough())
        return bench_skip(bench, "serve/clients-1000", "too few descriptors (ulimit -n)");
    TRY(measure_clients(bench, ours->socket, false, &mine));
    if (redis)
        TRY(measure_clients(bench, redis->socket, true, &theirs));
    struct bench_row rate = bench_row("/s", "serve/clients-%d/rate", CLIENTS);
    rate.value = mine.rate;
    struct bench_row latency = bench_row("us", "serve/clients-%d/latency", CLIENTS);
    latency.value = mine.median;
    latency.p99 = mine.p99;
    if (redis) {
        rate.baseline = latency.baseline = "redis";
        rate.baseline_value = theirs.rate;
        rate.ratio = mine.rate / theirs.rate;
        latency.baseline_value = theirs.median;
        latency.ratio = mine.median / theirs.median;
        bench_note(&latency, "redis p99 %.0f us", theirs.p99);
    }
    TRY(bench_add(bench, &rate));
    return bench_add(bench, &latency);
}
