/* Work for the GPU that the CPU does if the device fails. */
#pragma once

#include "foundation/gpu/gpu.h"

struct gpu_work {
    void *context;
    /* On failure everything is as before, so that the other one can start from the beginning. */
    gordian_status (*on_device)(void *context, struct gpu *gpu, gordian_error *error);
    gordian_status (*on_cpu)(void *context, gordian_error *error);
    const bool *too_late; /* true: it is too late to start from the beginning; NULL: it never is */
    char *note;           /* receives the reason why the CPU did it */
    size_t note_size;
};

/* Opens the device (gpu_open_default) and works on it. Works on the CPU if the device fails or has
 * too little memory. */
gordian_status gpu_work(const struct gpu_work *work, const gordian_allocator *memory,
                        gordian_error *error);
