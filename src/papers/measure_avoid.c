/* Avoidance: the request that takes as many rounds as there are processes. */
#include "../bench/avoid.h"
#include "avoid/cuda/cuda.h"
#include "papers/measures.h"

#include <string.h>

static const struct avoid_engine *engine_named(const char *name)
{
    static const struct avoid_engine *const engines[] = {&avoid_dense, &avoid_holt, &avoid_cuda};
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++)
        if (strcmp(engines[i]->about.name, name) == 0)
            return engines[i];
    return NULL;
}

static gordian_status time_worst(struct papers_run *run, const struct papers_measure *measure,
                                 const struct papers_point *point, struct results_value *value)
{
    struct avoid_state state;
    struct avoid_side asked;
    struct bench_side side = {.context = &asked, .run = avoid_ask};
    gordian_error *error = run->bench.error;
    gordian_status status = avoid_state_build(&state, AVOID_ALL, (uint32_t)point->x,
                                              (uint32_t)point->y, run->bench.options->seed, error);
    if (status != GORDIAN_OK)
        return status;
    status = avoid_side_open(&asked, &state, engine_named(measure->with), error);
    if (status == GORDIAN_OK) {
        status = papers_time(run, &side, value);
        avoid_side_close(&asked);
    }
    avoid_state_free(&state);
    return status;
}

gordian_status measure_worst(struct papers_run *run, const struct papers_measure *measure,
                             const struct papers_point *points, size_t count,
                             struct results_value *values)
{
    return papers_each(run, measure, points, count, values, time_worst);
}
