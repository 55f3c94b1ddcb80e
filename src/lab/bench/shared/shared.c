/* One system, many threads: threads without common resources, one thread compared with a system
 * that is not shared, and the memory of a shared system. */
#include "lab/bench/shared/shared.h"

#include "foundation/base/error.h"
#include "foundation/base/machine.h"
#include "foundation/base/random.h"

#include <stdlib.h>

#define THREADS_MOST 64
#define OWN          1024 /* resources of a thread */
#define AT_ONCE      4    /* held at a time */

gordian_status shared_system(gordian_system **system, bool shared, uint32_t processes,
                             uint32_t resources, const gordian_allocator *memory,
                             gordian_error *error)
{
    gordian_options options;
    gordian_options_init(&options);
    options.engine = "sparse";
    options.shared = shared;
    options.allocator = memory;
    TRY(gordian_open(system, &options, error));
    TRY(gordian_reserve(*system, processes, resources, error));
    for (uint32_t q = 0; q < resources; q++)
        TRY(gordian_add_resource(*system, NULL, 1, NULL, error));
    for (uint32_t p = 0; p < processes; p++)
        TRY(gordian_add_process(*system, NULL, NULL, error));
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ separate resources */

struct disjoint {
    bool shared;
    unsigned threads;
    uint64_t turns; /* for each thread: takes AT_ONCE of its own and releases them */
    bool batches;   /* gordian_feed_batch instead of a call per event */
    uint64_t (*now)(void);
};

struct worker {
    pthread_t thread;
    const struct disjoint *load;
    gordian_system *system;
    pthread_barrier_t *start;
    uint32_t process, first; /* of the resources */
    uint64_t began, ended, wrong;
};

static void call_for_each(struct worker *worker, const uint32_t *resources)
{
    gordian_outcome outcome;
    for (int i = 0; i < AT_ONCE; i++) {
        if (gordian_request(worker->system, worker->process, resources[i], 1, &outcome, NULL) ||
            outcome != GORDIAN_OUTCOME_GRANTED)
            worker->wrong++;
    }
    for (int i = AT_ONCE; i-- > 0;) {
        if (gordian_release(worker->system, worker->process, resources[i], 1, &outcome, NULL) ||
            outcome != GORDIAN_OUTCOME_RELEASED)
            worker->wrong++;
    }
}

/* The same in one batch. */
static void feed_in_batches(struct worker *worker, const uint32_t *resources)
{
    static const gordian_outcome expected[] = {GORDIAN_OUTCOME_GRANTED, GORDIAN_OUTCOME_RELEASED};
    gordian_event events[2 * AT_ONCE];
    gordian_result results[2 * AT_ONCE];
    size_t done = 0;
    for (int i = 0; i < 2 * AT_ONCE; i++)
        events[i] = gen_event(i < AT_ONCE ? GORDIAN_OP_REQUEST : GORDIAN_OP_RELEASE,
                              worker->process, resources[i < AT_ONCE ? i : 2 * AT_ONCE - 1 - i], 1);
    gordian_feed_batch(worker->system, events, 2 * AT_ONCE, results, &done, NULL);
    for (size_t i = 0; i < done; i++)
        worker->wrong += results[i].outcome != expected[i >= AT_ONCE];
    worker->wrong += done != 2 * AT_ONCE;
}

static void *work(void *context)
{
    struct worker *worker = context;
    struct random random;
    uint32_t order[OWN] = {0};
    random_seed(&random, worker->first);
    for (uint32_t i = 0; i < OWN; i++) { /* a random order */
        uint32_t j = (uint32_t)random_below(&random, i + 1);
        order[i] = order[j];
        order[j] = worker->first + i;
    }
    pthread_barrier_wait(worker->start);
    worker->began = worker->load->now();
    for (uint64_t turn = 0; turn < worker->load->turns; turn++)
        (worker->load->batches ? feed_in_batches : call_for_each)(worker,
                                                                  &order[turn * AT_ONCE % OWN]);
    worker->ended = worker->load->now();
    return NULL;
}

/* Nanoseconds per event, over all threads. */
static gordian_status run_disjoint(void *context, double *ns, gordian_error *error)
{
    const struct disjoint *load = context;
    struct worker workers[THREADS_MOST] = {0};
    gordian_system *system = NULL;
    pthread_barrier_t start;
    gordian_status status =
        shared_system(&system, load->shared, load->threads, load->threads * OWN, NULL, error);
    if (status != GORDIAN_OK) {
        gordian_close(system);
        return status;
    }
    pthread_barrier_init(&start, NULL, load->threads);
    for (unsigned i = 0; i < load->threads; i++) {
        workers[i] = (struct worker){
            .load = load, .system = system, .start = &start, .process = i, .first = i * OWN};
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            abort(); /* the threads already started wait for it */
    }
    for (unsigned i = 0; i < load->threads; i++)
        pthread_join(workers[i].thread, NULL);
    pthread_barrier_destroy(&start);
    gordian_close(system);
    /* The duration runs from the first worker's start to the last worker's end. */
    uint64_t began = UINT64_MAX, ended = 0, wrong = 0;
    for (unsigned i = 0; i < load->threads; i++) {
        began = workers[i].began < began ? workers[i].began : began;
        ended = workers[i].ended > ended ? workers[i].ended : ended;
        wrong += workers[i].wrong;
    }
    *ns = (double)(ended - began) / (double)(load->turns * 2 * AT_ONCE * load->threads);
    return wrong ? fail(error, GORDIAN_STATUS_INPUT, "shared: %llu wrong answers",
                        (unsigned long long)wrong)
                 : GORDIAN_OK;
}

static gordian_status one_thread_row(struct bench *bench, uint64_t turns, bool batches)
{
    struct disjoint ours = {true, 1, turns, batches, work_ns};
    struct disjoint plain = {false, 1, turns, batches, work_ns};
    struct bench_side sides[] = {{.context = &ours, .run = run_disjoint},
                                 {.context = &plain, .run = run_disjoint}};
    struct bench_effort effort = {2, 7, 60, bench->options->quick ? 2 : 8};
    bench_progress(bench, "one thread, shared and not");
    TRY(bench_measure(bench, sides, 2, effort));
    struct bench_row row =
        bench_measured(&sides[0], "ns", "shared/disjoint/1-thread%s", batches ? "-batches" : "");
    bench_against(&row, "unshared", &sides[1]);
    row.bar_kind =
        batches ? BAR_NONE : BAR_AT_LEAST; /* an atomic operation costs more than such an event */
    row.bar = 0.77;
    bench_note(&row, "per event; a process takes %d of its %d resources and releases them%s",
               AT_ONCE, OWN, batches ? ", in one batch" : "");
    return bench_add(bench, &row);
}

static gordian_status many_threads_row(struct bench *bench, unsigned threads, uint64_t turns)
{
    struct disjoint many = {true, threads, turns, false, clock_ns};
    struct disjoint one = {true, 1, turns, false, clock_ns};
    struct bench_side sides[] = {{.context = &many, .run = run_disjoint},
                                 {.context = &one, .run = run_disjoint}};
    struct bench_effort effort = {1, 5, 30, bench->options->quick ? 2 : 8};
    bench_progress(bench, "%u threads on resources of their own", threads);
    TRY(bench_measure(bench, sides, 2, effort));
    struct bench_row row = bench_measured(&sides[0], "ns", "shared/disjoint/%u-threads", threads);
    bench_against(&row, "1 thread", &sides[1]);
    bench_bar(&row, threads == 16 ? BAR_AT_LEAST : BAR_NONE, 10);
    bench_note(&row, "per event, all threads together");
    return bench_add(bench, &row);
}

/* ------------------------------------------------------------------ memory */

/* Ten resources for each process, which holds half of them. */
static gordian_status peak_memory(bool shared, uint32_t processes, double *bytes,
                                  gordian_error *error)
{
    struct bench_memory counter = {0};
    gordian_allocator allocator = bench_counting(&counter);
    gordian_system *system = NULL;
    gordian_status status =
        shared_system(&system, shared, processes, 10 * processes, &allocator, error);
    for (uint32_t q = 0; q < 10 * processes && status == GORDIAN_OK; q += 2)
        status = gordian_request(system, q / 10, q, 1, NULL, error);
    gordian_close(system);
    *bytes = (double)counter.peak / (11.0 * processes);
    return status;
}

static gordian_status shared_memory_row(struct bench *bench)
{
    const uint32_t processes = 20000;
    struct bench_row row = bench_row("B", "shared/memory");
    bench_progress(bench, "memory");
    gordian_status status = peak_memory(true, processes, &row.value, bench->error);
    THEN(status, peak_memory(false, processes, &row.baseline_value, bench->error));
    TRY(status);
    row.baseline = "unshared";
    bench_bar(&row, BAR_AT_LEAST, 1 / 1.2);
    bench_note(
        &row,
        "bytes per process or resource at the peak; %u processes, ten resources each, half held",
        processes);
    return bench_add(bench, &row);
}

gordian_status bench_shared(struct bench *bench)
{
    gordian_status status = GORDIAN_OK;
    if (!bench_wants(bench, "sparse"))
        return status;
    struct machine machine;
    machine_describe(&machine);
    const uint64_t turns = bench->options->quick ? 50000 : 200000;
    status = one_thread_row(bench, turns, false);
    THEN(status, one_thread_row(bench, turns, true));
    for (unsigned threads = 2; threads <= machine.cores && threads <= THREADS_MOST; threads *= 2)
        THEN(status, many_threads_row(bench, threads, turns));
    THEN(status, shared_hot_rows(bench));
    THEN(status, shared_memory_row(bench));
    return status;
}
