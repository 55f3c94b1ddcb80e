/* The blocking request that closes a ring of N processes, compared with following the chain
 * pointer by
 * pointer.
 *
 * There are two orders of blocking (sources/gen/gen.h) and two kinds of measurement. `fresh`: in a
 * new
 * system, without earlier requests of this kind. `again`: the same request, cancelled and
 * repeated, in
 * batches so long that reading the clock costs nothing. */
#include "lab/bench/detect/chase.h"
#include "lab/bench/detect/detect.h"

#include "foundation/base/error.h"

#include <stdio.h>

struct chain {
    const struct gen_trace *trace;
    gordian_system *system; /* again: the system of the repeated request */
    struct chase chase;
    gordian_event *pairs; /* again: request, cancel, request, cancel, ... */
    uint8_t *outcomes;
    unsigned pair_count;
};

static const gordian_event *last_event(const struct chain *chain)
{
    return &chain->trace->events[chain->trace->event_count - 1];
}

static gordian_status expect_deadlock(const char *who, unsigned outcome, gordian_error *error)
{
    if (outcome == GORDIAN_OUTCOME_DEADLOCK)
        return GORDIAN_OK;
    return fail(error, GORDIAN_STATUS_INPUT, "chain: %s answers %s instead of deadlock", who,
                gordian_outcome_text(outcome));
}

static gordian_status sparse_fresh(void *context, double *ns, gordian_error *error)
{
    const struct chain *chain = context;
    gordian_system *system;
    gordian_result result;
    uint64_t sum = 0, start = 0;
    gordian_status status = detect_open(&system, "sparse", chain->trace, error);
    THEN(status,
         detect_feed(system, chain->trace->events, chain->trace->event_count - 1, &sum, error));
    if (status == GORDIAN_OK) {
        start = clock_ns();
        status = gordian_feed(system, last_event(chain), &result, error);
        *ns = (double)(clock_ns() - start);
    }
    gordian_close(system);
    return status == GORDIAN_OK ? expect_deadlock("sparse", result.outcome, error) : status;
}

static gordian_status chase_fresh(void *context, double *ns, gordian_error *error)
{
    struct chain *chain = context;
    uint8_t outcome;
    chase_clear(&chain->chase, chain->trace->processes, chain->trace->resources);
    chase_place(&chain->chase, chain->trace->events, chain->trace->event_count - 1);
    uint64_t start = clock_ns();
    chase_feed(&chain->chase, last_event(chain), 1, &outcome);
    *ns = (double)(clock_ns() - start);
    return expect_deadlock("chase", outcome, error);
}

static gordian_status sparse_again(void *context, double *ns, gordian_error *error)
{
    const struct chain *chain = context;
    const unsigned count = chain->pair_count;
    gordian_status status = GORDIAN_OK;
    gordian_result result, cancelled;
    unsigned deadlocks = 0;
    uint64_t start = work_ns();
    for (unsigned i = 0; i < 2 * count && status == GORDIAN_OK; i += 2) {
        status = gordian_feed(chain->system, &chain->pairs[i], &result, error);
        THEN(status, gordian_feed(chain->system, &chain->pairs[i + 1], &cancelled, error));
        deadlocks += result.outcome == GORDIAN_OUTCOME_DEADLOCK;
    }
    *ns = (double)(work_ns() - start) / count;
    TRY(status);
    return expect_deadlock(
        "sparse", deadlocks == count ? GORDIAN_OUTCOME_DEADLOCK : GORDIAN_OUTCOME_BLOCKED, error);
}

static gordian_status chase_again(void *context, double *ns, gordian_error *error)
{
    struct chain *chain = context;
    const unsigned count = chain->pair_count;
    unsigned deadlocks = 0;
    uint64_t start = work_ns();
    chase_feed(&chain->chase, chain->pairs, 2 * (size_t)count, chain->outcomes);
    *ns = (double)(work_ns() - start) / count;
    for (unsigned i = 0; i < 2 * count; i += 2)
        deadlocks += chain->outcomes[i] == GORDIAN_OUTCOME_DEADLOCK;
    return expect_deadlock(
        "chase", deadlocks == count ? GORDIAN_OUTCOME_DEADLOCK : GORDIAN_OUTCOME_BLOCKED, error);
}

/* ------------------------------------------------------------------ rows */

#define SIZES 3
static const uint32_t sizes[SIZES] = {1024, 8192, 65536};
static const char *const orders[] = {"tail", "head"};
static const double paper_cpu_us[SIZES] = {5251, 253580, 0}; /* the article's table 2 */
static const double paper_gpu_us[SIZES] = {81, 426, 0};

#define PAIRS 64

static gordian_status prepare_chain(struct bench *bench, struct chain *chain)
{
    const size_t pairs = 2 * (size_t)PAIRS;
    uint64_t sum = 0;
    chain->pair_count = PAIRS;
    chain->pairs = memory_alloc(&bench->memory, pairs * sizeof *chain->pairs);
    chain->outcomes = memory_alloc(&bench->memory, pairs);
    if (!chain->pairs || !chain->outcomes ||
        !chase_open(&chain->chase, &bench->memory, chain->trace->processes,
                    chain->trace->resources))
        return fail_memory(bench->error);
    for (size_t i = 0; i < pairs; i++) {
        chain->pairs[i] = *last_event(chain);
        if (i % 2)
            chain->pairs[i].op = GORDIAN_OP_CANCEL;
    }
    TRY(detect_open(&chain->system, "sparse", chain->trace, bench->error));
    return detect_feed(chain->system, chain->trace->events, chain->trace->event_count - 1, &sum,
                       bench->error);
}

static gordian_status measure_last_block(struct bench *bench, struct chain *chain, bool again,
                                         struct bench_row *row)
{
    const bool quick = bench->options->quick;
    struct bench_side sides[2] = {{chain, again ? sparse_again : sparse_fresh},
                                  {chain, again ? chase_again : chase_fresh}};
    struct bench_effort effort = {3, 15, 400, quick ? 0.4 : 3};
    if (again) { /* after the fresh runs, the chase still has the last wait */
        chase_clear(&chain->chase, chain->trace->processes, chain->trace->resources);
        chase_place(&chain->chase, chain->trace->events, chain->trace->event_count - 1);
    }
    TRY(bench_measure(bench, sides, 2, effort));
    bench_fill(row, &sides[0], 1000);
    bench_against(row, "chase", &sides[1]);
    return GORDIAN_OK;
}

/* The four rows of one size: rows[2 * order + again]. */
static gordian_status chain_size_rows(struct bench *bench, unsigned size, unsigned order,
                                      struct bench_row *rows)
{
    struct gen_trace trace;
    struct gen_options options = gen_options_of("chain", 1, sizes[size]);
    options.order = orders[order];
    TRY(gen_events(&options, &trace, bench->error));
    struct chain chain = {.trace = &trace};
    gordian_status status = prepare_chain(bench, &chain);
    for (unsigned again = 0; again < 2 && status == GORDIAN_OK; again++) {
        struct bench_row *row = &rows[again];
        bench_progress(bench, "chain of %u, %s", sizes[size], orders[order]);
        *row = bench_row("us", "detect/single/chain-%u-%s%s/sparse", sizes[size], orders[order],
                         again ? "-again" : "");
        status = measure_last_block(bench, &chain, again, row);
        if (sizes[size] == 8192)
            bench_bar(row, BAR_AT_LEAST, 10);
        bench_paper(row, paper_cpu_us[size], paper_gpu_us[size]);
        row->plot = "Last block of a chain";
        snprintf(row->series, sizeof row->series, "sparse, %s%s", orders[order],
                 again ? ", again" : "");
        snprintf(row->baseline_series, sizeof row->baseline_series, "chase, %s%s", orders[order],
                 again ? ", again" : "");
        row->x = sizes[size];
        THEN(status, bench_add(bench, row));
    }
    gordian_close(chain.system);
    chase_close(&chain.chase, &bench->memory);
    memory_free_all(&bench->memory, chain.pairs, chain.outcomes);
    gen_trace_free(&trace);
    return status;
}

/* From the shortest to the longest; the slowest kind at 8192 also gets its plain name. */
static gordian_status summary_rows(struct bench *bench, struct bench_row (*rows)[4])
{
    static const char *const ways[] = {"tail", "tail-again", "head", "head-again"};
    gordian_status status = GORDIAN_OK;
    struct bench_row worst = rows[1][0];
    for (unsigned way = 0; way < 4 && status == GORDIAN_OK; way++) {
        if (rows[1][way].ratio < worst.ratio)
            worst = rows[1][way];
        struct bench_row row = bench_row("us", "detect/single/chain-growth-%s/sparse", ways[way]);
        row.value = rows[SIZES - 1][way].value;
        bench_times(&row, "1024", rows[0][way].value);
        bench_bar(&row, BAR_AT_MOST, 2.5);
        status = bench_add(bench, &row);
    }
    TRY(status);
    bench_note(&worst, "the worst of the four above: %s", worst.id);
    snprintf(worst.id, sizeof worst.id, "detect/single/chain-8192/sparse");
    worst.plot = NULL;
    return bench_add(bench, &worst);
}

gordian_status detect_chains(struct bench *bench)
{
    if (!bench_wants(bench, "sparse"))
        return GORDIAN_OK;
    struct bench_row rows[SIZES][4];
    for (unsigned size = 0; size < SIZES; size++)
        for (unsigned order = 0; order < 2; order++)
            TRY(chain_size_rows(bench, size, order, &rows[size][2 * order]));
    return summary_rows(bench, rows);
}
