/* Detection: the papers' list of events, the last block before the ring closes, releases. */
#include "../bench/detect_cuda.h"
#include "papers/measures.h"

static gordian_status time_list(struct papers_run *run, const struct papers_measure *measure,
                                const struct papers_point *point, struct results_value *value)
{
    struct cuda_list list = {measure->with, (uint32_t)point->x, measure->units};
    struct bench_side side = {.context = &list, .run = cuda_run_list};
    return papers_time(run, &side, value);
}

gordian_status measure_list(struct papers_run *run, const struct papers_measure *measure,
                            const struct papers_point *points, size_t count,
                            struct results_value *values)
{
    return papers_each(run, measure, points, count, values, time_list);
}

/* ------------------------------------------------------------------ one event */

/* The last wait of the chain begins again: until everything is settled. */
static gordian_status run_last_block(void *context, double *ns, gordian_error *error)
{
    struct long_chain *chain = context;
    double answer;
    return long_chain_block(chain, chain->length - 2, &answer, ns, error);
}

/* A chain runs off, each release serving the next: the average of them. */
static gordian_status run_releases(void *context, double *ns, gordian_error *error)
{
    double built;
    gordian_status status = long_chain_build(context, true, NULL, &built, error);
    return status == GORDIAN_OK ? long_chain_release_all(context, ns, error) : status;
}

static gordian_status time_block(struct papers_run *run, const struct papers_measure *measure,
                                 const struct papers_point *point, struct results_value *value)
{
    struct long_chain chain;
    struct bench_side side = {.context = &chain, .run = run_last_block};
    double built;
    gordian_error *error = run->bench.error;
    gordian_status status =
        long_chain_open(&chain, measure->with, (uint32_t)point->x, measure->units, error);
    if (status != GORDIAN_OK)
        return status;
    status = long_chain_build(&chain, true, NULL, &built, error);
    if (status == GORDIAN_OK)
        status = papers_time(run, &side, value);
    long_chain_close(&chain);
    return status;
}

static gordian_status time_release(struct papers_run *run, const struct papers_measure *measure,
                                   const struct papers_point *point, struct results_value *value)
{
    struct long_chain chain;
    struct bench_side side = {.context = &chain, .run = run_releases};
    gordian_status status = long_chain_open(&chain, measure->with, (uint32_t)point->x,
                                            measure->units, run->bench.error);
    if (status != GORDIAN_OK)
        return status;
    status = papers_time(run, &side, value);
    long_chain_close(&chain);
    return status;
}

gordian_status measure_block(struct papers_run *run, const struct papers_measure *measure,
                             const struct papers_point *points, size_t count,
                             struct results_value *values)
{
    return papers_each(run, measure, points, count, values, time_block);
}

gordian_status measure_release(struct papers_run *run, const struct papers_measure *measure,
                               const struct papers_point *points, size_t count,
                               struct results_value *values)
{
    return papers_each(run, measure, points, count, values, time_release);
}
