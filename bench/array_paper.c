/* The paper's two methods, where they work: the first with at most a thousand elements, the second
 * with one block and up to a million. */
#include "array.h"

#include "base/error.h"
#include "kernels/array_bench_paper.h"

#include <inttypes.h>
#include <stdio.h>

#define EMULATED_HEAP (4 << 20)

struct paper {
    struct array_world *world;
    const char *kernel;
    struct array_paper_arguments arguments;
    uint64_t lost; /* elements that there was no memory for, at worst */
};

static gordian_status run_paper(void *context, double *ns, gordian_error *error)
{
    struct paper *paper = context;
    const struct array_world *world = paper->world;
    struct gpu *gpu = world->array->gpu;
    struct array_paper vector = {0};
    struct array_bench_answer answer = {0};
    struct gpu_launch launch = {.kernel = paper->kernel,
                                .blocks = 1,
                                .threads = ARRAY_PAPER_THREADS,
                                .arguments = &paper->arguments,
                                .arguments_size = sizeof paper->arguments};
    gordian_status status = gpu_write(gpu, paper->arguments.vector, &vector, sizeof vector, error);
    if (status == GORDIAN_OK)
        status = gpu_zero(gpu, world->answer, sizeof answer, error);
    if (status == GORDIAN_OK)
        status = array_time(world->array, &launch, ns, error);
    launch.kernel = "array_paper_end";
    if (status == GORDIAN_OK)
        status = gpu_launch(gpu, &launch, error);
    if (status == GORDIAN_OK)
        status = gpu_read(gpu, &answer, world->answer, sizeof answer, error);
    if (status == GORDIAN_OK)
        status = gpu_read(gpu, &vector, paper->arguments.vector, sizeof vector, error);
    if (status == GORDIAN_OK && vector.lost &&
        vector.lost + answer.count == world->expected.count) {
        paper->lost = vector.lost > paper->lost ? vector.lost : paper->lost;
        return GORDIAN_OK;
    }
    return status == GORDIAN_OK ? array_check_answer(world, paper->kernel, &answer, error) : status;
}

static gordian_status method_row(const struct array_bench *array, struct paper *paper,
                                 const char *name, const char *note)
{
    struct array_side chunked = {.world = paper->world, .way = ARRAY_WAY_CHUNKED};
    struct bench_side sides[] = {{paper, run_paper, 0, 0}, {&chunked, array_filter_run, 0, 0}};
    struct bench_effort effort = array_effort(array, 0.5);
    gordian_status status = bench_measure(array->bench, sides, 2, &effort);
    if (status != GORDIAN_OK)
        return status;
    struct bench_row row =
        bench_row("us", "array/filter-%" PRIu64 "/%s", paper->world->count, name);
    if (paper->lost) {
        char why[80];
        snprintf(why, sizeof why, "it ran out of memory for %" PRIu64 " of %" PRIu64 " elements",
                 paper->lost, paper->world->expected.count);
        return bench_skip(array->bench, row.id, why);
    }
    array_fill(array, &row, &sides[0], 0);
    array_compare(&row, "chunked", &sides[1]);
    row.plot = "Keep the numbers below 90 (us)";
    row.x = (double)paper->world->count;
    snprintf(row.series, sizeof row.series, "%s", name);
    snprintf(row.note, sizeof row.note, "%s", note);
    return bench_add(array->bench, &row);
}

gordian_status array_paper_rows(const struct array_bench *array, struct array_world *world)
{
    gordian_error *error = array->bench->error;
    struct paper paper = {.world = world};
    gpu_address heap = 0, vector = 0;
    if (world->count > 1000000)
        return GORDIAN_OK;
    gordian_status status = gpu_alloc(array->gpu, &vector, sizeof(struct array_paper), error);
    if (status == GORDIAN_OK && array->info.emulated)
        status = gpu_alloc(array->gpu, &heap, EMULATED_HEAP, error);
    paper.arguments = (struct array_paper_arguments){.from = world->numbers,
                                                     .count = world->count,
                                                     .vector = vector,
                                                     .heap = heap,
                                                     .heap_bytes = EMULATED_HEAP,
                                                     .answer = world->answer,
                                                     .below = ARRAY_BELOW};
    paper.kernel = "array_paper_all";
    if (status == GORDIAN_OK && world->count <= 1000)
        status = method_row(array, &paper, "paper-1", "every thread allocates; one block");
    paper.kernel = "array_paper_wait";
    paper.lost = 0;
    if (status == GORDIAN_OK)
        status = method_row(array, &paper, "paper-2", "one allocates, the others wait; one block");
    gpu_free(array->gpu, heap);
    gpu_free(array->gpu, vector);
    return status;
}
