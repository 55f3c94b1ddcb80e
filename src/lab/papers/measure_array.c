/* Measures the growable array: it keeps the numbers below 90 of random ones in [0, 99]. */
#include "foundation/base/error.h"
#include "lab/papers/measures.h"
#include "lab/published/array/figure.h"

struct array_cell {
    struct papers_run *run;
    struct published_array_cell cell;
};

static gordian_status run_cell(void *context, double *ns, gordian_error *error)
{
    struct array_cell *cell = context;
    gordian_status status = published_array_measure(cell->run->gpu, &cell->cell, error);
    *ns = cell->cell.ns;
    return status;
}

/* A run that ran out of memory has no value. */
gordian_status measure_array(struct papers_run *run, const struct papers_measure *measure,
                             const struct papers_point *point, struct results_value *value)
{
    struct array_cell cell = {.run = run,
                              .cell = {.method = (enum published_array_method)measure->how,
                                       .count = (uint64_t)point->x,
                                       .one_block = measure->with != NULL,
                                       .seed = run->bench.options->seed,
                                       .samples = 1}};
    struct bench_side side = {.context = &cell, .run = run_cell};
    TRY(papers_run_gpu(run));
    TRY(papers_time(run, &side, value));
    if (cell.cell.refused)
        *value = (struct results_value){0};
    return GORDIAN_OK;
}
