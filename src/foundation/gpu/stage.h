/* Fast copies of large arrays to and from a device: several threads copy pieces through pinned
 * memory, so that copying overlaps with the transfer. */
#pragma once

#include "foundation/gpu/gpu.h"

struct gpu_stage {
    unsigned threads; /* at most */
    size_t piece;     /* bytes */
};

/* Returns the threads and the piece size for a copy of that many bytes on this machine. With one
 * thread gpu_write and gpu_read are used. */
struct gpu_stage gpu_stage_for(size_t bytes);

/* As gpu_write and gpu_read, which they call if there is no pinned memory. */
gordian_status gpu_write_staged(struct gpu *gpu, gpu_address to, const void *from, size_t bytes,
                                struct gpu_stage stage, gordian_error *error);
gordian_status gpu_read_staged(struct gpu *gpu, void *to, gpu_address from, size_t bytes,
                               struct gpu_stage stage, gordian_error *error);
