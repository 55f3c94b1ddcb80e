/* The paper's two methods, within their limits: the first with at most a thousand elements, the
 * second with one block and up to a million. */
#include "lab/bench/array/array.h"

#include "foundation/base/error.h"
#include "lab/published/array/paper.h"

#include <inttypes.h>
#include <stdio.h>

struct paper {
    struct array_world *world;
    struct array_paper_method method;
    uint64_t lost; /* elements that did not fit, at most */
};

static gordian_status run_paper_method(void *context, double *ns, gordian_error *error)
{
    struct paper *paper = context;
    uint64_t lost = 0;
    TRY(array_paper_run(&paper->method, ns, &lost, error));
    paper->lost = lost > paper->lost ? lost : paper->lost;
    return GORDIAN_OK;
}

static gordian_status method_row(const struct array_bench *array, struct paper *paper,
                                 const char *name, const char *note)
{
    struct array_side chunked = {.world = paper->world, .way = ARRAY_METHOD_CHUNKED};
    struct bench_side sides[] = {{paper, run_paper_method}, {&chunked, array_filter_run}};
    TRY(bench_measure(array->bench, sides, 2, array_effort(array, 0.5)));
    struct bench_row row =
        bench_row("us", "array/filter-%" PRIu64 "/%s", paper->world->task.count, name);
    if (paper->lost) {
        char why[80];
        snprintf(why, sizeof why, "it ran out of memory for %" PRIu64 " of %" PRIu64 " elements",
                 paper->lost, paper->world->task.expected.count);
        return bench_skip(array->bench, row.id, why);
    }
    array_fill(array, &row, &sides[0], 0);
    bench_against(&row, "chunked", &sides[1]);
    bench_curve(&row, "Keep the numbers below 90 (us)", (double)paper->world->task.count, "%s",
                name);
    bench_note(&row, "%s", note);
    return bench_add(array->bench, &row);
}

static gordian_status paper_method_rows(const struct array_bench *array, struct array_world *world,
                                        bool waits, const char *name, const char *note)
{
    struct paper paper = {.world = world};
    gordian_status status =
        array_paper_open(&paper.method, &world->task, waits, array->bench->error);
    THEN(status, method_row(array, &paper, name, note));
    array_paper_close(&paper.method);
    return status;
}

gordian_status array_paper_rows(const struct array_bench *array, struct array_world *world)
{
    gordian_status status = GORDIAN_OK;
    if (world->task.count <= 1000)
        status =
            paper_method_rows(array, world, false, "paper-1", "each thread allocates; one block");
    if (status == GORDIAN_OK && world->task.count <= 1000000)
        status = paper_method_rows(array, world, true, "paper-2",
                                   "one allocates, the others wait; one block");
    return status;
}
