/*
 * Composition over MPI: the engine `mpi`, part of the program gordian-mpi only.
 *
 * Rank 0 runs the command; the others serve it (foundation/ranks/ranks.h). A run starts with rank 0
 * telling all the circuit's firings as words (explore/packed.h); nobody else reads files.
 *
 * Reachable states: every state has an owner, who alone keeps it and has it fire; what belongs to
 * others is sent to them, in batches, while work goes on. 64 neighbouring states (one word) are
 * found, kept and sent together. The owner of a state is a sum over its factors' local states
 * modulo the ranks, with a weight for each, so that for a firing it changes by a constant, whatever
 * the state: where a firing leads costs nothing to know. Weights are chosen by trying some on
 * states met on random walks: they should spread the states evenly and make few firings cross. It
 * is over when everybody is idle and, in two counts one after the other, as much was received as
 * sent.
 *
 * The full product: a block of numbers for each rank, and no communication but for the sums.
 *
 * Rows, and ways to deadlocks, are rank 0's: it gets the states of all ranks for that.
 *
 * A rank that dies, or an error of MPI's, ends the whole run with a message.
 */
#pragma once

#include "engines/compose/engine/engine.h"

/* The ranks other than 0: works for rank 0 once (RANKS_COMPOSE of foundation/ranks/ranks.h). */
void compose_mpi_serve(void);
