/* Makespans: the best of some chains after so many milliseconds. */
#include "../bench/makespan.h"
#include "papers/measures.h"

#define CASE_WARPS 16

/* What was found by then: the last time that is not later. */
static void fill_values(const struct makespan_curve *curve, const struct papers_point *points,
                        size_t count, struct results_value *values)
{
    for (size_t i = 0; i < count; i++)
        for (size_t t = 0; t < MAKESPAN_TIMES; t++)
            if (makespan_times[t] <= points[i].x) {
                values[i].value = curve->best[t];
                values[i].samples = 1;
            }
}

gordian_status measure_chains(struct papers_run *run, const struct papers_measure *measure,
                              const struct papers_point *points, size_t count,
                              struct results_value *values)
{
    struct makespan_curve curves[MAKESPAN_STARTS] = {{{0}, 0, 0}}, all = {{0}, 0, 0};
    struct makespan_model *model;
    const bool published = measure->with != NULL;
    gordian_status status = makespan_case(&model, CASE_WARPS, 0, run->bench.error);
    if (status != GORDIAN_OK)
        return status;
    status = makespan_follow(&run->bench, model, published,
                             published ? measure->how : MAKESPAN_STARTS, curves, &all);
    if (status == GORDIAN_OK)
        fill_values(published ? &curves[measure->how] : &all, points, count, values);
    model_close(model);
    return status;
}
