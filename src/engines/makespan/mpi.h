/*
 * Makespans over MPI: the engine `mpi`, part of the program gordian-mpi only.
 *
 * Rank 0 runs the command; the others serve it. The chains of annealing
 * (foundation/gpu/kernels/makespan/makespan_chain.h) are dealt out to the ranks in turn, one thread
 * a rank; now and then all meet and tell their best and whether to go on. The answer is that of the
 * engine `anneal` with the same options, schedule included, whatever the number of ranks: a chain
 * is the same wherever it runs, and of several with the best value the one with the lowest number
 * counts.
 *
 * A rank that dies, or an error of MPI's, ends the whole run with a message.
 */
#pragma once

#include "engines/makespan/model/engine.h"

/* The ranks other than 0: works for rank 0 once (RANKS_MAKESPAN of foundation/ranks/ranks.h). */
void makespan_mpi_serve(void);
