/*
 * LMDDA on a GPU: the multi-unit method of the cuda engine.
 *
 * The host notes what changes and sends it along with the next question. Where an edge has gone, RP
 * is made anew on the device before that: all of it by node hopping (cuda/hop.h), or, where
 * nothing else can depend on it, one row. Several releases in a row so cost one recomputation.
 *
 * Only a block is waited for, and only for the look at one row that answers it: joining the
 * rows goes on while the host does.
 */
#pragma once

#include "engines/detect/cuda/cuda.h"
#include "engines/detect/cuda/hop.h"

/* For tests and benches: how RP is made anew from now on. GORDIAN_STATUS_IO: the device has failed.
 */
gordian_status cuda_lmdda_tune(void *state, const struct hop_options *options,
                               gordian_error *error);

/* For tests and benches: makes all of RP anew and waits; the time it took on the device. */
gordian_status cuda_lmdda_recompute(void *state, double *microseconds, gordian_error *error);

/* For tests: for every resource the one running process it leads to (engine/engine.h, what_if_all).
 */
gordian_status cuda_lmdda_ends(void *state, uint32_t *ends, gordian_error *error);
