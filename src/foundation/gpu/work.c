/* Runs work on the device, else on the CPU (work.h). */
#include "foundation/gpu/work.h"

#include <stdio.h>

gordian_status gpu_work(const struct gpu_work *work, const gordian_allocator *memory,
                        gordian_error *error)
{
    gordian_error trouble = {0};
    struct gpu *gpu = NULL;
    gordian_status status = gpu_open_default(&gpu, memory, &trouble);
    THEN(status, work->on_device(work->context, gpu, &trouble));
    gpu_close(gpu);
    if (status == GORDIAN_OK)
        return GORDIAN_OK;
    bool little = status == GORDIAN_STATUS_MEMORY;
    if ((status != GORDIAN_STATUS_IO && !little) || (work->too_late && *work->too_late)) {
        if (error)
            *error = trouble;
        return status;
    }
    status = work->on_cpu(work->context, error);
    if (status == GORDIAN_OK)
        snprintf(work->note, work->note_size, "%s, the CPU was used instead: %.120s",
                 little ? "the device has too little memory" : "the device failed",
                 trouble.message);
    return status;
}
