/* A hot row: hundreds of transactions want the same row. Each hand-over ends one wait, and the
 * others then wait for the new holder; the transaction that finished comes again. The baseline is a
 * depth-first search in the wait-for graph under a mutex (shared.h). */
#include "lab/bench/shared/shared.h"

#include "foundation/base/error.h"

#include <sched.h>
#include <stdlib.h>

struct hot {
    uint32_t waiters; /* waiters and holder; each also has a row of its own */
    uint64_t turns;   /* number of hand-overs */
    bool ours;
};

/* ------------------------------------------------------------------ one thread for all */

/* Each transaction requests the hot row (0) while it holds its own; then, turn by turn, the holder
 * releases it and queues again. *sum hashes which transaction held it when. */
static gordian_status drive_ours(const struct hot *hot, double *ns, uint64_t *sum,
                                 gordian_error *error)
{
    gordian_system *system = NULL;
    gordian_outcome outcome = 0;
    gordian_status status =
        shared_system(&system, true, hot->waiters, hot->waiters + 1, NULL, error);
    for (uint32_t p = 0; p < hot->waiters && status == GORDIAN_OK; p++) {
        status = gordian_request(system, p, p + 1, 1, &outcome, error);
        THEN(status, gordian_request(system, p, 0, 1, &outcome, error));
    }
    uint64_t start = work_ns();
    for (uint64_t turn = 0; turn < hot->turns && status == GORDIAN_OK; turn++) {
        uint32_t holder = (uint32_t)(turn % hot->waiters); /* first come, first served */
        status = gordian_release(system, holder, 0, 1, &outcome, error);
        *sum += outcome * turn;
        THEN(status, gordian_request(system, holder, 0, 1, &outcome, error));
        *sum += outcome * turn;
    }
    *ns = (double)(work_ns() - start) / (double)hot->turns;
    gordian_close(system);
    return status;
}

static gordian_status drive_theirs(const struct hot *hot, double *ns, uint64_t *sum,
                                   gordian_error *error)
{
    struct waits *waits = waits_open(hot->waiters, hot->waiters + 1);
    if (!waits)
        return fail_memory(error);
    for (uint32_t p = 0; p < hot->waiters; p++) {
        waits_request(waits, p, p + 1);
        waits_request(waits, p, 0);
    }
    uint64_t start = work_ns(), wrong = 0;
    for (uint64_t turn = 0; turn < hot->turns; turn++) {
        uint32_t holder = (uint32_t)(turn % hot->waiters);
        wrong += waits_release(waits, holder, 0) != (turn + 1) % hot->waiters;
        *sum += GORDIAN_OUTCOME_RELEASED * turn;
        *sum += waits_request(waits, holder, 0) * turn;
    }
    *ns = (double)(work_ns() - start) / (double)hot->turns;
    waits_close(waits);
    return wrong ? fail(error, GORDIAN_STATUS_INPUT, "the baseline serves out of order")
                 : GORDIAN_OK;
}

static gordian_status drive(void *context, double *ns, gordian_error *error)
{
    const struct hot *hot = context;
    uint64_t sum = 0, expected = 0;
    gordian_status status =
        hot->ours ? drive_ours(hot, ns, &sum, error) : drive_theirs(hot, ns, &sum, error);
    for (uint64_t turn = 0; turn < hot->turns; turn++)
        expected += (GORDIAN_OUTCOME_RELEASED + GORDIAN_OUTCOME_BLOCKED) * turn;
    if (status == GORDIAN_OK && sum != expected)
        status = fail(error, GORDIAN_STATUS_INPUT, "hot row: wrong answers");
    return status;
}

/* ------------------------------------------------------------------ a thread for each */

struct hot_run {
    const struct hot *hot;
    gordian_system *system;
    struct waits *waits;
    pthread_barrier_t start;
    uint64_t visits; /* changed by the holder of the hot row */
};

struct member {
    pthread_t thread;
    struct hot_run *run;
    uint32_t process;
    uint64_t began, ended, failures;
};

/* Simulates a transaction that works on the row, long enough for others to queue. */
static void simulate_work(struct hot_run *run)
{
    run->visits++;
    sched_yield();
}

static bool visit_ours(struct member *member)
{
    gordian_system *system = member->run->system;
    gordian_outcome outcome = 0;
    bool fine = gordian_request(system, member->process, member->process + 1, 1, &outcome, NULL) ==
                    GORDIAN_OK &&
                gordian_request(system, member->process, 0, 1, &outcome, NULL) == GORDIAN_OK;
    if (outcome == GORDIAN_OUTCOME_BLOCKED)
        fine &= gordian_await_grant(system, member->process, UINT64_MAX, NULL) == GORDIAN_OK;
    simulate_work(member->run);
    fine &= gordian_release(system, member->process, 0, 1, &outcome, NULL) == GORDIAN_OK;
    return fine && gordian_release(system, member->process, member->process + 1, 1, &outcome,
                                   NULL) == GORDIAN_OK;
}

static bool visit_theirs(struct member *member)
{
    struct waits *waits = member->run->waits;
    waits_request(waits, member->process, member->process + 1);
    if (waits_request(waits, member->process, 0) != GORDIAN_OUTCOME_GRANTED)
        waits_await(waits, member->process);
    simulate_work(member->run);
    waits_release(waits, member->process, 0);
    return waits_release(waits, member->process, member->process + 1) == GORDIAN_NONE;
}

static void *be_member(void *context)
{
    struct member *member = context;
    const struct hot *hot = member->run->hot;
    pthread_barrier_wait(&member->run->start);
    member->began = clock_ns();
    for (uint64_t i = 0; i < hot->turns / hot->waiters; i++)
        member->failures += !(hot->ours ? visit_ours(member) : visit_theirs(member));
    member->ended = clock_ns();
    return NULL;
}

static gordian_status time_members(const struct hot_run *run, const struct member *members,
                                   double *ns, gordian_error *error)
{
    const struct hot *hot = run->hot;
    uint64_t began = UINT64_MAX, ended = 0, failures = 0;
    uint64_t wanted = hot->turns / hot->waiters * hot->waiters;
    for (uint32_t i = 0; i < hot->waiters; i++) {
        began = members[i].began < began ? members[i].began : began;
        ended = members[i].ended > ended ? members[i].ended : ended;
        failures += members[i].failures;
    }
    *ns = (double)(ended - began) / (double)wanted;
    return failures || run->visits != wanted
               ? fail(error, GORDIAN_STATUS_INPUT, "hot row: the lock did not exclude")
               : GORDIAN_OK;
}

static gordian_status run_members(struct hot_run *run, double *ns, gordian_error *error)
{
    const uint32_t count = run->hot->waiters;
    struct member *members = calloc(count, sizeof *members);
    if (!members)
        return fail_memory(error);
    pthread_barrier_init(&run->start, NULL, count);
    for (uint32_t i = 0; i < count; i++) {
        members[i] = (struct member){.run = run, .process = i};
        if (pthread_create(&members[i].thread, NULL, be_member, &members[i]) != 0)
            abort(); /* the threads already started wait for it */
    }
    for (uint32_t i = 0; i < count; i++)
        pthread_join(members[i].thread, NULL);
    pthread_barrier_destroy(&run->start);
    gordian_status status = time_members(run, members, ns, error);
    free(members);
    return status;
}

static gordian_status run_hot_threads(void *context, double *ns, gordian_error *error)
{
    const struct hot *hot = context;
    struct hot_run run = {.hot = hot};
    gordian_status status = GORDIAN_OK;
    if (hot->ours)
        status = shared_system(&run.system, true, hot->waiters, hot->waiters + 1, NULL, error);
    else if (!(run.waits = waits_open(hot->waiters, hot->waiters + 1)))
        status = fail_memory(error);
    THEN(status, run_members(&run, ns, error));
    gordian_close(run.system);
    waits_close(run.waits);
    return status;
}

/* ------------------------------------------------------------------ rows */

static gordian_status hot_row(struct bench *bench, uint32_t waiters, bool threads)
{
    const bool quick = bench->options->quick;
    uint64_t turns = threads ? 20000 : 200000;
    struct hot ours = {waiters, quick ? turns / 4 : turns, true};
    struct hot theirs = {waiters, threads ? ours.turns : ours.turns / 10, false};
    struct bench_side sides[] = {{.context = &ours, .run = threads ? run_hot_threads : drive},
                                 {.context = &theirs, .run = threads ? run_hot_threads : drive}};
    struct bench_effort effort = {1, 3, 20, quick ? 1 : 6};
    bench_progress(bench, "a hot row, %u%s", waiters, threads ? " threads" : "");
    TRY(bench_measure(bench, sides, 2, effort));
    struct bench_row row =
        bench_measured(&sides[0], "ns", "shared/hot-row/%u%s", waiters, threads ? "-threads" : "");
    bench_against(&row, "depth-first", &sides[1]);
    bench_note(&row,
               threads ? "per hand-over, %u threads that sleep until served"
                       : "per hand-over, %u waiting, one thread for all",
               waiters);
    return bench_add(bench, &row);
}

gordian_status shared_hot_rows(struct bench *bench)
{
    static const uint32_t sizes[] = {16, 128, 512, 2048};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        TRY(hot_row(bench, sizes[i], false));
    TRY(hot_row(bench, 16, true));
    return hot_row(bench, 256, true);
}
