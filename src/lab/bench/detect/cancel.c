/* Cancels a wait in the middle of a chain of N processes, repeatedly, compared with following the
 * chain pointer by pointer. Each round has four events at another place: cancel, the same request
 * again, the request that closes the chain to a ring, and its cancellation. */
#include "lab/bench/detect/chase.h"
#include "lab/bench/detect/detect.h"

#include "foundation/base/error.h"
#include "foundation/base/random.h"

#include <stdio.h>

#define ROUNDS       64u
#define ROUND_EVENTS 4u
#define LIST_EVENTS  (ROUNDS * ROUND_EVENTS)

struct breaks {
    const struct gen_trace *trace;
    gordian_system *system;
    struct chase chase;
    gordian_event events[LIST_EVENTS];
    uint8_t outcomes[LIST_EVENTS];
    gordian_result results[LIST_EVENTS];
};

/* Expected outcome of each event of a round. */
static const gordian_outcome expected[ROUND_EVENTS] = {
    GORDIAN_OUTCOME_CANCELLED, GORDIAN_OUTCOME_BLOCKED, GORDIAN_OUTCOME_DEADLOCK,
    GORDIAN_OUTCOME_CANCELLED};

static gordian_status check_round_outcome(const char *who, size_t at, unsigned outcome,
                                          gordian_error *error)
{
    if (outcome == expected[at % ROUND_EVENTS])
        return GORDIAN_OK;
    return fail(error, GORDIAN_STATUS_INPUT, "cancel: %s answers %s instead of %s", who,
                gordian_outcome_text(outcome), gordian_outcome_text(expected[at % ROUND_EVENTS]));
}

static gordian_status run_sparse(void *context, double *ns, gordian_error *error)
{
    struct breaks *breaks = context;
    uint64_t start = work_ns();
    for (size_t i = 0; i < LIST_EVENTS; i++)
        TRY(gordian_feed(breaks->system, &breaks->events[i], &breaks->results[i], error));
    *ns = (double)(work_ns() - start) / ROUNDS;
    for (size_t i = 0; i < LIST_EVENTS; i++)
        TRY(check_round_outcome("sparse", i, breaks->results[i].outcome, error));
    return GORDIAN_OK;
}

static gordian_status run_chase(void *context, double *ns, gordian_error *error)
{
    struct breaks *breaks = context;
    uint64_t start = work_ns();
    chase_feed(&breaks->chase, breaks->events, LIST_EVENTS, breaks->outcomes);
    *ns = (double)(work_ns() - start) / ROUNDS;
    for (size_t i = 0; i < LIST_EVENTS; i++)
        TRY(check_round_outcome("chase", i, breaks->outcomes[i], error));
    return GORDIAN_OK;
}

/* The second half of the trace are the events that block; the last of them closes the ring. */
static void make_cancel_rounds(struct breaks *breaks)
{
    const struct gen_trace *trace = breaks->trace;
    const gordian_event *last = &trace->events[trace->event_count - 1];
    struct random random;
    random_seed(&random, 1);
    for (size_t i = 0; i < LIST_EVENTS; i += ROUND_EVENTS) {
        uint64_t place = trace->event_count / 2 + random_below(&random, trace->event_count / 2 - 1);
        gordian_event *events = &breaks->events[i];
        events[0] = events[1] = trace->events[place];
        events[2] = events[3] = *last;
        events[0].op = events[3].op = GORDIAN_OP_CANCEL;
    }
}

static gordian_status open_breaks(struct bench *bench, struct breaks *breaks)
{
    const struct gen_trace *trace = breaks->trace;
    uint64_t sum = 0;
    if (!chase_open(&breaks->chase, &bench->memory, trace->processes, trace->resources))
        return fail_memory(bench->error);
    chase_place(&breaks->chase, trace->events, trace->event_count - 1);
    TRY(detect_open(&breaks->system, "sparse", trace, bench->error));
    return detect_feed(breaks->system, trace->events, trace->event_count - 1, &sum, bench->error);
}

static gordian_status cancel_row(struct bench *bench, const struct gen_trace *trace)
{
    struct breaks *breaks = memory_zeroed(&bench->memory, sizeof *breaks);
    if (!breaks)
        return fail_memory(bench->error);
    breaks->trace = trace;
    gordian_status status = open_breaks(bench, breaks);
    struct bench_side sides[2] = {{breaks, run_sparse}, {breaks, run_chase}};
    struct bench_effort effort = {3, 15, 400, bench->options->quick ? 0.4 : 3};
    make_cancel_rounds(breaks);
    THEN(status, bench_measure(bench, sides, 2, effort));
    gordian_close(breaks->system);
    chase_close(&breaks->chase, &bench->memory);
    memory_free(&bench->memory, breaks);
    TRY(status);
    struct bench_row row =
        bench_measured(&sides[0], "us", "detect/single/cancel-%u/sparse", trace->processes);
    bench_against_curve(&row, "chase", &sides[1]);
    bench_curve(&row, "A wait cancelled in the middle of a chain, and the next events",
                trace->processes, "sparse");
    return bench_add(bench, &row);
}

gordian_status detect_cancels(struct bench *bench)
{
    static const uint32_t sizes[] = {1024, 8192, 65536};
    gordian_status status = GORDIAN_OK;
    if (!bench_wants(bench, "sparse"))
        return status;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && status == GORDIAN_OK; i++) {
        struct gen_trace trace;
        struct gen_options options = gen_options_of("chain", 1, sizes[i]);
        bench_progress(bench, "a wait cancelled in the middle of a chain of %u", sizes[i]);
        status = gen_events(&options, &trace, bench->error);
        if (status != GORDIAN_OK)
            break;
        status = cancel_row(bench, &trace);
        gen_trace_free(&trace);
    }
    return status;
}
