/* Measures avoidance: the request that takes as many rounds as there are processes. */
#include "engines/avoid/cuda/cuda.h"
#include "foundation/base/error.h"
#include "lab/bench/avoid/avoid.h"
#include "lab/papers/measures.h"
#include "lab/published/avoid/measure_pba.h"

#include <string.h>

/* ------------------------------------------------------------------ an engine of ours */

gordian_status measure_worst(struct papers_run *run, const struct papers_measure *measure,
                             const struct papers_point *point, struct results_value *value)
{
    struct avoid_state state;
    struct avoid_side asked;
    struct bench_side side = {.context = &asked, .run = avoid_ask};
    gordian_error *error = run->bench.error;
    TRY(avoid_state_build(&state, AVOID_ALL, (uint32_t)point->x, (uint32_t)point->y,
                          run->bench.options->seed, error));
    gordian_status status = avoid_side_open(
        &asked, &state, strcmp(measure->with, "holt") == 0 ? &avoid_holt : &avoid_cuda, error);
    if (status == GORDIAN_OK) {
        status = papers_time(run, &side, value);
        avoid_side_close(&asked);
    }
    avoid_state_free(&state);
    return status;
}

/* ------------------------------------------------------------------ as published */

static gordian_status run_pba(void *context, double *ns, gordian_error *error)
{
    struct measure_time time = {0};
    gordian_status status = measure_pba_run(context, &time, error);
    *ns = time.wall;
    return status;
}

gordian_status measure_banker(struct papers_run *run, const struct papers_measure *measure,
                              const struct papers_point *point, struct results_value *value)
{
    struct measure_pba *pba = NULL;
    const bool on_device = papers_side_is_gpu(measure->side);
    gordian_status status = on_device ? papers_run_gpu(run) : GORDIAN_OK;
    THEN(status, measure_pba_open(&pba, on_device ? run->gpu : NULL, (uint32_t)point->x,
                                  (uint32_t)point->y, &run->bench.memory, run->bench.error));
    TRY(status);
    struct bench_side side = {.context = pba, .run = run_pba};
    status = papers_time(run, &side, value);
    measure_pba_close(pba);
    return status;
}
