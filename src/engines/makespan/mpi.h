/*
 * Makespans over MPI: the engine `mpi`, only in the program gordian-mpi.
 *
 * Rank 0 runs the command, and the other ranks serve it. The simulated annealing chains
 * (foundation/gpu/kernels/makespan/makespan_chain.h) are distributed round-robin over the ranks,
 * one thread each. From time to time all ranks synchronize: they exchange their best values and
 * decide whether to continue. The result, including the schedule, is the same as that of the engine
 * `anneal` with the same options, for any number of ranks: a chain does not depend on where it
 * runs, and of several chains with the best value the one with the lowest number counts.
 *
 * If a rank dies or MPI reports an error, the whole run ends with a message.
 */
#pragma once

#include "engines/makespan/model/engine.h"

/* Runs on the ranks other than 0: works for rank 0 once (RANKS_MAKESPAN of
 * foundation/ranks/ranks.h). */
void makespan_mpi_serve(void);
