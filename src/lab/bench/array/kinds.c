/* The other layouts of a growable array besides our pages: LFVector's doubling buckets, and
 * sub-arrays, one per block. */
#include "lab/bench/array/array.h"

#include "foundation/base/error.h"
#include "lab/bench/kernels/array_read.h"
#include "lab/published/array/kinds.h"

#include <inttypes.h>

static const struct {
    const char *name, *note;
} ways[] = {
    [ARRAY_KINDS_LFVECTOR] = {"lfvector", "doubling buckets as published, one atomic per element"},
    [ARRAY_KINDS_LFVECTOR_TILES] = {"lfvector-tiles", "doubling buckets, one atomic per tile"},
    [ARRAY_KINDS_SUBARRAYS] = {"subarrays",
                               "one per block, atomics only to allocate; with its index"},
};

struct filtering {
    const struct array_world *world;
    struct published_array *array;
    enum array_kinds_method way;
};

static gordian_status run_filtering(void *context, double *ns, gordian_error *error)
{
    struct filtering *filtering = context;
    return array_kinds_filter(&filtering->world->task, filtering->array, filtering->way, 0,
                              filtering->world->plain, ns, error);
}

/* ------------------------------------------------------------------ filtering */

static gordian_status filter_row(struct array_world *world, struct filtering *filtering)
{
    const struct array_bench *array = world->array;
    struct array_side chunked = {.world = world, .way = ARRAY_METHOD_CHUNKED};
    struct bench_side sides[] = {{filtering, run_filtering}, {&chunked, array_filter_run}};
    TRY(bench_measure(array->bench, sides, 2, array_effort(array, 0.5)));
    struct bench_row row = bench_row("us", "array/filter-%" PRIu64 "/%s", world->task.count,
                                     ways[filtering->way].name);
    array_fill(array, &row, &sides[0], 0);
    bench_against(&row, "chunked", &sides[1]);
    bench_curve(&row, "Keep the numbers below 90 (us)", (double)world->task.count, "%s",
                ways[filtering->way].name);
    bench_note(&row, "%s", ways[filtering->way].note);
    return bench_add(array->bench, &row);
}

gordian_status array_kinds_rows(struct array_world *world)
{
    gordian_status status = GORDIAN_OK;
    for (unsigned way = 0; way < sizeof ways / sizeof *ways && status == GORDIAN_OK; way++) {
        struct filtering filtering = {.world = world, .way = way};
        status = array_kinds_open(&filtering.array, &world->task, way, world->array->bench->error);
        THEN(status, filter_row(world, &filtering));
        published_array_destroy(filtering.array);
    }
    return status;
}

/* ------------------------------------------------------------------ reading */

static gordian_status read_kind_rows(struct array_world *world, const struct filtering *filtering)
{
    bool subarrays = filtering->way == ARRAY_KINDS_SUBARRAYS;
    struct array_read_kinds_arguments arguments = {
        .buckets = published_array_lfvector(filtering->array),
        .blocks = published_array_subarrays(filtering->array),
        .count = world->task.expected.count,
        .sum = world->task.answer};
    struct array_reading reading = {.world = world,
                                    .kernel =
                                        subarrays ? "array_read_subarrays" : "array_read_lfvector",
                                    .arguments = &arguments,
                                    .arguments_size = sizeof arguments};
    gordian_status status = array_read_row(&reading, ways[filtering->way].name, false, 0);
    reading.kernel = subarrays ? "array_read_subarrays_random" : "array_read_lfvector_random";
    return status != GORDIAN_OK ? status
                                : array_read_row(&reading, ways[filtering->way].name, true, 0);
}

/* Fills the array once; the check leaves the same elements in the same order in plain memory. */
gordian_status array_kinds_read_rows(struct array_world *world)
{
    static const enum array_kinds_method read[] = {ARRAY_KINDS_LFVECTOR, ARRAY_KINDS_SUBARRAYS};
    gordian_error *error = world->array->bench->error;
    gordian_status status = GORDIAN_OK;
    for (unsigned i = 0; i < 2 && status == GORDIAN_OK; i++) {
        struct filtering filtering = {.world = world, .way = read[i]};
        double ns;
        status = array_kinds_open(&filtering.array, &world->task, read[i], error);
        THEN(status, run_filtering(&filtering, &ns, error));
        THEN(status, read_kind_rows(world, &filtering));
        published_array_destroy(filtering.array);
    }
    return status;
}
