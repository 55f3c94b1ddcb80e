/* Runs many simulated annealing chains on threads, and the engine `anneal` that consists of
 * them. */
#include "engines/makespan/anneal/anneal.h"

#include "engines/makespan/anneal/job.h"
#include "foundation/base/clock.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"

#include <string.h>

/* Entries that a chain places between two checks of the shared state: a few milliseconds. */
enum { SLICE = 800000 };

/* The buffers of one thread, reused for every chain it runs. */
struct scratch {
    struct evaluator *evaluator;
    uint8_t *buffers; /* best order, candidate, order */
};

struct shared {
    const struct makespan_model *model;
    const gordian_makespan_options *options;
    struct watch *watch;
    struct scratch *scratches;
    unsigned scratch_count;
    _Atomic uint64_t next; /* next chain to start */
    /* This chain has reached the bound, so later chains are not needed. */
    _Atomic uint64_t enough;
    pthread_mutex_t lock; /* protects the best so far: */
    uint64_t best_chain;
    uint32_t best;
    uint8_t *best_order;
};

/* Records the best of a chain if it is better than the best of all. Ties go to the lowest chain,
 * and within a chain to its first. */
static void record_best(struct shared *shared, const struct anneal_chain *chain, uint64_t begin)
{
    gordian_makespan_goal goal = shared->options->goal;
    pthread_mutex_lock(&shared->lock);
    watch_improved(shared->watch, chain->number, begin, chain->step, chain->best);
    if (shared->best_chain == UINT64_MAX || makespan_better(goal, chain->best, shared->best) ||
        (chain->best == shared->best && chain->number < shared->best_chain)) {
        shared->best = chain->best;
        shared->best_chain = chain->number;
        memcpy(shared->best_order, chain->best_order, shared->model->work);
    }
    pthread_mutex_unlock(&shared->lock);
    watch_found(shared->watch, goal, chain->best);
    uint32_t bound = watch_limit(shared->watch, goal);
    uint64_t enough = atomic_load(&shared->enough);
    while (chain->best == bound && chain->number < enough &&
           !atomic_compare_exchange_weak(&shared->enough, &enough, chain->number))
        continue;
}

static void work_chains(void *context, unsigned member)
{
    struct shared *shared = context;
    if (member >= shared->scratch_count)
        return;
    struct scratch *scratch = &shared->scratches[member];
    size_t size = shared->model->work;
    struct anneal_chain chain = {.model = shared->model,
                                 .options = shared->options,
                                 .evaluator = scratch->evaluator,
                                 .best_order = scratch->buffers,
                                 .candidate = scratch->buffers + size,
                                 .order = scratch->buffers + 2 * size};
    for (;;) {
        chain.number = atomic_fetch_add(&shared->next, 1);
        if (chain.number >= shared->options->chains || watch_stopped(shared->watch) ||
            chain.number > atomic_load(&shared->enough))
            break;
        uint32_t slice = SLICE / shared->model->work + 1;
        uint64_t begin = clock_ns();
        anneal_chain_begin(&chain);
        atomic_fetch_add(&shared->watch->evaluations, 1);
        record_best(shared, &chain, begin);
        while (!anneal_chain_over(&chain) && !watch_stopped(shared->watch) &&
               chain.number < atomic_load_explicit(&shared->enough, memory_order_relaxed)) {
            uint64_t before = chain.step;
            bool better = anneal_chain_run(&chain, slice);
            atomic_fetch_add_explicit(&shared->watch->evaluations, chain.step - before,
                                      memory_order_relaxed);
            if (better)
                record_best(shared, &chain, begin);
        }
    }
}

gordian_status anneal_chains(const struct makespan_model *model,
                             const gordian_makespan_options *options, struct thread_pool *workers,
                             struct watch *watch, uint8_t *order, gordian_error *error)
{
    const gordian_allocator *memory = watch->meter ? &watch->meter->memory : &model->memory;
    struct shared shared = {.model = model,
                            .options = options,
                            .watch = watch,
                            .best_chain = UINT64_MAX,
                            .best_order = order};
    atomic_init(&shared.next, 0);
    atomic_init(&shared.enough, UINT64_MAX);
    unsigned wanted =
        thread_pool_size(workers) < options->chains ? thread_pool_size(workers) : options->chains;
    shared.scratches = memory_zeroed(memory, wanted * sizeof *shared.scratches);
    if (!shared.scratches)
        return fail_memory(error);
    /* With fewer buffers than threads the run is only slower. */
    for (; shared.scratch_count < wanted; shared.scratch_count++) {
        struct scratch *scratch = &shared.scratches[shared.scratch_count];
        scratch->buffers = memory_alloc(memory, 3 * (size_t)model->work);
        if (!scratch->buffers || evaluator_open(&scratch->evaluator, model, memory, NULL))
            break;
    }
    if (shared.scratch_count) {
        pthread_mutex_init(&shared.lock, NULL);
        thread_pool_start(workers, work_chains, &shared);
        thread_pool_wait(workers, watch_poll, watch);
        pthread_mutex_destroy(&shared.lock);
    }
    for (unsigned i = 0; i < wanted; i++) {
        struct scratch *scratch = &shared.scratches[i];
        evaluator_close(scratch->evaluator);
        memory_free(memory, scratch->buffers);
    }
    memory_free(memory, shared.scratches);
    return shared.scratch_count ? GORDIAN_OK : fail_memory(error);
}

gordian_status anneal_check_options(const gordian_makespan_options *options, gordian_error *error)
{
    if (options->chains == 0)
        return fail(error, GORDIAN_STATUS_INPUT, "there must be at least one chain");
    if (options->evaluations == 0 || options->evaluations >= UINT64_C(1) << 40)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "evaluations of a chain must be from 1 to 2^40 - 1");
    if (!(options->temperature >= 0 && options->temperature <= 100))
        return fail(error, GORDIAN_STATUS_INPUT, "the temperature must be from 0 to 100");
    if (!gordian_makespan_start_text(options->start))
        return fail(error, GORDIAN_STATUS_INPUT, "unknown start");
    return GORDIAN_OK;
}

static gordian_status run_anneal(const struct makespan_model *model,
                                 const gordian_makespan_options *options,
                                 struct makespan_result *result, gordian_error *error)
{
    struct job job;
    gordian_status status = thread_job_open(&job, model, options, result, error);
    THEN(status, anneal_chains(model, options, job.workers, &job.watch, job.order, error));
    THEN(status, makespan_result_take(result, model, options, job.order, error));
    return thread_job_close(&job, &makespan_anneal, status);
}

const struct makespan_engine makespan_anneal = {
    .about.name = "anneal",
    .about.summary = "simulated annealing on CPU threads: a schedule, and a bound in closed form",
    .about.supports = makespan_is_plain,
    .run = run_anneal,
};
