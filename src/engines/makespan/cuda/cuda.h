/*
 * The cuda engine: makespans on a GPU, or on the emulator (GORDIAN_EMULATE_GPU=1).
 *
 * Thousands of simulated annealing chains (cuda/chains.h) provide the schedule, and sweeps over
 * abstract systems (cuda/sweep.h) the other end of the interval. A coarse sweep comes first, so
 * that the chains know when they can stop. Finer ones follow until the interval closes or the
 * device memory is too small.
 *
 * If the chains and evaluations have their default values, the engine replaces them by many chains
 * of fewer evaluations. Otherwise it runs the chains in the options, which are the same in every
 * engine.
 *
 * If the device fails during the run, the exact engine does all the work, and the note says so.
 */
#pragma once

#include "engines/makespan/model/engine.h"
#include "foundation/gpu/gpu.h"

#define MAKESPAN_CUDA_CHAINS      8192u
#define MAKESPAN_CUDA_EVALUATIONS 20000u

/* Runs the engine on the caller's device, without falling back. */
gordian_status makespan_cuda_on(struct gpu *gpu, const struct makespan_model *model,
                                const gordian_makespan_options *options,
                                struct makespan_result *result, gordian_error *error);
