/* The papers' experiments: the whole list of 2M events p1 -> q1 -> p2 -> ... -> qM -> p1 (the chain
 * grows at its far end, their worst case), the last block before the ring closes, and a release at
 * the end of a chain of M/2. Rows include the papers' figures: thesis tables 3.2 and 3.3 (seconds
 * for the list), article tables 2 and 3 (milliseconds for an event). */
#include "lab/bench/detect/detect.h"

#include "foundation/base/error.h"

#include <stdio.h>

static const struct detect_paper papers[] = {
    {512, {0.22, 0.04}, {0.819, 0.075}, {0.016, 0.050}, {389.03, 1.22}},
    {1024, {2.57, 0.09}, {5.251, 0.081}, {0.046, 0.052}, {6688.14, 77.55}},
    {2048, {18.60, 0.23}, {14.64, 0.109}, {0.240, 0.060}, {0, 0}},
    {4096, {170.81, 0.81}, {62.68, 0.192}, {0.921, 0.067}, {0, 0}},
    {8192, {1383.97, 4.36}, {253.58, 0.426}, {3.334, 0.133}, {0, 0}},
};

/* Smaller sizes, only multi-unit. */
static const struct detect_paper small_papers[] = {
    {.size = 64, .multi_s = {0.10, 0.001}},
    {.size = 128, .multi_s = {1.80, 0.003}},
    {.size = 256, .multi_s = {32.54, 0.04}},
};

struct detect_paper detect_paper_at(uint32_t size)
{
    for (size_t i = 0; i < sizeof papers / sizeof *papers; i++)
        if (papers[i].size == size)
            return papers[i];
    for (size_t i = 0; i < sizeof small_papers / sizeof *small_papers; i++)
        if (small_papers[i].size == size)
            return small_papers[i];
    return (struct detect_paper){.size = size};
}

gordian_status detect_paper_list(uint32_t size, struct gen_trace *trace, gordian_error *error)
{
    struct gen_options options = gen_options_of("chain", 1, size);
    options.order = "head";
    return gen_events(&options, trace, error);
}

gordian_event detect_paper_release(uint32_t links)
{
    return gen_event(GORDIAN_OP_RELEASE, links, links - 1, 1);
}

struct run {
    const char *engine;
    struct gen_trace trace;
    double block_ns; /* the last block before the ring closes, in the last run */
};

/* Feeds the whole list and also times the last block but one. */
static gordian_status whole_list(void *context, double *ns, gordian_error *error)
{
    struct run *run = context;
    const gordian_event *events = run->trace.events;
    const size_t count = run->trace.event_count;
    gordian_system *system;
    gordian_result result;
    uint64_t sum = 0;
    TRY(detect_open(&system, run->engine, &run->trace, error));
    uint64_t start = work_ns();
    gordian_status status = detect_feed(system, events, count - 2, &sum, error);
    if (status == GORDIAN_OK) {
        uint64_t before = clock_ns();
        status = gordian_feed(system, &events[count - 2], &result, error);
        run->block_ns = (double)(clock_ns() - before);
    }
    THEN(status, gordian_feed(system, &events[count - 1], &result, error));
    *ns = (double)(work_ns() - start);
    gordian_close(system);
    if (status == GORDIAN_OK && result.outcome != GORDIAN_OUTCOME_DEADLOCK)
        return fail(error, GORDIAN_STATUS_INPUT, "%s does not find the papers' deadlock",
                    run->engine);
    return status;
}

/* Returns the time of the last block as a sample of its own. */
static gordian_status last_block(void *context, double *ns, gordian_error *error)
{
    struct run *run = context;
    gordian_status status = whole_list(run, ns, error);
    *ns = run->block_ns;
    return status;
}

/* In a chain of half the processes, the last one releases what the process before it waits for. */
static gordian_status time_paper_release(void *context, double *ns, gordian_error *error)
{
    struct run *run = context;
    const uint32_t size = run->trace.processes, end = size / 2;
    gordian_system *system;
    gordian_result result;
    uint64_t sum = 0;
    gordian_status status = detect_open(&system, run->engine, &run->trace, error);
    THEN(status, detect_feed(system, run->trace.events, (size_t)size + end, &sum, error));
    if (status == GORDIAN_OK) {
        const gordian_event event = detect_paper_release(end);
        uint64_t start = clock_ns();
        status = gordian_feed(system, &event, &result, error);
        *ns = (double)(clock_ns() - start);
    }
    gordian_close(system);
    if (status == GORDIAN_OK && result.served_count != 1)
        return fail(error, GORDIAN_STATUS_INPUT, "%s: the papers' release serves no process",
                    run->engine);
    return status;
}

static gordian_status add_paper_row(struct bench *bench, struct run *run, const char *what,
                                    gordian_status (*body)(void *, double *, gordian_error *),
                                    const char *unit, struct detect_paper_times theirs)
{
    const bool quick = bench->options->quick;
    const uint32_t size = run->trace.processes;
    struct bench_side side = {run, body};
    struct bench_effort effort = {1, 3, 200, quick ? 0.2 : 2};
    bench_progress(bench, "the papers' %s, M = %u, %s", what, size, run->engine);
    TRY(bench_measure(bench, &side, 1, effort));
    struct bench_row row =
        bench_measured(&side, unit, "detect/paper/%s-%u/%s", what, size, run->engine);
    bench_paper(&row, theirs.cpu * 1e3, theirs.gpu * 1e3);
    bench_curve(&row, body == whole_list ? "The papers' 2M events (ms)" : NULL, size, "%s",
                run->engine);
    return bench_add(bench, &row);
}

gordian_status detect_papers(struct bench *bench)
{
    static const char *const engines[] = {"sparse", "matrix"};
    gordian_status status = GORDIAN_OK;
    for (size_t i = 0; i < sizeof papers / sizeof *papers; i++)
        for (size_t e = 0; e < 2 && status == GORDIAN_OK; e++) {
            bool dense = e == 1; /* cubic in M: seconds from 4096 on */
            if (!bench_wants(bench, engines[e]) ||
                (bench->options->quick &&
                 (papers[i].size % 1024 || (dense && papers[i].size > 1024))))
                continue;
            struct run run = {.engine = engines[e]};
            status = detect_paper_list(papers[i].size, &run.trace, bench->error);
            THEN(status, add_paper_row(bench, &run, "events", whole_list, "ms", papers[i].list_s));
            THEN(status, add_paper_row(bench, &run, "block", last_block, "us", papers[i].block_ms));
            THEN(status, add_paper_row(bench, &run, "release", time_paper_release, "us",
                                       papers[i].release_ms));
            gen_trace_free(&run.trace);
        }
    return status;
}
