/* The device's rows of `gordian bench makespan`: evaluations, bounds, whole answers. */
#pragma once

#include "lab/bench/harness/harness.h"

/* Uses the device of the cuda engine, which must be available (GORDIAN_EMULATE_GPU: on the
 * emulator, small and without meaning). */
gordian_status makespan_cuda_rows(struct bench *bench);
