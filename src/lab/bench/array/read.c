/* Reads every element of a growable array, in order and at random, compared with plain memory of
 * the same content. */
#include "lab/bench/array/array.h"

#include "foundation/base/error.h"
#include "lab/bench/kernels/array_read.h"

#include <inttypes.h>
#include <stdio.h>

static gordian_status array_read_run(void *context, double *ns, gordian_error *error)
{
    struct array_reading *reading = context;
    const struct array_world *world = reading->world;
    struct gpu_launch launch = {.kernel = reading->kernel,
                                .threads = ARRAY_TASK_THREADS,
                                .arguments = reading->arguments,
                                .arguments_size = reading->arguments_size};
    TRY(array_task_blocks(world->task.gpu, reading->kernel, launch.threads,
                          world->task.expected.count / ARRAY_TASK_THREADS, &launch.blocks, error));
    TRY(gpu_zero(world->task.gpu, world->task.answer, sizeof(uint64_t), error));
    TRY(array_task_time(world->task.gpu, &launch, 1, ns, error));
    return gpu_read(world->task.gpu, &reading->sum, world->task.answer, sizeof(uint64_t), error);
}

gordian_status array_read_row(struct array_reading *ours, const char *mode, bool at_random,
                              double bar)
{
    const struct array_world *world = ours->world;
    const struct array_bench *array = world->array;
    struct array_read_arguments arguments = {
        .plain = world->plain, .count = world->task.expected.count, .sum = world->task.answer};
    struct array_reading plain = {.world = world,
                                  .kernel = at_random ? "array_read_random" : "array_read",
                                  .arguments = &arguments,
                                  .arguments_size = sizeof arguments};
    struct bench_side sides[] = {{&plain, array_read_run}, {ours, array_read_run}};
    gordian_status status = bench_measure(array->bench, sides, 2, array_effort(array, 0.5));
    if (status == GORDIAN_OK &&
        (plain.sum != ours->sum || (!at_random && plain.sum != world->task.expected.sum)))
        status = fail(array->bench->error, GORDIAN_STATUS_INPUT,
                      "array: reading %s gives %" PRIu64 ", plain memory %" PRIu64, mode, ours->sum,
                      plain.sum);
    TRY(status);
    struct bench_row row = bench_row("us", "array/read%s-%" PRIu64 "/%s",
                                     at_random ? "-random" : "", world->task.count, mode);
    array_fill(array, &row, &sides[1],
               at_random ? 0 : world->task.expected.count * sizeof(uint32_t));
    array_cost(array, &row, "plain", &sides[0], bar);
    bench_curve(&row, at_random ? "Read at random (us)" : "Read in order (us)",
                (double)world->task.count, "%s", mode);
    return bench_add(array->bench, &row);
}

/* Adds a row for one order of reading one array. */
static gordian_status add_reading_row(struct array_world *world, struct gpu_array *from,
                                      const char *mode, bool at_random)
{
    struct array_read_arguments arguments = {.from = gpu_array_view(from),
                                             .count = world->task.expected.count,
                                             .sum = world->task.answer};
    struct array_reading ours = {.world = world,
                                 .kernel = at_random ? "array_read_random" : "array_read",
                                 .arguments = &arguments,
                                 .arguments_size = sizeof arguments};
    return array_read_row(&ours, mode, at_random, 1.2);
}

static gordian_status mode_rows(struct array_world *world, struct gpu_array *from,
                                enum array_method way, const char *mode)
{
    /* Fill the array once, and plain memory with the same elements in the same order. */
    struct array_side side = {.world = world, .way = way};
    double ns;
    TRY(array_filter_run(&side, &ns, world->array->bench->error));
    TRY(gpu_array_flatten(from, world->plain, 0, world->task.expected.count,
                          world->array->bench->error));
    TRY(add_reading_row(world, from, mode, false));
    return add_reading_row(world, from, mode, true);
}

gordian_status array_read_rows(const struct array_bench *array)
{
    static const struct {
        uint64_t count;
        bool tiny, quick;
    } sizes[] = {{10000, true, false},
                 {1000000, false, false},
                 {10000000, false, false},
                 {100000000, false, true}};
    gordian_status status = GORDIAN_OK;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && status == GORDIAN_OK; i++) {
        struct array_world world;
        if (!array_takes(array, sizes[i].tiny, sizes[i].quick))
            continue;
        bench_progress(array->bench, "reading %" PRIu64 " elements", sizes[i].count);
        status = array_world_open(&world, array, sizes[i].count, sizeof(uint32_t));
        THEN(status, array_world_chunked(&world, array_chunk_bytes(array, 4), ARRAY_AHEAD));
        THEN(status, array_world_flat(&world, false));
        THEN(status, mode_rows(&world, world.chunked, ARRAY_METHOD_CHUNKED, "chunked"));
        THEN(status, mode_rows(&world, world.flat, ARRAY_METHOD_FLAT, "flat"));
        THEN(status, array_kinds_read_rows(&world));
        array_world_close(&world);
    }
    return status;
}
