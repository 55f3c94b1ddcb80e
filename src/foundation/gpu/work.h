/* Work for the GPU that the CPU can do as well, should the device fail. */
#pragma once

#include "foundation/gpu/gpu.h"

struct gpu_work {
    void *context;
    /* On failure everything is as it was before, so that the other one can start anew. */
    gordian_status (*on_device)(void *context, struct gpu *gpu, gordian_error *error);
    gordian_status (*on_cpu)(void *context, gordian_error *error);
    const bool *too_late; /* true: it cannot start anew any more; NULL: it always can */
    char *note;           /* gets why the CPU did it */
    size_t note_size;
};

/* Opens the device (gpu_open_default) and works on it; on the CPU if it fails or has too little
 * memory. */
gordian_status gpu_work(const struct gpu_work *work, const gordian_allocator *memory,
                        gordian_error *error);
