/* Start and end of an engine run on CPU threads. */
#include "engines/makespan/anneal/job.h"

#include "engines/makespan/anneal/anneal.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"

gordian_status thread_job_open(struct job *job, const struct makespan_model *model,
                               const gordian_makespan_options *options,
                               struct makespan_result *result, gordian_error *error)
{
    *job = (struct job){.model = model, .options = options, .result = result};
    *result = (struct makespan_result){.memory = model->memory};
    meter_open(&job->meter, &model->memory, options->max_memory);
    watch_open(&job->watch, model, options, &job->meter);
    TRY(anneal_check_options(options, error));
    TRY(thread_pool_open(&job->workers, options->threads, &job->meter.memory, error));
    job->order = memory_alloc(&job->meter.memory, model->work);
    return job->order ? GORDIAN_OK : fail_memory(error);
}

gordian_status thread_job_close(struct job *job, const struct makespan_engine *engine,
                                gordian_status status)
{
    if (status == GORDIAN_OK)
        watch_report(&job->watch, job->result);
    memory_free(&job->meter.memory, job->order);
    thread_pool_close(job->workers);
    meter_close(&job->meter);
    job->result->engine = engine->about.name;
    if (status != GORDIAN_OK)
        makespan_result_free(job->result);
    return status;
}
