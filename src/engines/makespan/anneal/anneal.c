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
struct desk {
    struct evaluator *evaluator;
    uint8_t *buffers; /* best order, candidate, order */
};

struct hall {
    const struct makespan_model *model;
    const gordian_makespan_options *options;
    struct watch *watch;
    struct desk *desks;
    unsigned desk_count;
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
static void tell_hall(struct hall *hall, const struct anneal_chain *chain, uint64_t begin)
{
    gordian_makespan_goal goal = hall->options->goal;
    pthread_mutex_lock(&hall->lock);
    watch_improved(hall->watch, chain->number, begin, chain->step, chain->best);
    if (hall->best_chain == UINT64_MAX || makespan_better(goal, chain->best, hall->best) ||
        (chain->best == hall->best && chain->number < hall->best_chain)) {
        hall->best = chain->best;
        hall->best_chain = chain->number;
        memcpy(hall->best_order, chain->best_order, hall->model->work);
    }
    pthread_mutex_unlock(&hall->lock);
    watch_found(hall->watch, goal, chain->best);
    uint32_t bound = watch_limit(hall->watch, goal);
    uint64_t enough = atomic_load(&hall->enough);
    while (chain->best == bound && chain->number < enough &&
           !atomic_compare_exchange_weak(&hall->enough, &enough, chain->number))
        continue;
}

static void work_chains(void *context, unsigned member)
{
    struct hall *hall = context;
    if (member >= hall->desk_count)
        return;
    struct desk *desk = &hall->desks[member];
    size_t size = hall->model->work;
    struct anneal_chain chain = {.model = hall->model,
                                 .options = hall->options,
                                 .evaluator = desk->evaluator,
                                 .best_order = desk->buffers,
                                 .candidate = desk->buffers + size,
                                 .order = desk->buffers + 2 * size};
    for (;;) {
        chain.number = atomic_fetch_add(&hall->next, 1);
        if (chain.number >= hall->options->chains || watch_stopped(hall->watch) ||
            chain.number > atomic_load(&hall->enough))
            break;
        uint32_t slice = SLICE / hall->model->work + 1;
        uint64_t begin = clock_ns();
        anneal_chain_begin(&chain);
        atomic_fetch_add(&hall->watch->evaluations, 1);
        tell_hall(hall, &chain, begin);
        while (!anneal_chain_over(&chain) && !watch_stopped(hall->watch) &&
               chain.number < atomic_load_explicit(&hall->enough, memory_order_relaxed)) {
            uint64_t before = chain.step;
            bool better = anneal_chain_run(&chain, slice);
            atomic_fetch_add_explicit(&hall->watch->evaluations, chain.step - before,
                                      memory_order_relaxed);
            if (better)
                tell_hall(hall, &chain, begin);
        }
    }
}

gordian_status anneal_chains(const struct makespan_model *model,
                             const gordian_makespan_options *options, struct thread_pool *workers,
                             struct watch *watch, uint8_t *order, gordian_error *error)
{
    const gordian_allocator *memory = watch->meter ? &watch->meter->memory : &model->memory;
    struct hall hall = {.model = model,
                        .options = options,
                        .watch = watch,
                        .best_chain = UINT64_MAX,
                        .best_order = order};
    atomic_init(&hall.next, 0);
    atomic_init(&hall.enough, UINT64_MAX);
    unsigned wanted =
        thread_pool_size(workers) < options->chains ? thread_pool_size(workers) : options->chains;
    hall.desks = memory_zeroed(memory, wanted * sizeof *hall.desks);
    if (!hall.desks)
        return fail_memory(error);
    /* With fewer buffers than threads the run is only slower. */
    for (; hall.desk_count < wanted; hall.desk_count++) {
        struct desk *desk = &hall.desks[hall.desk_count];
        desk->buffers = memory_alloc(memory, 3 * (size_t)model->work);
        if (!desk->buffers || evaluator_open(&desk->evaluator, model, memory, NULL))
            break;
    }
    if (hall.desk_count) {
        pthread_mutex_init(&hall.lock, NULL);
        thread_pool_start(workers, work_chains, &hall);
        thread_pool_wait(workers, watch_look, watch);
        pthread_mutex_destroy(&hall.lock);
    }
    for (unsigned i = 0; i < wanted; i++) {
        struct desk *desk = &hall.desks[i];
        evaluator_close(desk->evaluator);
        memory_free(memory, desk->buffers);
    }
    memory_free(memory, hall.desks);
    return hall.desk_count ? GORDIAN_OK : fail_memory(error);
}

gordian_status anneal_check_options(const gordian_makespan_options *options, gordian_error *error)
{
    if (options->chains == 0)
        return fail(error, GORDIAN_STATUS_INPUT, "there must be at least one chain");
    if (options->evaluations == 0 || options->evaluations >= UINT64_C(1) << 40)
        return fail(error, GORDIAN_STATUS_INPUT, "evaluations of a chain: 1 to 2^40 - 1");
    if (!(options->temperature >= 0 && options->temperature <= 100))
        return fail(error, GORDIAN_STATUS_INPUT, "the temperature is from 0 to 100");
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
    .about =
        {
            .name = "anneal",
            .summary = "simulated annealing on CPU threads: a schedule, and a bound in closed form",
            .supports = makespan_is_plain,
        },
    .run = run_anneal,
};
