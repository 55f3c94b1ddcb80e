/*
 * The cuda engine: the banker's algorithm on a GPU, on full matrices that stay there.
 *
 * A loan whose borrower could finish with what is then free is safe, and needs no device to say so.
 * Everything else is one launch (cuda/banker.h): the paper's rounds while many finish at
 * once, a search by one block while few do. Many requests are judged in one launch.
 *
 * A device may fail while it works. The ledger is always on the host, so nothing is lost: the CPU's
 * search, the one behind `holt`, goes on with the same ledger and the same answers, the question
 * at hand included. It has its room from the start, so that falling back cannot fail.
 */
#pragma once

#include "engines/avoid/cuda/banker.h"
#include "engines/avoid/engine/engine.h"

extern const struct avoid_engine avoid_cuda;

/* What a bank's engine works on, for tests and measurements; NULL: the device has failed. */
struct banker *cuda_engine_banker(void *engine);
