/* The paper's two methods as published, one block of 1024 threads each, on its task:
 * kernels/array_paper.h. */
#pragma once

#include "lab/published/array/task.h"

struct array_paper_method {
    const struct array_task *task; /* elements of four bytes */
    bool waits;                    /* use the second method */
    gpu_address vector;
    gpu_address heap; /* in the emulator; a device has malloc */
};

/* Close it even if this fails. */
gordian_status array_paper_open(struct array_paper_method *method, const struct array_task *task,
                                bool waits, gordian_error *error);
void array_paper_close(struct array_paper_method *method);
/* Filters once and checks the result; *lost: elements that did not fit in memory. */
gordian_status array_paper_run(const struct array_paper_method *method, double *ns, uint64_t *lost,
                               gordian_error *error);
