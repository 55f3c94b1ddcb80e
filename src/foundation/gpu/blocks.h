/*
 * Sparse bit matrices on a device, of which only blocks that are not empty are stored: the host's
 * part, with the memory pool of pages and the top levels of matrices.
 * kernels/resident/blocks_layout.h has the layout, kernels/resident/blocks.h what kernels do.
 *
 * Kernels take pages and release them while they run. The host maps the memory: a kernel that finds
 * no free page does what it can and reports that. The host then calls blocks_map_more while no
 * kernel runs, and repeats the launch. The memory of released pages stays in the pool for later
 * pages until the pool is closed.
 */
#pragma once

#include "foundation/gpu/gpu.h"
#include "foundation/gpu/kernels/resident/blocks_layout.h"

struct blocks {
    struct gpu *gpu;
    struct block_store store; /* for the arguments of kernels */
    struct gpu_range *pages, *lists[2];
    uint32_t *alarm; /* of the store, as the host sees it */
    uint64_t limit;  /* pages with memory */
};

/* Opens a pool with memory for few pages. On failure there is nothing to close. */
gordian_status blocks_open(struct blocks *blocks, struct gpu *gpu, gordian_error *error);
/* A pool that was never opened (all zero) is fine. */
void blocks_close(struct blocks *blocks);

/* Returns the device memory that opening takes, without the tops. */
uint64_t blocks_bytes(const struct gpu_info *info);
/* Returns the device memory for the tops of a matrix. */
uint64_t blocks_top_bytes(const struct gpu_info *info, uint32_t rows, uint32_t columns);
uint64_t blocks_matrix_bytes(const struct block_matrix *matrix);
/* Opens an empty matrix. Its tops are freed with gpu_free. */
gordian_status blocks_matrix(struct blocks *blocks, struct block_matrix *matrix, uint32_t rows,
                             uint32_t columns, gordian_error *error);

/* If a kernel has run out of pages since the last call, maps more and sets *again. No kernel may
 * run. GORDIAN_STATUS_MEMORY, with the size: there is no more memory. */
gordian_status blocks_map_more(struct blocks *blocks, bool *again, gordian_error *error);

/* Reports the device memory that the pool has, without the tops, and how much of it is in use.
 * Kernels must be idle. */
gordian_status blocks_count(struct blocks *blocks, uint64_t *bytes, uint64_t *used,
                            gordian_error *error);
