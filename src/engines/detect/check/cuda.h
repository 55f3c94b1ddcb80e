/*
 * Checks snapshots on a GPU: the same reports as engine.h, computed by kernels.
 *
 * Single-unit snapshots (check/cuda_single.c) are checked on the device entirely. For the others
 * (check/cuda_general.c) the device finds the dead processes; their parts are found on the host,
 * from a snapshot of the dead alone.
 */
#pragma once

#include "engines/detect/check/engine.h"
#include "foundation/gpu/gpu.h"

/* Where the time went, in microseconds. */
struct check_cuda_times {
    double upload, kernels, download, host;
};

/* For tests: returns the device memory that checking this snapshot takes, in bytes. */
uint64_t check_cuda_memory(const gordian_snapshot *snapshot, gordian_model model);

/* Fills a result that is empty except for report.model and .engine. Fails with
 * GORDIAN_STATUS_MEMORY, before it allocates anything there, if the device has too little free
 * memory. On failure the result is empty. `times` may be NULL. */
gordian_status check_cuda_on(struct gpu *gpu, const gordian_snapshot *snapshot, gordian_model model,
                             struct check_result *result, struct check_cuda_times *times,
                             gordian_error *error);

/* The same on the first device, in this thread. GORDIAN_STATUS_UNAVAILABLE: there is none. */
gordian_status check_cuda(const gordian_snapshot *snapshot, gordian_model model, unsigned threads,
                          struct check_result *result, gordian_error *error);

/* Returns whether there is a device and the snapshot is large enough for it to pay. */
bool check_cuda_pays(const gordian_snapshot *snapshot);
