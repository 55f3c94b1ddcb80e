/*
 * Bit matrices on a device of which only blocks with something in them are stored, from the host:
 * the pool of pages, and the tops of matrices (kernels/resident/blocks_layout.h tells the layout,
 * kernels/resident/blocks.h is what kernels do).
 *
 * Kernels take pages and give them back while they run. Memory is mapped by the host: when a kernel
 * has found none left it does what it can and says so; the host then calls blocks_feed while no
 * kernel runs, and has the same done again. The memory of pages given back stays the pool's, for
 * pages to come, until it is closed.
 */
#pragma once

#include "foundation/gpu/gpu.h"
#include "foundation/gpu/kernels/resident/blocks_layout.h"

struct blocks {
    struct gpu *gpu;
    struct block_store store; /* for the arguments of kernels */
    struct gpu_range *pages, *lists[2];
    uint32_t *alarm; /* of the store, as the host sees it */
    uint64_t limit;  /* pages that have memory */
};

/* A pool with memory for few pages. On failure there is nothing to close. */
gordian_status blocks_open(struct blocks *blocks, struct gpu *gpu, gordian_error *error);
/* One that was never opened (all zero) is fine. */
void blocks_close(struct blocks *blocks);

/* Device memory that opening takes, without the tops. */
uint64_t blocks_bytes(const struct gpu_info *info);
/* Device memory for the tops of a matrix. */
uint64_t blocks_top_bytes(const struct gpu_info *info, uint32_t rows, uint32_t columns);
uint64_t blocks_matrix_bytes(const struct block_matrix *matrix);
/* An empty matrix. Its tops are freed with gpu_free. */
gordian_status blocks_matrix(struct blocks *blocks, struct block_matrix *matrix, uint32_t rows,
                             uint32_t columns, gordian_error *error);

/* No kernel runs. Has one run out of pages since the last call? Then there are more now, and
 * *again is set. GORDIAN_STATUS_MEMORY, with what was asked for: there is no more memory. */
gordian_status blocks_feed(struct blocks *blocks, bool *again, gordian_error *error);

/* What it has of the device's memory, without the tops; and how much of that is in use. Kernels are
 * idle. */
gordian_status blocks_count(struct blocks *blocks, uint64_t *bytes, uint64_t *used,
                            gordian_error *error);
