/* The first and the last steps that all engines on CPU threads share. */
#pragma once

#include "engines/makespan/anneal/run_state.h"
#include "foundation/base/threads/thread_pool.h"

struct job {
    const struct makespan_model *model;
    const gordian_makespan_options *options;
    struct makespan_result *result;
    struct meter meter; /* accounts for all memory of the run */
    struct watch watch;
    struct thread_pool *workers;
    uint8_t *order; /* scratch, model->work entries */
};

/* Checks the options and opens the job. thread_job_close closes it, also after a failure, and
 * copies what the watch knows to the result. The result has a schedule unless `status` says that
 * the run failed; the result of a failure is empty. Returns `status`. */
gordian_status thread_job_open(struct job *job, const struct makespan_model *model,
                               const gordian_makespan_options *options,
                               struct makespan_result *result, gordian_error *error);
gordian_status thread_job_close(struct job *job, const struct makespan_engine *engine,
                                gordian_status status);
