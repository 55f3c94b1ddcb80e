/* What the engines on CPU threads begin and end with: the same for all of them. */
#pragma once

#include "engines/makespan/anneal/run_state.h"
#include "foundation/base/threads/thread_pool.h"

struct job {
    const struct makespan_model *model;
    const gordian_makespan_options *options;
    struct makespan_result *result;
    struct meter meter; /* all memory of the run comes from there */
    struct watch watch;
    struct thread_pool *workers;
    uint8_t *order; /* model->work entries, to work in */
};

/* A run of `engine`: looks at the options, makes the job, calls `solve`, which leaves a schedule in
 * the result, reports what the watch has seen, and frees it all. On failure the result is empty. */
gordian_status makespan_on_threads(const struct makespan_engine *engine,
                                   const struct makespan_model *model,
                                   const gordian_makespan_options *options,
                                   gordian_status (*solve)(struct job *job, gordian_error *error),
                                   struct makespan_result *result, gordian_error *error);
