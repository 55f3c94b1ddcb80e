/* A run of an engine on CPU threads, from beginning to end. */
#include "engines/makespan/anneal/job.h"

#include "engines/makespan/anneal/anneal.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"

static gordian_status run_metered(struct job *job,
                                  gordian_status (*solve)(struct job *job, gordian_error *error),
                                  gordian_error *error)
{
    const gordian_allocator *memory = &job->meter.memory;
    watch_open(&job->watch, job->model, job->options, &job->meter);
    gordian_status status = thread_pool_open(&job->workers, job->options->threads, memory, error);
    if (status == GORDIAN_OK) {
        job->order = memory_alloc(memory, job->model->work);
        status = job->order ? solve(job, error) : fail_memory(error);
    }
    if (status == GORDIAN_OK)
        watch_report(&job->watch, job->result);
    memory_free(memory, job->order);
    thread_pool_close(job->workers);
    return status;
}

gordian_status makespan_on_threads(const struct makespan_engine *engine,
                                   const struct makespan_model *model,
                                   const gordian_makespan_options *options,
                                   gordian_status (*solve)(struct job *job, gordian_error *error),
                                   struct makespan_result *result, gordian_error *error)
{
    *result = (struct makespan_result){.memory = model->memory};
    TRY(anneal_check_options(options, error));
    struct job job = {.model = model, .options = options, .result = result};
    meter_open(&job.meter, &model->memory, options->max_memory);
    gordian_status status = run_metered(&job, solve, error);
    meter_close(&job.meter);
    result->engine = engine->about.name;
    if (status != GORDIAN_OK)
        makespan_result_free(result);
    return status;
}
