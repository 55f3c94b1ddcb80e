/* Whole event lists under random load.
 *
 * Short chains are compared with `bare`, the pointer-chasing loop (chase.h), which gets the
 * receiver of
 * each released unit as input and has no names, queues or witness. Further rows, without targets:
 * the
 * cost of an event for each engine in each model. */
#include "lab/bench/detect/chase.h"
#include "lab/bench/detect/detect.h"
#include "lab/bench/detect/keeper.h"

#include "foundation/base/error.h"

#define SHORT 32 /* hops, on average: longer chains are not short, and have no target */

struct load {
    struct gen_trace trace;
    const char *engine;
    bool busy;
    gordian_event
        *resolved; /* the same events; each release names the process that gets the unit */
    struct chase bare;
    struct keeper keeper;
    uint8_t *outcomes; /* of the loops */
    uint64_t sum;      /* of our outcomes, for comparison */
};

static gordian_status ours(void *context, double *ns, gordian_error *error)
{
    struct load *load = context;
    gordian_system *system;
    TRY(detect_open(&system, load->engine, &load->trace, error));
    uint64_t sum = 0, start = work_ns();
    gordian_status status =
        detect_feed(system, load->trace.events, load->trace.event_count, &sum, error);
    *ns = (double)(work_ns() - start) / (double)load->trace.event_count;
    gordian_close(system);
    if (status == GORDIAN_OK && load->sum && sum != load->sum)
        return fail(error, GORDIAN_STATUS_INPUT, "%s: the same events gave different outcomes",
                    load->engine);
    load->sum = sum;
    return status;
}

/* Runs the bare loop, or the loop that also maintains queues and held resources. */
static gordian_status run_loop(struct load *load, bool keeps, double *ns, gordian_error *error)
{
    const size_t count = load->trace.event_count;
    if (keeps)
        keeper_clear(&load->keeper, load->trace.processes, load->trace.resources);
    else
        chase_clear(&load->bare, load->trace.processes, load->trace.resources);
    uint64_t sum = 0, start = work_ns();
    for (size_t at = 0; at < count; at += DETECT_SLICE) {
        size_t slice = count - at < DETECT_SLICE ? count - at : DETECT_SLICE;
        if (keeps)
            keeper_feed(&load->keeper, &load->trace.events[at], slice, load->outcomes);
        else
            chase_feed(&load->bare, &load->resolved[at], slice, load->outcomes);
        for (size_t i = 0; i < slice; i++)
            sum += load->outcomes[i];
    }
    *ns = (double)(work_ns() - start) / (double)count;
    if (load->sum && sum != load->sum)
        return fail(error, GORDIAN_STATUS_INPUT, "%s: the same events gave different outcomes",
                    keeps ? "keeper" : "bare");
    return GORDIAN_OK;
}

static gordian_status bare(void *context, double *ns, gordian_error *error)
{
    return run_loop(context, false, ns, error);
}

static gordian_status keeps(void *context, double *ns, gordian_error *error)
{
    return run_loop(context, true, ns, error);
}

struct load_facts {
    size_t requests, blocks, deadlocks;
    uint64_t hops;
};

static gordian_status short_chain_row(struct bench *bench, struct load *load)
{
    struct load_facts facts = {0};
    /* Replays one by one: records which process gets each released unit, and compares every
     * outcome. */
    gordian_system *system;
    gordian_status status = detect_open(&system, "sparse", &load->trace, bench->error);
    for (size_t i = 0; i < load->trace.event_count && status == GORDIAN_OK; i++) {
        gordian_event *event = &load->resolved[i];
        gordian_result result;
        *event = load->trace.events[i];
        status = gordian_feed(system, event, &result, bench->error);
        if (status != GORDIAN_OK)
            break;
        size_t served_count;
        const uint32_t *served = gordian_served(system, &served_count);
        if (event->op == GORDIAN_OP_RELEASE)
            event->to = served_count ? served[0] : GORDIAN_NONE;
        chase_feed(&load->bare, event, 1, load->outcomes);
        if (result.outcome != load->outcomes[0])
            status = fail(
                bench->error, GORDIAN_STATUS_INPUT, "event %zu: sparse says %s, bare says %s", i,
                gordian_outcome_text(result.outcome), gordian_outcome_text(load->outcomes[0]));
        facts.requests += event->op == GORDIAN_OP_REQUEST;
        facts.deadlocks += result.outcome == GORDIAN_OUTCOME_DEADLOCK;
        if (result.outcome == GORDIAN_OUTCOME_BLOCKED) {
            facts.blocks++;
            facts.hops += chase_length(&load->bare, event->process);
        }
    }
    gordian_close(system);
    struct bench_side sides[3] = {{load, ours}, {load, bare}, {load, keeps}};
    struct bench_effort effort = {2, 7, 60, bench->options->quick ? 2 : 8};
    THEN(status, bench_measure(bench, sides, 3, effort));
    TRY(status);
    double hops = (double)facts.hops / (double)(facts.blocks ? facts.blocks : 1);
    struct bench_row row = bench_measured(&sides[0], "ns", "detect/single/random-%u%s/sparse",
                                          load->trace.processes, load->busy ? "-busy" : "");
    bench_against(&row, "bare", &sides[1]);
    bench_bar(&row, hops < SHORT ? BAR_AT_LEAST : BAR_NONE, 0.8);
    bench_note(&row,
               "per event of %zu; %.0f%% of the requests block, behind %.2f processes on average; "
               "%zu deadlocks",
               load->trace.event_count, 100.0 * (double)facts.blocks / (double)facts.requests, hops,
               facts.deadlocks);
    TRY(bench_add(bench, &row));
    struct bench_row floor = bench_measured(&sides[2], "ns", "detect/single/random-%u%s/keeper",
                                            load->trace.processes, load->busy ? "-busy" : "");
    bench_against(&floor, "bare", &sides[1]);
    bench_note(
        &floor,
        "the bare loop with queues and lists of held resources, without checks: a lower bound");
    return bench_add(bench, &floor);
}

/* From about 35 percent of contention on nearly all processes wait: that is `busy`. */
static gordian_status short_chains(struct bench *bench, uint32_t size, uint64_t events, bool busy)
{
    struct load load = {.engine = "sparse", .busy = busy};
    struct gen_options options = gen_options_of("random", bench->options->seed, size);
    options.events = events;
    options.contention = busy ? 60 : 30;
    options.cancels = 1;
    bench_progress(bench, "random load, %u x %u", size, size);
    gordian_status status = gen_events(&options, &load.trace, bench->error);
    TRY(status);
    load.resolved = memory_alloc(&bench->memory, load.trace.event_count * sizeof *load.resolved);
    load.outcomes = memory_alloc(&bench->memory, DETECT_SLICE);
    if (!load.resolved || !load.outcomes || !chase_open(&load.bare, &bench->memory, size, size) ||
        !keeper_open(&load.keeper, &bench->memory, size, size))
        status = fail_memory(bench->error);
    else
        status = short_chain_row(bench, &load);
    chase_close(&load.bare, &bench->memory);
    keeper_close(&load.keeper, &bench->memory);
    memory_free_all(&bench->memory, load.resolved, load.outcomes);
    gen_trace_free(&load.trace);
    return status;
}

/* ------------------------------------------------------------------ every engine */

struct engine_load {
    const char *kind, *model, *engine;
    uint32_t size;
    uint32_t events;
};

static gordian_status engine_row(struct bench *bench, const struct engine_load *wanted)
{
    struct load load = {.engine = wanted->engine};
    struct gen_options options = gen_options_of(wanted->kind, bench->options->seed, wanted->size);
    options.events = wanted->events;
    options.cancels = options.exits = 1;
    bench_progress(bench, "%s load, %u x %u, %s", wanted->model, wanted->size, wanted->size,
                   wanted->engine);
    gordian_status status = gen_events(&options, &load.trace, bench->error);
    struct bench_side side = {&load, ours};
    struct bench_effort effort = {1, 3, 30, bench->options->quick ? 0.3 : 2};
    THEN(status, bench_measure(bench, &side, 1, effort));
    gen_trace_free(&load.trace);
    TRY(status);
    struct bench_row row = bench_measured(&side, "ns", "detect/%s/load-%u/%s", wanted->model,
                                          wanted->size, wanted->engine);
    return bench_add(bench, &row);
}

gordian_status detect_loads(struct bench *bench)
{
    static const struct engine_load loads[] = {
        {"random", "single", "sparse", 256, 100000},  {"random", "single", "matrix", 256, 20000},
        {"random", "single", "reduce", 256, 5000},    {"multi", "multi", "sparse", 256, 100000},
        {"multi", "multi", "matrix", 256, 2000},      {"multi", "multi", "reduce", 256, 5000},
        {"general", "general", "sparse", 256, 20000}, {"general", "general", "reduce", 256, 5000},
        {"multi", "multi", "sparse", 65536, 1000000},
    };
    const bool quick = bench->options->quick;
    for (int i = 0; i < 4 && bench_wants(bench, "sparse"); i++) {
        bool large = i >= 2, busy = i % 2;
        uint64_t events = large ? 4000000 : 1000000;
        TRY(short_chains(bench, large ? 65536 : 1024, quick ? events / 4 : events, busy));
    }
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++)
        if (bench_wants(bench, loads[i].engine))
            TRY(engine_row(bench, &loads[i]));
    return GORDIAN_OK;
}
