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

struct crowd {
    struct peer *peers;
    uint64_t *started;
    double *latencies; /* us */
    size_t latency_count, latency_room;
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

static gordian_status gather(struct crowd *crowd, const char *socket, bool redis, size_t operations,
                             gordian_error *error)
{
    *crowd = (struct crowd){.epoll = epoll_create1(EPOLL_CLOEXEC), .latency_room = operations};
    crowd->peers = calloc(CLIENTS, sizeof *crowd->peers);
    crowd->started = calloc(CLIENTS, sizeof *crowd->started);
    crowd->latencies = calloc(operations, sizeof *crowd->latencies);
    gordian_status status = make_load(&crowd->load, error);
    if (!crowd->peers || !crowd->started || !crowd->latencies)
        status = fail_memory(error);
    if (crowd->epoll < 0)
        status = fail(error, GORDIAN_STATUS_IO, "no epoll: %s", strerror(errno));
    while (status == GORDIAN_OK && crowd->count < CLIENTS) {
        char tag[24];
        struct peer *peer = &crowd->peers[crowd->count];
        snprintf(tag, sizeof tag, "c%zu", crowd->count);
        status = peer_open(peer, socket, redis, &crowd->load, tag, error);
        if (status != GORDIAN_OK)
            break;
        struct epoll_event event = {.events = EPOLLIN, .data.u64 = crowd->count};
        epoll_ctl(crowd->epoll, EPOLL_CTL_ADD, peer->talk.fd, &event);
        crowd->count++;
    }
    return status;
}

static gordian_status send_one(struct crowd *crowd, size_t which, gordian_error *error)
{
    struct peer *peer = &crowd->peers[which];
    crowd->started[which] = clock_ns();
    TRY(peer_put(peer, 1, error));
    return talk_flush(&peer->talk, error);
}

/* `more`: number of operations still to be sent; adds the answered ones to *finished. */
static gordian_status serve_event(struct crowd *crowd, size_t which, size_t *more, size_t *finished,
                                  gordian_error *error)
{
    size_t taken = 0;
    struct peer *peer = &crowd->peers[which];
    gordian_status status = talk_fill(&peer->talk, false, error);
    THEN(status, peer_take(peer, &taken, error));
    if (status != GORDIAN_OK || taken == 0)
        return status;
    if (crowd->latency_count < crowd->latency_room)
        crowd->latencies[crowd->latency_count++] =
            (double)(clock_ns() - crowd->started[which]) / 1e3;
    *finished += taken;
    if (*more == 0)
        return GORDIAN_OK;
    --*more;
    return send_one(crowd, which, error);
}

static gordian_status run_clients(struct crowd *crowd, size_t operations, double *seconds,
                                  gordian_error *error)
{
    size_t more = operations - crowd->count, finished = 0;
    gordian_status status = GORDIAN_OK;
    uint64_t start = clock_ns();
    for (size_t i = 0; i < crowd->count && status == GORDIAN_OK; i++)
        status = send_one(crowd, i, error);
    while (status == GORDIAN_OK && finished < operations) {
        struct epoll_event events[256];
        int count = epoll_wait(crowd->epoll, events, 256, 60000);
        if (count <= 0 && errno != EINTR)
            return fail(error, GORDIAN_STATUS_IO, "a client gets no answer");
        for (int i = 0; i < count && status == GORDIAN_OK; i++)
            status = serve_event(crowd, events[i].data.u64, &more, &finished, error);
    }
    *seconds = (double)(clock_ns() - start) / 1e9;
    return status;
}

struct crowd_result {
    double rate, median, p99;
};

static gordian_status measure_clients(struct bench *bench, const char *socket, bool redis,
                                      struct crowd_result *result)
{
    struct crowd crowd;
    size_t operations = bench->options->quick ? 20000 : 200000;
    double seconds = 1;
    bench_progress(bench, "serve: %d clients at once%s", CLIENTS, redis ? ", redis" : "");
    gordian_status status = gather(&crowd, socket, redis, operations, bench->error);
    THEN(status, run_clients(&crowd, operations, &seconds, bench->error));
    if (status == GORDIAN_OK)
        *result = (struct crowd_result){
            .rate = (double)operations / seconds,
            .median = bench_median(crowd.latencies, crowd.latency_count),
            .p99 = bench_p99(crowd.latencies, crowd.latency_count),
        };
    for (size_t i = 0; i < crowd.count; i++)
        peer_close(&crowd.peers[i]);
    if (crowd.epoll >= 0)
        close(crowd.epoll);
    serve_load_free(&crowd.load);
    free(crowd.peers);
    free(crowd.started);
    free(crowd.latencies);
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
    struct crowd_result mine = {0}, theirs = {0};
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
