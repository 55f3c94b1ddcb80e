/*
 * The cuda engine: the banker's algorithm on a GPU, with full matrices in device memory.
 *
 * A loan is safe if its borrower could then finish with the free units; this needs no device. Every
 * other question is one launch (cuda/banker.h): the paper's rounds while many processes finish at a
 * time, a search by one block while few do. Many requests are judged in one launch.
 *
 * A device may fail while it works. The ledger is always on the host, so nothing is lost: the
 * safety algorithm of the CPU, which `holt` also uses, goes on with the same ledger and the same
 * answers, the present question included. Its memory is reserved from the start, so falling back
 * cannot fail.
 */
#pragma once

#include "engines/avoid/cuda/banker.h"
#include "engines/avoid/engine/engine.h"

extern const struct avoid_engine avoid_cuda;

/* Returns the banker of an engine, for tests and measurements. NULL: the device has failed. */
struct banker *cuda_engine_banker(void *engine);
