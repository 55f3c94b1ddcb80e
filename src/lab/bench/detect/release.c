/* Multi-unit: releases that hand a unit over, after which the matrix engine must recompute
 * reachability. The state has most processes waiting; then comes a list of such releases. Both
 * engines start from the same state, get the same releases, and must serve the same processes. */
#include "lab/bench/detect/detect.h"

#include "foundation/base/error.h"
#include "foundation/base/random.h"

#include <string.h>

#define SIZE      1024u
#define UNITS     4u
#define WAITING   90 /* percent of the processes */
#define HELD_ROOM 64
#define PASSES    20 /* passes of sparse for one of matrix */

struct releases {
    struct gen_trace state; /* the requests that create it */
    size_t state_capacity;
    gordian_event *list; /* the releases */
    uint32_t *served;    /* one process for each release */
    size_t count;
};

static gordian_status push(struct bench *bench, struct releases *releases, uint32_t process,
                           uint32_t resource)
{
    struct gen_trace *state = &releases->state;
    if (!memory_grow(&bench->memory, &state->events, &releases->state_capacity,
                     state->event_count + 1, sizeof *state->events))
        return fail_memory(bench->error);
    state->events[state->event_count++] = gen_event(GORDIAN_OP_REQUEST, process, resource, 1);
    return GORDIAN_OK;
}

/* Grants every unit of every resource, then adds waits that close no deadlock. */
static gordian_status make_state(struct bench *bench, struct releases *releases,
                                 struct random *random, gordian_system *system)
{
    gordian_status status = GORDIAN_OK;
    gordian_outcome outcome;
    for (uint32_t i = 0; i < SIZE * UNITS && status == GORDIAN_OK; i++) {
        uint32_t process = (uint32_t)random_below(random, SIZE);
        status = push(bench, releases, process, i / UNITS);
        THEN(status, gordian_request(system, process, i / UNITS, 1, &outcome, bench->error));
    }
    for (uint32_t p = 0; p < SIZE && status == GORDIAN_OK; p++) {
        if (!random_chance(random, WAITING))
            continue;
        uint32_t resource = (uint32_t)random_below(random, SIZE);
        status = gordian_request(system, p, resource, 1, &outcome, bench->error);
        if (status == GORDIAN_OK && outcome == GORDIAN_OUTCOME_BLOCKED)
            status = push(bench, releases, p, resource);
        else
            THEN(status, gordian_cancel(system, p, &outcome, bench->error));
    }
    return status;
}

/* Returns a resource that `process` holds and another process waits for, or GORDIAN_NONE. */
static uint32_t wanted_holding(const gordian_system *system, uint32_t process)
{
    gordian_edge held[HELD_ROOM], waiter;
    size_t count = gordian_holdings(system, process, held, HELD_ROOM);
    for (size_t i = 0; i < count && i < HELD_ROOM; i++)
        if (gordian_waiters(system, held[i].resource, &waiter, 1))
            return held[i].resource;
    return GORDIAN_NONE;
}

/* Draws releases, each by a running process and serving a waiting one. */
static gordian_status make_list(struct bench *bench, struct releases *releases,
                                struct random *random, gordian_system *system)
{
    gordian_status status = GORDIAN_OK;
    for (size_t i = 0; i < releases->count && status == GORDIAN_OK;) {
        uint32_t process = (uint32_t)random_below(random, SIZE);
        uint32_t resource =
            gordian_is_waiting(system, process) ? GORDIAN_NONE : wanted_holding(system, process);
        if (resource == GORDIAN_NONE)
            continue;
        gordian_event event = gen_event(GORDIAN_OP_RELEASE, process, resource, 1);
        gordian_result result;
        status = gordian_feed(system, &event, &result, bench->error);
        size_t served;
        releases->list[i] = event;
        if (status == GORDIAN_OK)
            releases->served[i++] = gordian_served(system, &served)[0];
    }
    return status;
}

static gordian_status make(struct bench *bench, struct releases *releases)
{
    struct random random;
    gordian_system *system;
    random_seed(&random, bench->options->seed);
    releases->list = memory_alloc(&bench->memory, releases->count * sizeof *releases->list);
    releases->served = memory_alloc(&bench->memory, releases->count * sizeof *releases->served);
    releases->state.units = memory_alloc(&bench->memory, SIZE * sizeof *releases->state.units);
    if (!releases->list || !releases->served || !releases->state.units)
        return fail_memory(bench->error);
    releases->state.processes = releases->state.resources = SIZE;
    for (uint32_t q = 0; q < SIZE; q++)
        releases->state.units[q] = UNITS;
    gordian_status status = detect_open(&system, "sparse", &releases->state, bench->error);
    THEN(status, make_state(bench, releases, &random, system));
    THEN(status, make_list(bench, releases, &random, system));
    gordian_close(system);
    return status;
}

/* Runs the list through an engine once and stores the nanoseconds of each release in samples. Only
 * matrix is timed with the thread's clock, which costs more than a release of sparse. */
static gordian_status pass(const struct releases *releases, const char *engine, double *samples,
                           gordian_error *error)
{
    gordian_system *system;
    uint64_t (*const now)(void) = strcmp(engine, "matrix") == 0 ? work_ns : clock_ns;
    uint64_t sum = 0;
    gordian_status status = detect_open(&system, engine, &releases->state, error);
    THEN(status,
         detect_feed(system, releases->state.events, releases->state.event_count, &sum, error));
    for (size_t i = 0; i < releases->count && status == GORDIAN_OK; i++) {
        gordian_result result;
        uint64_t start = now();
        status = gordian_feed(system, &releases->list[i], &result, error);
        samples[i] = (double)(now() - start);
        size_t count;
        const uint32_t *served = gordian_served(system, &count);
        if (status == GORDIAN_OK && (count != 1 || served[0] != releases->served[i]))
            status = fail(error, GORDIAN_STATUS_INPUT, "%s: release %zu serves another process",
                          engine, i);
    }
    gordian_close(system);
    return status;
}

/* Runs the passes of sparse before and after the one of matrix, after a warm-up pass. */
static gordian_status measure_passes(struct bench *bench, const struct releases *releases,
                                     double *samples, double *matrix_samples)
{
    const size_t count = releases->count;
    gordian_status status = pass(releases, "sparse", samples, bench->error);
    for (unsigned i = 0; i < PASSES && status == GORDIAN_OK; i++) {
        if (i == PASSES / 2)
            status = pass(releases, "matrix", matrix_samples, bench->error);
        THEN(status, pass(releases, "sparse", &samples[i * count], bench->error));
    }
    TRY(status);
    struct bench_row row = bench_row("us", "detect/multi/release-%u/sparse", SIZE);
    row.value = bench_median(samples, PASSES * count) / 1000;
    row.p99 = bench_p99(samples, PASSES * count) / 1000;
    row.baseline = "matrix";
    row.baseline_value = bench_median(matrix_samples, count) / 1000;
    bench_bar(&row, BAR_AT_LEAST, 1000);
    bench_note(
        &row,
        "%zu releases of resources with %u units, %zu processes wait at first; the papers give "
        "whole runs only",
        count, UNITS, releases->state.event_count - (size_t)SIZE * UNITS);
    return bench_add(bench, &row);
}

gordian_status detect_releases(struct bench *bench)
{
    if (!bench_wants(bench, "sparse"))
        return GORDIAN_OK;
    struct releases releases = {.count = bench->options->quick ? 40 : 200};
    bench_progress(bench, "multi-unit releases, %u x %u", SIZE, SIZE);
    double *samples = memory_alloc(&bench->memory, (PASSES + 1) * releases.count * sizeof *samples);
    gordian_status status = samples ? make(bench, &releases) : fail_memory(bench->error);
    THEN(status, measure_passes(bench, &releases, samples, &samples[PASSES * releases.count]));
    memory_free_all(&bench->memory, samples, releases.list, releases.served, releases.state.units,
                    releases.state.events);
    return status;
}
