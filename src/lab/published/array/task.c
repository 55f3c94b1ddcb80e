/* Input of the paper's task, and the check of its answer. */
#include "lab/published/array/task.h"
#include "lab/published/published.h"

#include "foundation/base/error.h"

#include <inttypes.h>

#define HOST_MOST 10000000 /* words that the host also checks */
#define PAUSE_NS  30000    /* longer than the host takes to prepare a launch */

/* ---- time */

gordian_status array_task_time(struct gpu *gpu, const struct gpu_launch *launches, unsigned count,
                               double *ns, gordian_error *error)
{
    struct gpu_info info;
    gpu_get_info(gpu, &info);
    struct array_pause_arguments pause = {info.emulated ? 0 : PAUSE_NS};
    struct gpu_launch before = published_launch("array_pause", 1, 1, &pause, sizeof pause);
    double us = 0;
    gordian_status status = gpu_wait(gpu, error);
    THEN(status, gpu_launch(gpu, &before, error));
    THEN(status, gpu_timer_start(gpu, error));
    for (unsigned i = 0; i < count && status == GORDIAN_OK; i++)
        status = gpu_launch(gpu, &launches[i], error);
    THEN(status, gpu_timer_stop(gpu, &us, error));
    *ns = us * 1e3;
    return status;
}

gordian_status array_task_blocks(struct gpu *gpu, const char *kernel, unsigned threads,
                                 uint64_t tiles, unsigned *blocks, gordian_error *error)
{
    TRY(gpu_resident_blocks(gpu, kernel, threads, 0, blocks, error));
    if (*blocks > tiles)
        *blocks = tiles ? (unsigned)tiles : 1;
    return GORDIAN_OK;
}

/* ---- answers */

static gordian_status launch_over_all(const struct array_task *task, const char *kernel,
                                      const void *arguments, size_t size, gordian_error *error)
{
    uint64_t blocks = (task->count + ARRAY_TASK_THREADS - 1) / ARRAY_TASK_THREADS;
    uint64_t most = (uint64_t)task->info.multiprocessors * 8;
    const struct gpu_launch launch = published_launch(
        kernel, (unsigned)(blocks < most ? blocks : most), ARRAY_TASK_THREADS, arguments, size);
    return gpu_launch(task->gpu, &launch, error);
}

static gordian_status add_task_up(const struct array_task *task, const struct gpu_array *array,
                                  gpu_address plain, uint64_t count,
                                  struct array_task_answer *answer, gordian_error *error)
{
    struct array_answer_arguments arguments = {.plain = plain,
                                               .count = count,
                                               .answer = task->answer,
                                               .words = task->element / 4,
                                               .below = ARRAY_BELOW};
    if (array)
        arguments.from = gpu_array_view(array);
    TRY(gpu_zero(task->gpu, task->answer, sizeof *answer, error));
    TRY(launch_over_all(task, "array_answer", &arguments, sizeof arguments, error));
    return gpu_read(task->gpu, answer, task->answer, sizeof *answer, error);
}

gordian_status array_task_check_answer(const struct array_task *task, const char *who,
                                       const struct array_task_answer *answer, gordian_error *error)
{
    const struct array_task_answer *expected = &task->expected;
    if (answer->count == expected->count && answer->sum == expected->sum &&
        answer->hash == expected->hash)
        return GORDIAN_OK;
    return fail(error, GORDIAN_STATUS_INPUT,
                "array: of %" PRIu64 " elements %s keeps %" PRIu64 ", sum %" PRIu64
                ", hash %" PRIx64 "; it should be %" PRIu64 ", sum %" PRIu64 ", hash %" PRIx64,
                task->count, who, answer->count, answer->sum, answer->hash, expected->count,
                expected->sum, expected->hash);
}

gordian_status array_task_check(const struct array_task *task, const char *who,
                                const struct gpu_array *array, gpu_address plain, uint64_t size,
                                gordian_error *error)
{
    struct array_task_answer answer = {.count = size};
    if (size <= task->expected.count) /* cannot check more elements than there is memory for */
        TRY(add_task_up(task, array, array ? 0 : plain, size, &answer, error));
    return array_task_check_answer(task, who, &answer, error);
}

/* ---- opening */

gordian_status array_task_open(struct array_task *task, struct gpu *gpu, uint64_t count,
                               uint32_t element, uint64_t seed, gordian_error *error)
{
    *task = (struct array_task){.gpu = gpu, .seed = seed, .count = count, .element = element};
    gpu_get_info(gpu, &task->info);
    struct array_numbers_arguments arguments = {.count = count, .seed = seed, .words = element / 4};
    TRY(gpu_alloc(gpu, &task->numbers, count * element + 16, error));
    TRY(gpu_alloc(gpu, &task->answer, sizeof task->expected, error));
    arguments.to = task->numbers;
    TRY(launch_over_all(task, "array_numbers", &arguments, sizeof arguments, error));
    TRY(add_task_up(task, NULL, task->numbers, count, &task->expected, error));
    if (count * (element / 4) <= HOST_MOST) {
        /* Compute the same answer here, from the numbers. */
        struct array_task_answer here = {0};
        for (uint64_t i = 0; i < task->count; i++) {
            uint32_t number = array_task_word(task->seed, i, 0);
            uint64_t hash = 0;
            if (number >= ARRAY_BELOW)
                continue;
            for (uint32_t w = 0; w < task->element / 4; w++)
                hash = array_task_hash(hash, array_task_word(task->seed, i, w));
            here.count++;
            here.sum += number;
            here.hash += hash;
        }
        TRY(array_task_check_answer(task, "the host", &here, error));
    }
    return GORDIAN_OK;
}

void array_task_close(struct array_task *task)
{
    gpu_free(task->gpu, task->numbers);
    gpu_free(task->gpu, task->answer);
    task->numbers = task->answer = 0;
}
