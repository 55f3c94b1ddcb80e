/* The paper's experiment: keep the elements below 90 of a random array in [0, 99], with every
 * method. Each run is checked by the sum and the hash of the elements it kept. */
#include "lab/bench/array/array.h"

#include "foundation/base/error.h"
#include "lab/bench/kernels/array_records.h"
#include "lab/published/kernels/array_filter.h"

#include <inttypes.h>
#include <stdio.h>

/* ------------------------------------------------------------------ filtering once */

static const char *const method_names[] = {"chunked",      "chunked-marks", "flat",
                                           "flat-watched", "plain",         "atomic"};

/* Arguments of any of the kernels. */
union arguments {
    struct array_filter_arguments filter;
    struct array_records_arguments records;
    struct array_atomic_arguments atomic;
};

/* Returns the array that a method fills; NULL: plain memory. */
static struct gpu_array *array_of(const struct array_side *side)
{
    if (side->way == ARRAY_METHOD_CHUNKED || side->way == ARRAY_METHOD_MARKS)
        return side->world->chunked;
    return side->way == ARRAY_METHOD_FLAT || side->way == ARRAY_METHOD_WATCHED ? side->world->flat
                                                                               : NULL;
}

static gordian_status fill_launch(const struct array_side *side, union arguments *arguments,
                                  struct gpu_launch *launch)
{
    const struct array_world *world = side->world;
    struct gpu_array *array = array_of(side);
    struct garray out = array ? gpu_array_view(array) : (struct garray){0};
    const bool resumes = side->way == ARRAY_METHOD_MARKS || side->way == ARRAY_METHOD_WATCHED;
    *launch = (struct gpu_launch){.threads = ARRAY_FILTER_THREADS, .arguments = arguments};
    uint64_t tile = ARRAY_FILTER_TILE;
    if (side->way == ARRAY_METHOD_ATOMIC) {
        tile = ARRAY_TASK_THREADS;
        launch->threads = ARRAY_TASK_THREADS;
        launch->kernel = "array_atomic";
        launch->arguments_size = sizeof arguments->atomic;
        arguments->atomic = (struct array_atomic_arguments){
            world->task.numbers, world->plain, world->stored, world->task.count, ARRAY_BELOW};
    } else if (world->task.element == sizeof(uint32_t)) {
        launch->kernel = array ? "array_filter" : "array_filter_plain";
        launch->arguments_size = sizeof arguments->filter;
        arguments->filter = (struct array_filter_arguments){
            world->task.numbers,        world->task.count, ARRAY_BELOW,  out,
            resumes ? world->marks : 0, world->plain,      world->stored};
    } else {
        tile = ARRAY_TASK_THREADS;
        launch->threads = ARRAY_TASK_THREADS;
        launch->kernel = array ? "array_records" : "array_records_plain";
        launch->arguments_size = sizeof arguments->records;
        arguments->records = (struct array_records_arguments){
            world->task.numbers, world->task.count,   out,        world->plain,
            world->stored,       world->task.element, ARRAY_BELOW};
    }
    launch->blocks = side->blocks;
    if (side->blocks)
        return GORDIAN_OK;
    return array_task_blocks(world->array->gpu, launch->kernel, launch->threads,
                             (world->task.count + tile - 1) / tile, &launch->blocks,
                             world->array->bench->error);
}

/* Returns the number of elements in the array or in plain memory. */
static gordian_status count_kept(const struct array_side *side, uint64_t *size,
                                 gordian_error *error)
{
    const struct array_world *world = side->world;
    struct gpu_array *array = array_of(side);
    struct gpu_array_count count = {0};
    gordian_status status =
        array ? gpu_array_settle(array, &count, error)
              : gpu_read(world->array->gpu, &count.size, world->stored, sizeof *size, error);
    *size = count.size;
    if (status == GORDIAN_OK && count.refused)
        return fail(error, GORDIAN_STATUS_INPUT, "array: %s refused %" PRIu64 " elements",
                    method_names[side->way], count.refused);
    return status;
}

#define WATCH_BYTES (UINT64_C(256) << 20)

/* The host's thread maps a piece before the kernel starts, and more while it runs. Elements that
 * came before their memory need further launches. */
static gordian_status filter_watched(struct array_side *side, double *ns, gordian_error *error)
{
    struct array_world *world = side->world;
    union arguments arguments;
    struct gpu_launch launch;
    uint64_t ahead = (world->array->info.emulated ? 4096 : WATCH_BYTES) / world->task.element;
    gordian_status status = gpu_array_watch(world->flat, ahead, error);
    THEN(status, fill_launch(side, &arguments, &launch));
    uint64_t start = clock_ns();
    THEN(status, gpu_array_run(&world->flat, 1, &launch, &side->launches, error));
    *ns = (double)(clock_ns() - start);
    gpu_array_unwatch(world->flat);
    return status;
}

static gordian_status filter_once(struct array_side *side, double *ns, gordian_error *error)
{
    union arguments arguments;
    struct gpu_launch launch;
    uint64_t size = 0;
    gordian_status status = fill_launch(side, &arguments, &launch);
    if (status != GORDIAN_OK || !side->host)
        return status == GORDIAN_OK
                   ? array_task_time(side->world->array->gpu, &launch, 1, ns, error)
                   : status;
    uint64_t start = clock_ns();
    status = gpu_launch(side->world->array->gpu, &launch, error);
    THEN(status, count_kept(side, &size, error));
    *ns = (double)(clock_ns() - start);
    return status;
}

gordian_status array_filter_run(void *context, double *ns, gordian_error *error)
{
    struct array_side *side = context;
    uint64_t size = 0;
    /* Empty it, and unmap its pages if it must grow. */
    const struct array_world *world = side->world;
    struct gpu *gpu = world->array->gpu;
    struct gpu_array *array = array_of(side);
    gordian_status status = array ? gpu_array_clear(array, error)
                                  : gpu_zero(gpu, world->stored, sizeof(uint64_t), error);
    if (status == GORDIAN_OK && array && side->way != ARRAY_METHOD_FLAT)
        status = gpu_array_shrink(array, error);
    THEN(status, gpu_zero(gpu, world->marks, world->marks_bytes, error));
    TRY(status == GORDIAN_OK ? gpu_wait(gpu, error) : status);
    TRY(side->way == ARRAY_METHOD_WATCHED ? filter_watched(side, ns, error)
                                          : filter_once(side, ns, error));
    TRY(count_kept(side, &size, error));
    return array_task_check(&side->world->task, method_names[side->way], array_of(side),
                            side->world->plain, size, error);
}

/* ------------------------------------------------------------------ rows */

#define PLOT "Keep the numbers below 90 (us)"

static struct bench_row start_filter_row(const struct array_world *world, const char *name,
                                         const struct bench_side *side)
{
    struct bench_row row = bench_row("us", "array/filter-%" PRIu64 "/%s", world->task.count, name);
    array_fill(world->array, &row, side, array_world_bytes(world));
    bench_curve(&row, PLOT, (double)world->task.count, "%s", name);
    return row;
}

/* Adds a row with the ratio to preallocated memory. */
static gordian_status over_plain_row(const struct array_world *world, const char *name,
                                     const struct bench_side *side, const struct bench_side *plain,
                                     double bar)
{
    struct bench_row row =
        bench_row("us", "array/filter-%" PRIu64 "/%s-over-plain", world->task.count, name);
    array_fill(world->array, &row, side, 0);
    array_cost(world->array, &row, "plain", plain, bar);
    return bench_add(world->array->bench, &row);
}

/* Measures, in turn, the four methods that are timed on the device. */
static gordian_status filter_on_device(struct array_world *world, bool judged)
{
    const struct array_bench *array = world->array;
    static const enum array_method ways[] = {ARRAY_METHOD_PLAIN, ARRAY_METHOD_ATOMIC,
                                             ARRAY_METHOD_CHUNKED, ARRAY_METHOD_FLAT};
    struct array_side contexts[4];
    struct bench_side sides[4];
    for (unsigned i = 0; i < 4; i++) {
        contexts[i] = (struct array_side){.world = world, .way = ways[i]};
        sides[i] = (struct bench_side){&contexts[i], array_filter_run};
    }
    TRY(bench_measure(array->bench, sides, 4, array_effort(array, 1)));
    for (unsigned i = 0; i < 4; i++) {
        struct bench_row row = start_filter_row(world, method_names[ways[i]], &sides[i]);
        if (ways[i] != ARRAY_METHOD_ATOMIC)
            bench_against(&row, "atomic", &sides[1]);
        if (ways[i] == ARRAY_METHOD_CHUNKED && judged && array->bars)
            bench_bar(&row, BAR_VALUE_AT_MOST, 400);
        TRY(bench_add(array->bench, &row));
    }
    for (unsigned i = 2; i < 4; i++)
        TRY(over_plain_row(world, method_names[ways[i]], &sides[i], &sides[0], judged ? 1.15 : 0));
    return GORDIAN_OK;
}

static gordian_status one_row(struct array_side *context, const char *name, const char *note)
{
    const struct array_bench *array = context->world->array;
    struct bench_side side = {context, array_filter_run};
    TRY(bench_measure(array->bench, &side, 1, array_effort(array, 0.5)));
    struct bench_row row = start_filter_row(context->world, name, &side);
    bench_note(&row, "%s", note);
    if (context->way == ARRAY_METHOD_WATCHED)
        bench_note(&row, "%s; launches: %u", note, context->launches);
    return bench_add(array->bench, &row);
}

/* Measures the methods with marks, and those timed by the host. */
static gordian_status other_rows(struct array_world *world)
{
    struct array_side marks = {.world = world, .way = ARRAY_METHOD_MARKS};
    struct array_side host = {.world = world, .way = ARRAY_METHOD_CHUNKED, .host = true};
    struct array_side watched = {.world = world, .way = ARRAY_METHOD_WATCHED};
    TRY(one_row(&marks, "chunked-marks", "can continue after memory ran out"));
    TRY(one_row(&host, "chunked-host", "host time, from the launch until the count is known"));
    TRY(array_world_flat(world, true));
    return one_row(&watched, "flat-watched", "host time, 256 MiB mapped before");
}

static gordian_status size_rows(const struct array_bench *array, uint64_t count)
{
    struct array_world world;
    bench_progress(array->bench, "keeping %" PRIu64 " numbers below 90", count);
    gordian_status status = array_world_open(&world, array, count, sizeof(uint32_t));
    THEN(status, array_world_chunked(&world, array_chunk_bytes(array, 4), ARRAY_AHEAD));
    THEN(status, array_world_flat(&world, false));
    THEN(status, filter_on_device(&world, count == 100000000));
    THEN(status, array_paper_rows(array, &world));
    THEN(status, array_kinds_rows(&world));
    THEN(status, array_alternative_rows(&world));
    THEN(status, other_rows(&world));
    array_world_close(&world);
    return status;
}

gordian_status array_filter_rows(const struct array_bench *array)
{
    static const struct {
        uint64_t count;
        bool tiny, quick;
    } sizes[] = {{1000, true, false},      {10000, true, false},     {1000, false, true},
                 {10000, false, false},    {100000, false, false},   {1000000, false, true},
                 {10000000, false, false}, {100000000, false, true}, {1000000000, false, false}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (!array_takes(array, sizes[i].tiny, sizes[i].quick))
            continue;
        char id[64];
        struct gpu_info now;
        gpu_get_info(array->gpu, &now);
        snprintf(id, sizeof id, "array/filter-%" PRIu64, sizes[i].count);
        /* Memory for the numbers, three copies of what is kept, twice as much in buckets, and spare
         * chunks. */
        TRY(sizes[i].tiny || now.memory_free / 24 > sizes[i].count + (UINT64_C(64) << 20)
                ? size_rows(array, sizes[i].count)
                : bench_skip(array->bench, id, "too little device memory is free"));
    }
    return GORDIAN_OK;
}
