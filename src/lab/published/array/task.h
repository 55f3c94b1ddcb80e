/*
 * The paper's task, host side: of many random numbers in [0, 99], keep those below 90. Has the
 * input, the expected result, and the check of a result (kernels/array_task.h). The device must
 * have published_kernels.
 */
#pragma once

#include "foundation/gpu/array/array.h"
#include "lab/published/kernels/array_task.h"

#define ARRAY_BELOW 90 /* numbers in [0, 99] below this are kept */

struct array_task {
    struct gpu *gpu;
    struct gpu_info info;
    uint64_t seed, count;
    uint32_t element; /* bytes; the first four are the number */
    struct array_task_answer expected;
    gpu_address numbers; /* 16-byte aligned */
    gpu_address answer;  /* struct array_task_answer */
};

/* Close it even if this fails. */
gordian_status array_task_open(struct array_task *task, struct gpu *gpu, uint64_t count,
                               uint32_t element, uint64_t seed, gordian_error *error);
void array_task_close(struct array_task *task);

/* GORDIAN_STATUS_INPUT, naming the method, unless the array (NULL: the `size` elements at `plain`)
 * is exactly what must be kept. */
gordian_status array_task_check(const struct array_task *task, const char *who,
                                const struct gpu_array *array, gpu_address plain, uint64_t size,
                                gordian_error *error);
gordian_status array_task_check_answer(const struct array_task *task, const char *who,
                                       const struct array_task_answer *answer,
                                       gordian_error *error);

/* Times launches on the device. Other work there hides the host's part. */
gordian_status array_task_time(struct gpu *gpu, const struct gpu_launch *launches, unsigned count,
                               double *ns, gordian_error *error);
/* Blocks of a kernel that are resident at once, at most the number of tiles. */
gordian_status array_task_blocks(struct gpu *gpu, const char *kernel, unsigned threads,
                                 uint64_t tiles, unsigned *blocks, gordian_error *error);
