/*
 * LMDDA on a GPU: the multi-unit method of the cuda engines.
 *
 * The host notes the changes and sends them with the next question. If an edge was removed, the
 * device first recomputes RP: all of it by node hopping (cuda/hop.h), or one row if nothing else
 * can depend on it. So several releases in a row cost one recomputation.
 *
 * The host waits only for the answer to a block, which takes reading one row. The device joins rows
 * while the host goes on.
 */
#pragma once

#include "engines/detect/cuda/cuda.h"
#include "engines/detect/cuda/hop.h"

/* For tests and benchmarks: sets how RP is recomputed from now on. GORDIAN_STATUS_IO: the device
 * has failed. */
gordian_status cuda_lmdda_tune(void *state, const struct hop_options *options,
                               gordian_error *error);

/* For tests and benchmarks: recomputes all of RP, waits, and returns the time it took on the
 * device. */
gordian_status cuda_lmdda_recompute(void *state, double *microseconds, gordian_error *error);

/* For tests: finds for every resource the one running process that it leads to (engine/engine.h,
 * what_if_all). */
gordian_status cuda_lmdda_ends(void *state, uint32_t *ends, gordian_error *error);
