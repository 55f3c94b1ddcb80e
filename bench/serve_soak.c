/* A long time at 80 % of the top rate: does the service's memory grow? */
#define _GNU_SOURCE
#include "serve.h"

#include "base/error.h"

#include <stdio.h>
#include <unistd.h>

#define DEPTH      64
#define SHARE      0.8
#define TOP_MOST   30   /* seconds in which the top rate is measured: a tenth, at most these */
#define GROWTH_BAR 1.10 /* of the memory after the first tenth, at most */
#define RATE_BAR   0.98 /* of what was asked for, at least */

struct soak {
    struct service_process service;
    struct serve_load load;
    struct peer peer;
    double top; /* operations a second */
    double rate;
    uint64_t memory_before, memory_after, memory_most;
};

static gordian_status run_for(struct soak *soak, double seconds, double rate, gordian_error *error,
                              uint64_t *operations)
{
    uint64_t start = clock_ns(), end = start + (uint64_t)(seconds * 1e9);
    gordian_status status = GORDIAN_OK;
    *operations = 0;
    for (uint64_t now = start; now < end && status == GORDIAN_OK; now = clock_ns()) {
        uint64_t due = (uint64_t)(rate * (double)(now - start) / 1e9);
        if (rate > 0 && *operations >= due) {
            usleep(200);
            continue;
        }
        status = peer_exchange(&soak->peer, DEPTH, error);
        *operations += DEPTH;
    }
    return status;
}

/* In pieces of about a second, with a look at the memory after each. */
static gordian_status run_long(struct bench *bench, struct soak *soak)
{
    uint32_t seconds = bench->options->soak;
    uint64_t all = 0, start = clock_ns();
    gordian_status status = GORDIAN_OK;
    for (uint32_t s = 0; s < seconds && status == GORDIAN_OK; s++) {
        uint64_t operations;
        status = run_for(soak, 1, soak->top * SHARE, bench->error, &operations);
        all += operations;
        uint64_t memory = serve_memory(&soak->service);
        if (s == seconds / 10)
            soak->memory_before = memory;
        soak->memory_most = memory > soak->memory_most ? memory : soak->memory_most;
        soak->memory_after = memory;
        bench_progress(bench, "serve: soak, %u of %u s, %.1f MiB", s + 1, seconds,
                       (double)memory / 1048576);
    }
    soak->rate = (double)all / ((double)(clock_ns() - start) / 1e9);
    return status;
}

static gordian_status add_rows(struct bench *bench, const struct soak *soak)
{
    struct bench_row rate = bench_row("/s", "serve/soak-%u/rate", bench->options->soak);
    rate.value = soak->rate;
    rate.baseline = "asked";
    rate.baseline_value = soak->top * SHARE;
    rate.ratio = rate.value / rate.baseline_value;
    rate.bar_kind = BAR_AT_LEAST;
    rate.bar = RATE_BAR;
    snprintf(rate.note, sizeof rate.note, "%.0f%% of the top rate, depth %d", SHARE * 100, DEPTH);
    gordian_status status = bench_add(bench, &rate);
    struct bench_row memory = bench_row("MiB", "serve/soak-%u/memory", bench->options->soak);
    memory.value = (double)soak->memory_after / 1048576;
    memory.baseline = "early";
    memory.baseline_value = (double)soak->memory_before / 1048576;
    memory.ratio = memory.value / memory.baseline_value;
    memory.bar_kind = BAR_AT_MOST;
    memory.bar = GROWTH_BAR;
    snprintf(memory.note, sizeof memory.note,
             "resident at the end, and after the first tenth; at most %.1f MiB",
             (double)soak->memory_most / 1048576);
    return status == GORDIAN_OK ? bench_add(bench, &memory) : status;
}

gordian_status serve_soak(struct bench *bench)
{
    struct soak soak = {0};
    uint64_t operations = 0;
    gordian_error error = {0};
    gordian_status status = serve_start(&soak.service, "batch", &error);
    if (status == GORDIAN_UNAVAILABLE)
        return bench_skip(bench, "serve/soak", error.message);
    if (status != GORDIAN_OK)
        return fail(bench->error, status, "%s", error.message);
    status = serve_load_make(&soak.load, bench->options->seed, 100000, bench->error);
    if (status == GORDIAN_OK)
        status =
            peer_open(&soak.peer, soak.service.socket, false, &soak.load, "soak", bench->error);
    if (status == GORDIAN_OK) {
        bench_progress(bench, "serve: the top rate");
        double seconds =
            bench->options->soak / 10.0 < TOP_MOST ? bench->options->soak / 10.0 + 1 : TOP_MOST;
        status = run_for(&soak, seconds, 0, bench->error, &operations);
        soak.top = (double)operations / seconds;
        if (status == GORDIAN_OK)
            status = run_long(bench, &soak);
        peer_close(&soak.peer);
    }
    serve_stop(&soak.service);
    serve_load_free(&soak.load);
    return status == GORDIAN_OK ? add_rows(bench, &soak) : status;
}
