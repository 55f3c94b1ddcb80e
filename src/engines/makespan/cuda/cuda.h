/*
 * The cuda engine: makespans on a GPU, or on the emulator (GORDIAN_EMULATE_GPU=1).
 *
 * Thousands of chains of annealing (cuda/chains.h) give the schedule, sweeps over abstract systems
 * (cuda/sweep.h) the other end of the interval: a coarse one first, so that the chains know when
 * they are done, then finer ones until the interval closes or the device's memory ends.
 *
 * With the chains and evaluations left at their defaults, the engine takes its own: many chains of
 * fewer evaluations. Asked for others, it runs just those; the same chains as everywhere.
 *
 * A device may fail while it works: the exact engine then does it all, and the note tells.
 */
#pragma once

#include "engines/makespan/model/engine.h"
#include "foundation/gpu/gpu.h"

#define MAKESPAN_CUDA_CHAINS      8192u
#define MAKESPAN_CUDA_EVALUATIONS 20000u

/* The engine's run on a device of the caller's, without falling back. */
gordian_status makespan_cuda_on(struct gpu *gpu, const struct makespan_model *model,
                                const gordian_makespan_options *options,
                                struct makespan_result *result, gordian_error *error);
