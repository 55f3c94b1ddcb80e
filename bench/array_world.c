/* What is filtered, the arrays it goes into, and whether the answer is right. */
#include "array.h"

#include "base/error.h"
#include "kernels/array_filter.h"

#include <inttypes.h>

#define HOST_MOST 10000000 /* words that the host looks at too */

static gordian_status launch(const struct array_world *world, const char *kernel,
                             const void *arguments, size_t size, gordian_error *error)
{
    uint64_t blocks = (world->count + ARRAY_BENCH_THREADS - 1) / ARRAY_BENCH_THREADS;
    uint64_t most = (uint64_t)world->array->info.multiprocessors * 8;
    return gpu_launch(world->array->gpu,
                      &(struct gpu_launch){.kernel = kernel,
                                           .blocks = (unsigned)(blocks < most ? blocks : most),
                                           .threads = ARRAY_BENCH_THREADS,
                                           .arguments = arguments,
                                           .arguments_size = size},
                      error);
}

/* ------------------------------------------------------------------ answers */

static gordian_status add_up(const struct array_world *world, struct gpu_array *array,
                             gpu_address plain, uint64_t count, uint32_t below,
                             struct array_bench_answer *answer, gordian_error *error)
{
    struct gpu *gpu = world->array->gpu;
    struct array_answer_arguments arguments = {.plain = plain,
                                               .count = count,
                                               .answer = world->answer,
                                               .words = world->element / 4,
                                               .below = below};
    if (array)
        arguments.from = gpu_array_view(array);
    gordian_status status = gpu_zero(gpu, world->answer, sizeof *answer, error);
    if (status == GORDIAN_OK)
        status = launch(world, "array_answer", &arguments, sizeof arguments, error);
    return status == GORDIAN_OK ? gpu_read(gpu, answer, world->answer, sizeof *answer, error)
                                : status;
}

gordian_status array_check_answer(const struct array_world *world, const char *who,
                                  const struct array_bench_answer *answer, gordian_error *error)
{
    const struct array_bench_answer *expected = &world->expected;
    if (answer->count == expected->count && answer->sum == expected->sum &&
        answer->hash == expected->hash)
        return GORDIAN_OK;
    return fail(error, GORDIAN_STATUS_INPUT,
                "array: of %" PRIu64 " elements %s keeps %" PRIu64 ", sum %" PRIu64
                ", hash %" PRIx64 "; it should be %" PRIu64 ", sum %" PRIu64 ", hash %" PRIx64,
                world->count, who, answer->count, answer->sum, answer->hash, expected->count,
                expected->sum, expected->hash);
}

gordian_status array_check(const struct array_world *world, const char *who,
                           struct gpu_array *array, uint64_t size, gordian_error *error)
{
    struct array_bench_answer answer = {.count = size};
    gordian_status status = GORDIAN_OK;
    if (size <= world->expected.count) /* more than there is memory for cannot be looked at */
        status = add_up(world, array, array ? 0 : world->plain, size, ARRAY_BELOW, &answer, error);
    return status == GORDIAN_OK ? array_check_answer(world, who, &answer, error) : status;
}

/* The same worked out here, from the numbers themselves. */
static struct array_bench_answer answer_here(const struct array_world *world)
{
    struct array_bench_answer answer = {0};
    for (uint64_t i = 0; i < world->count; i++) {
        uint32_t number = array_bench_word(world->array->bench->options->seed, i, 0);
        uint64_t hash = 0;
        if (number >= ARRAY_BELOW)
            continue;
        for (uint32_t w = 0; w < world->element / 4; w++)
            hash =
                array_bench_hash(hash, array_bench_word(world->array->bench->options->seed, i, w));
        answer.count++;
        answer.sum += number;
        answer.hash += hash;
    }
    return answer;
}

uint64_t array_world_bytes(const struct array_world *world)
{
    return (world->count + world->expected.count) * world->element;
}

/* ------------------------------------------------------------------ opening */

static gordian_status make_numbers(struct array_world *world, gordian_error *error)
{
    struct gpu *gpu = world->array->gpu;
    struct array_numbers_arguments arguments = {
        .count = world->count,
        .seed = world->array->bench->options->seed,
        .words = world->element / 4,
    };
    gordian_status status =
        gpu_alloc(gpu, &world->numbers, world->count * world->element + 16, error);
    if (status == GORDIAN_OK)
        status = gpu_alloc(gpu, &world->answer, sizeof world->expected, error);
    arguments.to = world->numbers;
    if (status == GORDIAN_OK)
        status = launch(world, "array_numbers", &arguments, sizeof arguments, error);
    if (status == GORDIAN_OK)
        status =
            add_up(world, NULL, world->numbers, world->count, ARRAY_BELOW, &world->expected, error);
    if (status == GORDIAN_OK && world->count * (world->element / 4) <= HOST_MOST) {
        struct array_bench_answer here = answer_here(world);
        status = array_check_answer(world, "the host", &here, error);
    }
    return status;
}

gordian_status array_world_open(struct array_world *world, const struct array_bench *array,
                                uint64_t count, uint32_t element)
{
    gordian_error *error = array->bench->error;
    *world = (struct array_world){.array = array, .count = count, .element = element};
    world->marks_bytes = (count / ARRAY_FILTER_TILE + 1) * sizeof(uint32_t);
    gordian_status status = make_numbers(world, error);
    if (status == GORDIAN_OK)
        status = gpu_alloc(array->gpu, &world->plain, world->expected.count * element + 16, error);
    if (status == GORDIAN_OK)
        status = gpu_alloc(array->gpu, &world->stored, sizeof(uint64_t), error);
    if (status == GORDIAN_OK)
        status = gpu_alloc(array->gpu, &world->marks, world->marks_bytes, error);
    return status;
}

void array_world_close(struct array_world *world)
{
    struct gpu *gpu = world->array->gpu;
    gpu_array_destroy(world->chunked);
    gpu_array_destroy(world->flat);
    gpu_pool_destroy(world->pool);
    gpu_free(gpu, world->numbers);
    gpu_free(gpu, world->plain);
    gpu_free(gpu, world->stored);
    gpu_free(gpu, world->marks);
    gpu_free(gpu, world->answer);
    *world = (struct array_world){.array = world->array};
}

/* ------------------------------------------------------------------ arrays */

uint64_t array_chunk_bytes(const struct array_bench *array, uint32_t element)
{
    return array->info.emulated ? UINT64_C(1024) * element : UINT64_C(16) << 20;
}

gordian_status array_world_chunked(struct array_world *world, uint64_t chunk_bytes, uint32_t ahead)
{
    struct gpu *gpu = world->array->gpu;
    gordian_error *error = world->array->bench->error;
    uint64_t bytes = world->expected.count * world->element;
    struct gpu_pool_options options = {.chunk_bytes = chunk_bytes,
                                       .chunks = bytes / chunk_bytes + 1 + ahead};
    gpu_array_destroy(world->chunked);
    gpu_pool_destroy(world->pool);
    world->chunked = NULL;
    options.most = options.chunks;
    gordian_status status = gpu_pool_create(&world->pool, gpu, &options, error);
    if (status != GORDIAN_OK)
        return status;
    return gpu_array_create(&world->chunked, gpu,
                            &(struct gpu_array_options){.mode = GPU_ARRAY_CHUNKED,
                                                        .element = world->element,
                                                        .ahead = ahead,
                                                        .pool = world->pool},
                            error);
}

gordian_status array_world_flat(struct array_world *world, bool grows)
{
    struct gpu_array_options options = {.mode = GPU_ARRAY_FLAT,
                                        .element = world->element,
                                        .most = world->expected.count,
                                        .capacity = grows ? 0 : world->expected.count};
    if (world->array->info.emulated)
        options.page = 1024;
    gpu_array_destroy(world->flat);
    world->flat = NULL;
    return gpu_array_create(&world->flat, world->array->gpu, &options, world->array->bench->error);
}
