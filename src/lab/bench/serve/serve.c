/* `gordian serve` compared with redis-server: throughput by pipeline depth, and single operations.
 */
#include "lab/bench/serve/serve.h"

#include "foundation/base/error.h"

#include <stdio.h>

#define RATE_BAR    0.5 /* of redis's rate, at least */
#define LATENCY_BAR 1.2 /* times redis's median, at most */
#define CHUNK       200 /* round trips of one side before the next side's turn */

/* Measured sides. Our pipeline can be one message with many events, or one message per event; redis
 * has only the latter. */
enum side {
    SIDE_BATCH,
    SIDE_SINGLE, /* the same service, one message per event */
    SIDE_NONE,   /* unused as a type: the order of side_names */
    SIDE_REDIS,
    SIDE_FULL, /* measured separately: it keeps the disk busy */
    SIDE_COUNT,
};

static const char *const side_names[SIDE_COUNT] = {"batch", "batch-single", "none", "redis",
                                                   "full"};

struct world {
    struct bench *bench;
    struct serve_load load;
    struct service_process services[SIDE_COUNT]; /* SIDE_SINGLE has no service of its own */
    struct peer peers[SIDE_COUNT];
    bool open[SIDE_COUNT];
    struct library library;
};

/* ------------------------------------------------------------------ pipelined */

struct pipeline {
    struct peer *peer;
    size_t depth, operations;
};

/* Nanoseconds per operation, over this many operations. */
static gordian_status run_pipeline(void *context, double *ns, gordian_error *error)
{
    struct pipeline *pipeline = context;
    gordian_status status = GORDIAN_OK;
    uint64_t start = clock_ns();
    for (size_t done = 0; done < pipeline->operations && status == GORDIAN_OK;
         done += pipeline->depth)
        status = peer_exchange(pipeline->peer, pipeline->depth, error);
    *ns = (double)(clock_ns() - start) / (double)pipeline->operations;
    return status;
}

static gordian_status add_rate(struct world *world, enum side which, size_t depth,
                               const struct bench_side *side, double redis_ns)
{
    struct bench_row row =
        bench_row("/s", "serve/pipelined/%s/depth-%zu", side_names[which], depth);
    row.value = 1e9 / side->median;
    row.p99 = 1e9 / side->p99;
    bench_curve(&row, "serve: operations per second, by pipeline depth", (double)depth, "%s",
                side_names[which]);
    if (which != SIDE_REDIS && redis_ns > 0)
        bench_times(&row, "redis", 1e9 / redis_ns);
    if ((which == SIDE_BATCH || which == SIDE_SINGLE) && redis_ns > 0 && depth >= 16)
        bench_bar(&row, BAR_AT_LEAST, RATE_BAR);
    return bench_add(world->bench, &row);
}

static gordian_status measure_depth(struct world *world, size_t depth, enum side first,
                                    enum side last, double *redis_ns)
{
    struct bench *bench = world->bench;
    struct pipeline pipelines[SIDE_COUNT];
    struct bench_side sides[SIDE_COUNT];
    enum side which[SIDE_COUNT] = {SIDE_BATCH};
    size_t count = 0;
    size_t operations = depth == 1 ? 2048 : depth < 512 ? 8192 : depth * 16;
    if (first == SIDE_FULL) /* a sync for every batch: fewer operations are enough */
        operations = depth * 4;
    for (int s = (int)first; s <= (int)last; s++) {
        if (!world->open[s])
            continue;
        pipelines[count] = (struct pipeline){&world->peers[s], depth, operations};
        sides[count] = (struct bench_side){.context = &pipelines[count], .run = run_pipeline};
        which[count++] = (enum side)s;
    }
    bench_progress(bench, "serve: pipelined, depth %zu", depth);
    struct bench_effort effort = {1, 5, 61, bench->options->quick ? 1 : 5};
    TRY(bench_measure(bench, sides, count, effort));
    for (size_t i = 0; i < count; i++)
        if (which[i] == SIDE_REDIS)
            *redis_ns = sides[i].median;
    for (size_t i = 0; i < count; i++)
        TRY(add_rate(world, which[i], depth, &sides[i], *redis_ns));
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ single operations */

struct latencies {
    double *samples;
    size_t count, capacity;
};

/* A single operation is one event in any case, so SIDE_SINGLE is replaced by the library. */
static gordian_status time_side_chunk(struct world *world, enum side side,
                                      struct latencies *latencies, size_t count)
{
    gordian_error *error = world->bench->error;
    for (size_t i = 0; i < count; i++) {
        uint64_t start = clock_ns();
        TRY(side == SIDE_SINGLE ? library_single(&world->library, error)
                                : peer_exchange(&world->peers[side], 1, error));
        if (latencies->count < latencies->capacity)
            latencies->samples[latencies->count++] = (double)(clock_ns() - start) / 1e3;
    }
    return GORDIAN_OK;
}

static gordian_status add_latency(struct world *world, enum side which, struct latencies *latencies,
                                  double redis_us)
{
    struct bench_row row =
        bench_row("us", "serve/latency/%s", which == SIDE_SINGLE ? "library" : side_names[which]);
    row.value = bench_median(latencies->samples, latencies->count);
    row.p99 = bench_p99(latencies->samples, latencies->count);
    if (which != SIDE_REDIS && redis_us > 0)
        bench_times(&row, "redis", redis_us);
    if (which == SIDE_BATCH && redis_us > 0)
        bench_bar(&row, BAR_AT_MOST, LATENCY_BAR);
    return bench_add(world->bench, &row);
}

/* Measures the sides in turn. The side that syncs to disk comes last. */
static gordian_status time_all(struct world *world, struct latencies *all, size_t rounds)
{
    for (size_t round = 0; round < rounds; round++)
        for (int s = 0; s < SIDE_FULL; s++)
            if (world->open[s])
                TRY(time_side_chunk(world, (enum side)s, &all[s], CHUNK));
    return time_side_chunk(world, SIDE_FULL, &all[SIDE_FULL], rounds * 8);
}

static gordian_status measure_latencies(struct world *world)
{
    struct bench *bench = world->bench;
    struct latencies all[SIDE_COUNT] = {0}, warm_up[SIDE_COUNT] = {0};
    size_t rounds = bench->options->quick ? 25 : 150;
    gordian_status status = GORDIAN_OK;
    bench_progress(bench, "serve: single operations");
    for (int s = 0; s < SIDE_COUNT && status == GORDIAN_OK; s++) {
        all[s].capacity = rounds * CHUNK;
        all[s].samples = memory_alloc(&bench->memory, all[s].capacity * sizeof *all[s].samples);
        if (!all[s].samples)
            status = fail_memory(bench->error);
    }
    THEN(status, time_all(world, warm_up, 2));
    THEN(status, time_all(world, all, rounds));
    double redis_us = status == GORDIAN_OK && all[SIDE_REDIS].count
                          ? bench_median(all[SIDE_REDIS].samples, all[SIDE_REDIS].count)
                          : 0;
    for (int s = 0; s < SIDE_COUNT && status == GORDIAN_OK; s++)
        if (all[s].count)
            status = add_latency(world, (enum side)s, &all[s], redis_us);
    for (int s = 0; s < SIDE_COUNT; s++)
        memory_free(&bench->memory, all[s].samples);
    return status;
}

/* ------------------------------------------------------------------ the bench */

static gordian_status start_one(struct world *world, enum side side, gordian_error *error)
{
    switch (side) {
    case SIDE_SINGLE:
        return GORDIAN_OK;
    case SIDE_REDIS:
        return serve_start_redis(&world->services[side], error);
    default:
        return serve_start(&world->services[side], side_names[side], error);
    }
}

/* Without redis, measure everything except the comparison. */
static gordian_status start_all(struct world *world, gordian_error *error)
{
    struct bench *bench = world->bench;
    for (int s = 0; s < SIDE_COUNT; s++) {
        enum side service = s == SIDE_SINGLE ? SIDE_BATCH : (enum side)s;
        bench_progress(bench, "serve: starting %s", side_names[s]);
        gordian_status status = start_one(world, (enum side)s, error);
        if (status == GORDIAN_STATUS_UNAVAILABLE && s == SIDE_REDIS) {
            status = bench_skip(bench, "serve/*/redis", "redis-server is not installed");
            if (status == GORDIAN_OK)
                continue;
        }
        THEN(status, peer_open(&world->peers[s], world->services[service].socket, s == SIDE_REDIS,
                               &world->load, side_names[s], error));
        TRY(status);
        world->open[s] = true;
        world->peers[s].one_a_frame = s == SIDE_SINGLE;
    }
    char uri[256];
    snprintf(uri, sizeof uri, "unix:%s", world->services[SIDE_BATCH].socket);
    return library_open(&world->library, bench, uri, NULL, &world->load, error);
}

static gordian_status measure_all(struct world *world)
{
    struct bench *bench = world->bench;
    TRY(measure_latencies(world));
    static const size_t depths[] = {1, 4, 16, 64, 256, 1024};
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
        double redis_ns = 0;
        TRY(measure_depth(world, depths[i], SIDE_BATCH, SIDE_REDIS, &redis_ns));
        TRY(measure_depth(world, depths[i], SIDE_FULL, SIDE_FULL, &redis_ns));
    }
    if (world->open[SIDE_REDIS])
        TRY(peer_verify(&world->peers[SIDE_REDIS], world->bench->error));
    TRY(library_stream(&world->library, bench));
    TRY(serve_tls(bench, &world->load));
    return serve_many(bench, &world->services[SIDE_BATCH],
                      world->open[SIDE_REDIS] ? &world->services[SIDE_REDIS] : NULL);
}

gordian_status bench_serve(struct bench *bench)
{
    struct world world = {.bench = bench};
    gordian_error error = {0};
    if (bench->options->soak)
        return serve_soak(bench);
    gordian_status status = serve_load_make(&world.load, bench->options->seed,
                                            bench->options->quick ? 20000 : 100000, bench->error);
    TRY(status);
    if (bench->options->store) {
        status = serve_store(bench, bench->options->store, &world.load);
        serve_load_free(&world.load);
        return status;
    }
    status = start_all(&world, &error);
    if (status == GORDIAN_OK)
        status = measure_all(&world);
    else if (status == GORDIAN_STATUS_UNAVAILABLE)
        status = bench_skip(bench, "serve/", error.message);
    else
        fail(bench->error, status, "%s", error.message);
    library_close(&world.library, world.bench);
    for (int s = 0; s < SIDE_COUNT; s++)
        if (world.open[s])
            peer_close(&world.peers[s]);
    for (int s = 0; s < SIDE_COUNT; s++)
        serve_stop(&world.services[s]);
    serve_load_free(&world.load);
    return status;
}
