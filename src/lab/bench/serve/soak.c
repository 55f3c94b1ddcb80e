/* A long run at 80 % of the top rate: does the service's memory grow? */
#define _GNU_SOURCE
#include "lab/bench/serve/serve.h"

#include "foundation/base/error.h"

#include <unistd.h>

#define DEPTH      64
#define SHARE      0.8
#define TOP_MOST   30 /* maximum seconds to measure the top rate, which takes a tenth of the run */
#define GROWTH_BAR 1.10 /* memory growth after the first tenth, at most */
#define RATE_BAR   0.98 /* share of the requested rate, at least */

struct soak {
    struct service_process service;
    struct serve_load load;
    struct peer peer;
    double top; /* operations per second */
    double rate;
    uint64_t memory_before, memory_after, memory_most;
};

/* Runs as fast as possible. */
static gordian_status find_top(struct soak *soak, double seconds, gordian_error *error)
{
    uint64_t start = clock_ns(), end = start + (uint64_t)(seconds * 1e9), operations = 0;
    while (clock_ns() < end) {
        TRY(peer_exchange(&soak->peer, DEPTH, error));
        operations += DEPTH;
    }
    soak->top = (double)operations / ((double)(clock_ns() - start) / 1e9);
    return GORDIAN_OK;
}

static void look_at_memory(struct bench *bench, struct soak *soak, uint32_t second)
{
    uint64_t memory = serve_memory(&soak->service);
    if (second == bench->options->soak / 10)
        soak->memory_before = memory;
    soak->memory_most = memory > soak->memory_most ? memory : soak->memory_most;
    soak->memory_after = memory;
    bench_progress(bench, "serve: soak, %u of %u s, %.1f MiB", second + 1, bench->options->soak,
                   (double)memory / 1048576);
}

/* Keeps the rate over the whole time: catches up after a stall. */
static gordian_status run_long(struct bench *bench, struct soak *soak)
{
    uint64_t start = clock_ns(), operations = 0;
    gordian_status status = GORDIAN_OK;
    for (uint32_t second = 0; second < bench->options->soak && status == GORDIAN_OK;) {
        uint64_t passed = clock_ns() - start;
        if (passed >= (second + 1) * UINT64_C(1000000000)) {
            look_at_memory(bench, soak, second++);
        } else if ((double)operations >= soak->top * SHARE * (double)passed / 1e9) {
            usleep(200);
        } else {
            status = peer_exchange(&soak->peer, DEPTH, bench->error);
            operations += DEPTH;
        }
    }
    soak->rate = (double)operations / ((double)(clock_ns() - start) / 1e9);
    return status;
}

gordian_status serve_soak(struct bench *bench)
{
    struct soak soak = {0};
    gordian_error error = {0};
    gordian_status status = serve_start(&soak.service, "batch", &error);
    if (status == GORDIAN_STATUS_UNAVAILABLE)
        return bench_skip(bench, "serve/soak", error.message);
    if (status != GORDIAN_OK)
        return fail(bench->error, status, "%s", error.message);
    status = serve_load_make(&soak.load, bench->options->seed, 100000, bench->error);
    THEN(status,
         peer_open(&soak.peer, soak.service.socket, false, &soak.load, "soak", bench->error));
    if (status == GORDIAN_OK) {
        bench_progress(bench, "serve: the top rate");
        double seconds =
            bench->options->soak / 10.0 < TOP_MOST ? bench->options->soak / 10.0 + 1 : TOP_MOST;
        status = find_top(&soak, seconds, bench->error);
        THEN(status, run_long(bench, &soak));
        peer_close(&soak.peer);
    }
    serve_stop(&soak.service);
    serve_load_free(&soak.load);
    TRY(status);
    struct bench_row rate = bench_row("/s", "serve/soak-%u/rate", bench->options->soak);
    rate.value = soak.rate;
    bench_times(&rate, "asked", soak.top * SHARE);
    bench_bar(&rate, BAR_AT_LEAST, RATE_BAR);
    bench_note(&rate, "%.0f%% of the top rate, depth %d", SHARE * 100, DEPTH);
    TRY(bench_add(bench, &rate));
    struct bench_row memory = bench_row("MiB", "serve/soak-%u/memory", bench->options->soak);
    memory.value = (double)soak.memory_after / 1048576;
    bench_times(&memory, "early", (double)soak.memory_before / 1048576);
    bench_bar(&memory, BAR_AT_MOST, GROWTH_BAR);
    bench_note(&memory, "resident at the end, and after the first tenth; at most %.1f MiB",
               (double)soak.memory_most / 1048576);
    return bench_add(bench, &memory);
}
