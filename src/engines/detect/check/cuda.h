/*
 * Judging snapshots on a GPU: the same reports as engine.h, from kernels.
 *
 * Single-unit snapshots (check/cuda_single.c) are judged on the device whole. For the others
 * (check/cuda_general.c) the device finds who is dead; the parts, which concern the dead alone,
 * are found here from a snapshot of those.
 */
#pragma once

#include "engines/detect/check/engine.h"
#include "foundation/gpu/gpu.h"

/* Where the time went, in microseconds. */
struct check_cuda_times {
    double upload, kernels, download, host;
};

/* For tests: device memory that judging this snapshot takes, in bytes. */
uint64_t check_cuda_memory(const gordian_snapshot *snapshot, gordian_model model);

/* Fills an empty result, but for report.model and .engine. GORDIAN_STATUS_MEMORY before anything is
 * allocated there if the device has too little memory free. On failure the result is empty. `times`
 * may be NULL. */
gordian_status check_cuda_on(struct gpu *gpu, const gordian_snapshot *snapshot, gordian_model model,
                             struct check_result *result, struct check_cuda_times *times,
                             gordian_error *error);

/* The same on the first device there is, on this thread; GORDIAN_STATUS_UNAVAILABLE if there is
 * none. */
gordian_status check_cuda(const gordian_snapshot *snapshot, gordian_model model, unsigned threads,
                          struct check_result *result, gordian_error *error);

/* Is there a device, and is the snapshot large enough for it to pay? */
bool check_cuda_pays(const gordian_snapshot *snapshot);
