/* The cuda engine as an entry of the table of engines (cuda.h). */
#include "engines/makespan/cuda/cuda.h"

#include "engines/makespan/anneal/anneal.h"
#include "engines/makespan/cuda/chains.h"
#include "engines/makespan/cuda/sweep.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"
#include "foundation/gpu/work.h"

#include <stdio.h>
#include <string.h>

/* Systems of up to this many states are swept before the chains start: that takes some seconds.
 * Before larger sweeps the chains run again, for longer. */
#define SWEEP_FIRST (UINT64_C(1) << 32)
#define LONGER      8u

static bool cuda_supports(const void *model, const char **why)
{
    return makespan_is_plain(model, why) && gpu_chains_possible(model, why);
}

/* The state of a run. */
struct makespan_job {
    struct gpu *gpu;
    const struct makespan_model *model;
    const gordian_makespan_options *options;
    struct watch watch;
    struct makespan_result *result;
    uint8_t *order;  /* model->work entries */
    uint64_t states; /* of the completed sweeps */
    bool too_large;  /* a closer bound needs more memory than there is */
    bool own;        /* the engine chose the chains and evaluations */
};

/* Takes job->order as the result if it is better, and reports it. */
static gordian_status take_device_order(struct makespan_job *job, gordian_error *error)
{
    TRY(makespan_result_take(job->result, job->model, job->options, job->order, error));
    uint32_t makespan = job->result->cycles[job->model->work - 1] + 1;
    watch_found(&job->watch, job->options->goal, makespan);
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ bounding */

static bool sweep_goes_on(void *context, uint64_t done, uint64_t states)
{
    struct makespan_job *job = context;
    (void)states;
    atomic_store(&job->watch.states, job->states + done);
    watch_poll(&job->watch);
    return !watch_stopped(&job->watch);
}

static void remember_memory(struct makespan_job *job, uint64_t bytes)
{
    if (job->result->most_memory < bytes)
        job->result->most_memory = bytes;
}

/* Notes that the next sweep needs too much memory: the interval stays as it is. */
static gordian_status too_large(struct makespan_job *job, uint64_t states)
{
    snprintf(job->result->note, sizeof job->result->note,
             "a closer bound would need memory for %.2g states on the device", (double)states);
    job->too_large = true;
    return GORDIAN_OK;
}

/* Returns whether the memory of a sweep is on the device and within the limit. */
static bool sweep_fits(const struct makespan_job *job, uint64_t states)
{
    struct gpu_info info;
    uint64_t most = job->options->max_memory;
    gpu_get_info(job->gpu, &info);
    return states <= info.memory_free && (most == 0 || states <= most);
}

/* Computes a bound by a sweep at this level of detail, if that is possible. */
static gordian_status sweep_on_device(struct makespan_job *job, enum sweep_detail detail,
                                      gordian_error *error)
{
    bool least = job->options->goal == GORDIAN_MAKESPAN_GOAL_BEST;
    struct sweep_options options = {.least = least,
                                    .wide = atomic_load(&job->watch.lower) > UINT8_MAX,
                                    .max_memory = job->options->max_memory,
                                    .order = job->order,
                                    .go_on = sweep_goes_on,
                                    .context = job};
    struct sweep_tables *tables;
    struct sweep_outcome outcome = {0};
    job->watch.phase = "bounding";
    gordian_status status =
        sweep_tables_open(&tables, job->model, detail, &job->model->memory, error);
    if (status == GORDIAN_STATUS_UNAVAILABLE)
        return GORDIAN_OK;
    if (status != GORDIAN_OK)
        return status;
    status = sweep_run(job->gpu, tables, &options, &outcome, error);
    remember_memory(job, outcome.memory);
    sweep_tables_close(tables);
    if (status == GORDIAN_STATUS_MEMORY)
        return too_large(job, outcome.states);
    if (status != GORDIAN_OK || outcome.stopped)
        return status == GORDIAN_STATUS_UNAVAILABLE ? GORDIAN_OK : status;
    job->states += outcome.states;
    atomic_store(&job->watch.states, job->states);
    watch_bound(&job->watch, job->options->goal, outcome.value);
    return outcome.found ? take_device_order(job, error) : GORDIAN_OK;
}

/* ------------------------------------------------------------------ annealing */

static gordian_status anneal_on_device(struct makespan_job *job, gordian_error *error)
{
    struct gpu_chains *chains;
    job->watch.phase = "annealing";
    gordian_status status =
        gpu_chains_open(&chains, job->gpu, job->model, job->options, 0, NULL, error);
    if (status == GORDIAN_OK) {
        remember_memory(job, gpu_chains_memory(chains));
        status = gpu_chains_run(chains, &job->watch, job->order, error);
    }
    gpu_chains_close(chains);
    return status == GORDIAN_OK ? take_device_order(job, error) : status;
}

/* Runs once, if the options do not set the number of evaluations. */
static gordian_status anneal_longer(struct makespan_job *job, gordian_error *error)
{
    const gordian_makespan_options *usual = job->options;
    gordian_makespan_options longer = *usual;
    if (!job->own)
        return GORDIAN_OK;
    job->own = false;
    longer.evaluations *= LONGER;
    job->options = &longer;
    gordian_status status = anneal_on_device(job, error);
    job->options = usual;
    return status;
}

/* ------------------------------------------------------------------ the whole run */

/* Repeats the sweep with more and more detail, from one level on. */
static gordian_status close_in(struct makespan_job *job, unsigned detail, gordian_error *error)
{
    gordian_status status = GORDIAN_OK;
    for (; detail < SWEEP_DETAILS && status == GORDIAN_OK && !job->too_large; detail++) {
        uint64_t states;
        const char *why;
        if (watch_closed(&job->watch) || watch_stopped(&job->watch))
            break;
        if (!sweep_possible(job->model, detail, &states, &why))
            continue;
        if (states > SWEEP_FIRST)
            status = anneal_longer(job, error);
        if (status != GORDIAN_OK || watch_closed(&job->watch) || watch_stopped(&job->watch))
            break;
        status =
            sweep_fits(job, states) ? sweep_on_device(job, detail, error) : too_large(job, states);
    }
    return status;
}

static gordian_status run_phases(struct makespan_job *job, gordian_error *error)
{
    const char *why;
    uint64_t states = 0;
    unsigned detail = SWEEP_WORK;
    /* The initial schedule: a run that is stopped early has at least this one. */
    order_fill(job->model, ORDER_ROUND_ROBIN, NULL, job->order);
    gordian_status status = take_device_order(job, error);
    if (status == GORDIAN_OK && sweep_possible(job->model, SWEEP_WORK, &states, &why) &&
        states <= SWEEP_FIRST && sweep_fits(job, states)) {
        status = sweep_on_device(job, SWEEP_WORK, error);
        detail++;
    }
    if (status == GORDIAN_OK && !watch_closed(&job->watch))
        status = anneal_on_device(job, error);
    THEN(status, close_in(job, detail, error));
    return status;
}

gordian_status makespan_cuda_on(struct gpu *gpu, const struct makespan_model *model,
                                const gordian_makespan_options *options,
                                struct makespan_result *result, gordian_error *error)
{
    struct gpu_info info;
    *result = (struct makespan_result){.memory = model->memory};
    TRY(anneal_check_options(options, error));
    gpu_get_info(gpu, &info);
    struct makespan_job job = {.gpu = gpu, .model = model, .result = result};
    /* Replaces the defaults by the engine's own numbers. */
    gordian_makespan_options own = *options, defaults;
    gordian_makespan_options_init(&defaults);
    job.own = own.chains == defaults.chains && own.evaluations == defaults.evaluations;
    if (job.own) {
        own.chains = info.emulated ? 64 : MAKESPAN_CUDA_CHAINS;
        own.evaluations = info.emulated ? 500 : MAKESPAN_CUDA_EVALUATIONS;
    }
    job.options = &own;
    watch_open(&job.watch, model, &own, NULL);
    job.order = memory_alloc(&model->memory, model->work);
    gordian_status status = job.order ? run_phases(&job, error) : fail_memory(error);
    memory_free(&model->memory, job.order);
    if (status != GORDIAN_OK) {
        makespan_result_free(result);
        return status;
    }
    uint64_t memory = result->most_memory;
    if (job.too_large)
        watch_stop(&job.watch, GORDIAN_MAKESPAN_STOP_MEMORY);
    watch_report(&job.watch, result);
    result->most_memory = memory;
    result->engine = makespan_cuda.about.name;
    if (result->exact)
        result->note[0] = 0;
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ the engine */

struct question {
    const struct makespan_model *model;
    const gordian_makespan_options *options;
    struct makespan_result *result;
};

static gordian_status makespan_on_device(void *context, struct gpu *gpu, gordian_error *error)
{
    struct question *asked = context;
    return makespan_cuda_on(gpu, asked->model, asked->options, asked->result, error);
}

static gordian_status makespan_on_cpu(void *context, gordian_error *error)
{
    struct question *asked = context;
    return makespan_exact.run(asked->model, asked->options, asked->result, error);
}

static gordian_status cuda_makespan_run(const struct makespan_model *model,
                                        const gordian_makespan_options *options,
                                        struct makespan_result *result, gordian_error *error)
{
    struct question asked = {model, options, result};
    struct gpu_work work = {.context = &asked,
                            .on_device = makespan_on_device,
                            .on_cpu = makespan_on_cpu,
                            .note = result->note,
                            .note_size = sizeof result->note};
    *result = (struct makespan_result){.memory = model->memory};
    return gpu_work(&work, &model->memory, error);
}

const struct makespan_engine makespan_cuda = {
    .about.name = "cuda",
    .about.summary = "thousands of chains and exact bounds layer by layer, on an NVIDIA GPU",
    .about.available = gpu_available,
    .about.supports = cuda_supports,
    .run = cuda_makespan_run,
};
