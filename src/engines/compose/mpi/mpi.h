/*
 * Composition over MPI: the engine `mpi`, which only the program gordian-mpi contains.
 *
 * Rank 0 runs the command, and the others serve it (foundation/ranks/ranks.h). At the start of a
 * run rank 0 broadcasts the circuit's firings as words (explore/packed.h). The others read no
 * files.
 *
 * Reachable states. Every state has an owner, the only rank that stores and fires it. Other ranks
 * send it in batches while they work. 64 neighbouring states (one word) are found, stored and sent
 * together. The owner of a state is a weighted sum of the local states of its factors modulo the
 * number of ranks. So a firing changes the owner by a constant, and the target of a firing costs
 * nothing to compute. Several weights are tried on states of random walks. They should distribute
 * the states evenly and make few firings cross ranks. The run ends when all ranks are idle and, in
 * two counts in a row, as much was received as sent.
 *
 * The full product. Each rank has a block of numbers, and only the sums are communicated.
 *
 * Rank 0 delivers the rows and finds the paths to deadlocks. It gathers the states of all ranks for
 * that.
 *
 * A rank that dies, or an MPI error, ends the whole run with a message.
 */
#pragma once

#include "engines/compose/engine/engine.h"

/* Called on all ranks other than 0: works for rank 0 once (RANKS_COMPOSE of
 * foundation/ranks/ranks.h). */
void compose_mpi_serve(void);
