/* Large arrays to a device and back, as fast as its link: pieces go through pinned memory, copied
 * by several threads while others' pieces are under way. */
#pragma once

#include "foundation/gpu/gpu.h"

struct gpu_stage {
    unsigned threads; /* at most */
    size_t piece;     /* bytes */
};

/* What suits a copy of so many bytes on this machine; one thread: gpu_write and gpu_read do. */
struct gpu_stage gpu_stage_for(size_t bytes);

/* As gpu_write and gpu_read. Without pinned memory they are just these. */
gordian_status gpu_write_staged(struct gpu *gpu, gpu_address to, const void *from, size_t bytes,
                                struct gpu_stage stage, gordian_error *error);
gordian_status gpu_read_staged(struct gpu *gpu, void *to, gpu_address from, size_t bytes,
                               struct gpu_stage stage, gordian_error *error);
