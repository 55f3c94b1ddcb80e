/* The paper's two methods, host side. */
#include "lab/published/array/paper.h"

#include "foundation/base/error.h"
#include "lab/published/kernels/array_paper.h"
#include "lab/published/published.h"

#define EMULATED_HEAP (4 << 20)

gordian_status array_paper_open(struct array_paper_method *method, const struct array_task *task,
                                bool waits, gordian_error *error)
{
    *method = (struct array_paper_method){.task = task, .waits = waits};
    gordian_status status =
        gpu_alloc(task->gpu, &method->vector, sizeof(struct array_paper), error);
    if (status == GORDIAN_OK && task->info.emulated)
        status = gpu_alloc(task->gpu, &method->heap, EMULATED_HEAP, error);
    return status;
}

void array_paper_close(struct array_paper_method *method)
{
    gpu_free(method->task->gpu, method->vector);
    gpu_free(method->task->gpu, method->heap);
    method->vector = method->heap = 0;
}

/* Sums the stored elements and frees the buckets. */
static gordian_status end_run(const struct array_paper_method *method, struct gpu_launch launch,
                              struct array_task_answer *answer, uint64_t *lost,
                              gordian_error *error)
{
    struct gpu *gpu = method->task->gpu;
    struct array_paper vector = {0};
    launch.kernel = "array_paper_end";
    TRY(gpu_launch(gpu, &launch, error));
    TRY(gpu_read(gpu, answer, method->task->answer, sizeof *answer, error));
    TRY(gpu_read(gpu, &vector, method->vector, sizeof vector, error));
    *lost = vector.lost;
    return GORDIAN_OK;
}

gordian_status array_paper_run(const struct array_paper_method *method, double *ns, uint64_t *lost,
                               gordian_error *error)
{
    const struct array_task *task = method->task;
    struct array_paper vector = {0};
    struct array_task_answer answer = {0};
    struct array_paper_arguments arguments = {.from = task->numbers,
                                              .count = task->count,
                                              .vector = method->vector,
                                              .heap = method->heap,
                                              .heap_bytes = EMULATED_HEAP,
                                              .answer = task->answer,
                                              .below = ARRAY_BELOW};
    struct gpu_launch launch =
        published_launch(method->waits ? "array_paper_wait" : "array_paper_all", 1,
                         ARRAY_PAPER_THREADS, &arguments, sizeof arguments);
    gordian_status status = gpu_write(task->gpu, method->vector, &vector, sizeof vector, error);
    THEN(status, gpu_zero(task->gpu, task->answer, sizeof answer, error));
    THEN(status, array_task_time(task->gpu, &launch, 1, ns, error));
    THEN(status, end_run(method, launch, &answer, lost, error));
    if (status != GORDIAN_OK || (*lost && *lost + answer.count == task->expected.count))
        return status;
    return array_task_check_answer(task, launch.kernel, &answer, error);
}
