/*
 * Checking snapshots over MPI: the engine `mpi`, only in the program gordian-mpi.
 *
 * Every rank reads its pieces, or its part of one packed file; no rank ever has the whole snapshot.
 * All ranks exchange records between the steps (exchange.h):
 *
 *   1. A name goes to the rank that its hash selects. Names get the ids that one reader would give
 *      them, by the place where they come first in all pieces (number.c).
 *   2. Holds and waits go to the ranks that own the process and the resource. Each rank owns a
 * block of ids and validates their edges (spread.c).
 *   3. Processes that can finish do so and release what they hold. The ranks send each other the
 *      effects in rounds, until there are none. Where every process leads to one other and the path
 *      is long, the rest is done by pointer doubling (reduce.c).
 *   4. The dead, with what they hold and wait for, go to rank 0, which finds the parts and asks for
 *      the names it needs (gather.c). Only the dead must fit on one rank.
 *
 * Errors in the input are reported as by one reader: the first place in the text wins. If a rank
 * dies, or MPI fails, the whole run ends with a message.
 */
#pragma once

#include "engines/detect/check/engine.h"

/* For the ranks other than 0: serves rank 0 once (RANKS_CHECK in foundation/ranks/ranks.h). */
void check_mpi_serve(void);
