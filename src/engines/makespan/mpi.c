/* The mpi engine: distributes simulated annealing chains over the ranks (mpi.h). */
#include "engines/makespan/mpi.h"

#include "engines/makespan/anneal/anneal.h"
#include "foundation/base/clock.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"
#include "foundation/ranks/ranks.h"

#include <mpi.h>
#include <string.h>

#define ROUND_NS UINT64_C(40000000) /* approximate time between two synchronizations */
#define SLICE    64u                /* evaluations between checks of the clock */

/* Rank 0 broadcasts this first, and then the letters of the string. */
struct task {
    gordian_makespan_options options; /* its pointers are NULL */
    uint32_t warps, length, schedulers, types;
    uint32_t bound; /* a chain that reaches this value makes later chains unnecessary */
    uint32_t units[MAKESPAN_TYPES];
    char letters[MAKESPAN_TYPES + 2];
};

/* The state of one rank. */
struct share {
    const struct makespan_model *model;
    gordian_makespan_options options;
    uint32_t bound;
    int rank, ranks;
    struct evaluator *evaluator;
    uint8_t *buffers; /* of the current chain: best order, candidate, order; then the best of all
                         chains */
    struct anneal_chain chain;
    bool running;      /* a chain is in progress */
    uint64_t next;     /* next chain to start */
    uint64_t best_key; /* of the best so far; 0: none */
    uint64_t enough;   /* chains with higher numbers are not needed */
    uint64_t evaluations;
};

/* ------------------------------------------------------------------ chains */

static uint32_t key_makespan(const struct share *share, uint64_t key)
{
    uint32_t score = (uint32_t)(key >> 32);
    return share->options.goal == GORDIAN_MAKESPAN_GOAL_WORST ? score : UINT32_MAX - score;
}

static uint64_t key_chain(uint64_t key)
{
    return UINT32_MAX - (uint32_t)key;
}

static uint8_t *best_of_all(const struct share *share)
{
    return share->buffers + 3 * (size_t)share->model->work;
}

static void keep_best_chain(struct share *share)
{
    const struct anneal_chain *chain = &share->chain;
    /* The key grows with the quality of the chain's best and falls with its number. */
    bool worst = share->options.goal == GORDIAN_MAKESPAN_GOAL_WORST;
    uint64_t key = (uint64_t)(worst ? chain->best : UINT32_MAX - chain->best) << 32 |
                   (UINT32_MAX - (uint32_t)chain->number);
    if (key > share->best_key) {
        share->best_key = key;
        memcpy(best_of_all(share), chain->best_order, share->model->work);
    }
    if (chain->best == share->bound && chain->number < share->enough)
        share->enough = chain->number;
}

static bool begin_next_chain(struct share *share)
{
    size_t size = share->model->work;
    if (share->next >= share->options.chains || share->next > share->enough)
        return false;
    share->chain = (struct anneal_chain){.model = share->model,
                                         .options = &share->options,
                                         .evaluator = share->evaluator,
                                         .number = share->next,
                                         .best_order = share->buffers,
                                         .candidate = share->buffers + size,
                                         .order = share->buffers + 2 * size};
    anneal_chain_begin(&share->chain);
    share->evaluations++;
    share->next += (uint64_t)share->ranks;
    share->running = true;
    keep_best_chain(share);
    return true;
}

/* Works until the next synchronization; false: no work is left. */
static bool work_until_sync(struct share *share)
{
    uint64_t begin = clock_ns();
    struct anneal_chain *chain = &share->chain;
    do {
        if (share->running && (anneal_chain_over(chain) || chain->number >= share->enough))
            share->running = false;
        if (!share->running && !begin_next_chain(share))
            return false;
        uint64_t before = chain->step;
        if (anneal_chain_run(chain, SLICE))
            keep_best_chain(share);
        share->evaluations += chain->step - before;
    } while (clock_ns() - begin < ROUND_NS);
    return true;
}

/* ------------------------------------------------------------------ synchronization */

/* The state that all ranks share after a synchronization. */
struct sync {
    uint64_t best_key;
    uint64_t busy; /* ranks with work left */
    uint64_t stop; /* rank 0 asks to stop */
};

static void synchronize_ranks(struct share *share, struct sync *sync)
{
    struct {
        uint64_t best, busy, stop, not_enough;
    } own = {share->best_key, sync->busy, sync->stop, UINT64_MAX - share->enough}, all;
    MPI_Allreduce(&own, &all, 4, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    *sync = (struct sync){all.best, all.busy, all.stop};
    share->enough = UINT64_MAX - all.not_enough;
}

/* `reported`: the best that was reported before. The owner of the best is known, but not the number
 * of steps that it took. */
static void report_round(const struct share *share, struct watch *watch, uint64_t best,
                         uint64_t evaluations, uint64_t *reported)
{
    atomic_store(&watch->evaluations, evaluations);
    if (*reported != best)
        watch_improved(watch, key_chain(best), watch->begin, evaluations,
                       key_makespan(share, best));
    *reported = best;
    watch_found(watch, share->options.goal, key_makespan(share, best));
    watch_poll(watch);
}

/* Every rank calls this. `watch` is NULL except on rank 0. */
static void run_rounds(struct share *share, struct watch *watch, struct sync *sync)
{
    uint64_t reported = 0;
    *sync = (struct sync){.busy = 1};
    while (sync->busy && !sync->stop) {
        uint64_t sum = 0;
        sync->busy = work_until_sync(share);
        sync->stop = watch && watch_stopped(watch);
        synchronize_ranks(share, sync);
        MPI_Reduce(&share->evaluations, &sum, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
        if (watch)
            report_round(share, watch, sync->best_key, sum, &reported);
    }
}

/* Returns whether the condition holds on every rank. */
static bool true_everywhere(bool here)
{
    int own = here, all = 0;
    MPI_Allreduce(&own, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return all;
}

/* Runs this rank's share of the task to its end. On rank 0 `order` gets the best order of all
 * ranks. GORDIAN_STATUS_MEMORY: some rank ran out of memory, and no rank did any work. */
static gordian_status run_share(const struct task *task, const struct makespan_model *model,
                                struct watch *watch, uint8_t *order, gordian_error *error)
{
    struct share share = {
        .model = model, .options = task->options, .bound = task->bound, .enough = UINT64_MAX};
    const gordian_allocator *memory = model ? &model->memory : NULL;
    struct sync sync;
    MPI_Comm_rank(MPI_COMM_WORLD, &share.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &share.ranks);
    share.next = (uint64_t)share.rank;
    if (model) {
        share.buffers = memory_alloc(memory, 4 * (size_t)model->work);
        evaluator_open(&share.evaluator, model, memory, NULL);
    }
    bool ready = true_everywhere(share.buffers && share.evaluator);
    if (ready) {
        run_rounds(&share, watch, &sync);
        int owner = (int)(key_chain(sync.best_key) % (uint64_t)share.ranks);
        MPI_Bcast(best_of_all(&share), (int)model->work, MPI_BYTE, owner, MPI_COMM_WORLD);
        if (order)
            memcpy(order, best_of_all(&share), model->work);
    }
    evaluator_close(share.evaluator);
    if (model)
        memory_free(memory, share.buffers);
    return ready ? GORDIAN_OK : fail_memory(error);
}

/* ------------------------------------------------------------------ the ranks other than 0 */

void makespan_mpi_serve(void)
{
    struct task task;
    struct makespan_model *model = NULL;
    gordian_unit units[MAKESPAN_TYPES];
    gordian_allocator memory = memory_allocator(NULL);
    MPI_Bcast(&task, sizeof task, MPI_BYTE, 0, MPI_COMM_WORLD);
    char *text = memory_alloc(&memory, task.length);
    for (uint32_t u = 0; u < task.types; u++)
        units[u] = (gordian_unit){.letter = task.letters[u], .units = task.units[u]};
    if (true_everywhere(text != NULL)) {
        gordian_makespan_problem problem = {.kernel = text,
                                            .length = task.length,
                                            .warps = task.warps,
                                            .schedulers = task.schedulers,
                                            .units = units,
                                            .unit_count = task.types};
        MPI_Bcast(text, (int)task.length, MPI_BYTE, 0, MPI_COMM_WORLD);
        model_open(&model, &problem, &memory, NULL);
        run_share(&task, model, NULL, NULL, NULL); /* rank 0 reports lack of memory */
    }
    model_close(model);
    memory_free(&memory, text);
}

/* ------------------------------------------------------------------ rank 0 */

static gordian_status run_shares(const struct makespan_model *model,
                                 const gordian_makespan_options *options, struct watch *watch,
                                 uint8_t *order, gordian_error *error)
{
    bool worst = options->goal == GORDIAN_MAKESPAN_GOAL_WORST;
    struct task task = {.options = *options,
                        .warps = model->warps,
                        .length = model->length,
                        .schedulers = model->schedulers,
                        .types = model->types,
                        .bound = worst ? model_upper_bound(model) : model_lower_bound(model)};
    task.options.engine = NULL;
    task.options.go_on = NULL;
    task.options.improved = NULL;
    task.options.context = NULL;
    memcpy(task.units, model->given, sizeof task.units);
    memcpy(task.letters, model->letters, sizeof model->letters);
    ranks_call(RANKS_MAKESPAN);
    MPI_Bcast(&task, sizeof task, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (!true_everywhere(true))
        return fail_memory(error);
    MPI_Bcast(model->text, (int)model->length, MPI_BYTE, 0, MPI_COMM_WORLD);
    return run_share(&task, model, watch, order, error);
}

static gordian_status run_mpi_engine(const struct makespan_model *model,
                                     const gordian_makespan_options *options,
                                     struct makespan_result *result, gordian_error *error)
{
    *result = (struct makespan_result){.memory = model->memory};
    TRY(anneal_check_options(options, error));
    struct watch watch;
    uint8_t *order = memory_alloc(&model->memory, model->work);
    if (!order)
        return fail_memory(error);
    watch_open(&watch, model, options, NULL);
    gordian_status status = run_shares(model, options, &watch, order, error);
    THEN(status, makespan_result_take(result, model, options, order, error));
    if (status == GORDIAN_OK)
        watch_report(&watch, result);
    result->engine = makespan_mpi.about.name;
    memory_free(&model->memory, order);
    if (status != GORDIAN_OK)
        makespan_result_free(result);
    return status;
}

const struct makespan_engine makespan_mpi = {
    .about.name = "mpi",
    .about.summary = "simulated annealing over the ranks of an MPI job",
    .about.supports = makespan_is_plain,
    .run = run_mpi_engine,
};
