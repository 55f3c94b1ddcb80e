/*
 * Judging snapshots over MPI: the engine `mpi`, part of the program gordian-mpi only.
 *
 * Every rank reads its pieces, or its part of one packed file; no rank ever has it all. In steps,
 * between which all exchange what they owe each other (exchange.h):
 *
 *   1. Names go to a rank that their hash tells, and get the ids that one reader would give them:
 *      by where they come first in all pieces (number.c).
 *   2. Holds and waits go to those who own the process and the resource, a block of ids each, who
 *      look whether they make sense (spread.c).
 *   3. Whoever can finish does, and gives back: what that means to others' processes and resources
 *      is told them in rounds, until nobody has anything to tell. Where every process leads to one
 *      other and the way is long, those left follow it in jumps that double (reduce.c).
 *   4. The dead, with what they hold and wait for, go to rank 0, which finds the parts and asks for
 *      the names it needs (gather.c). They must fit there; nobody else must.
 *
 * What is wrong with the input is told as one reader would: the first place in the text wins. A
 * rank that dies, or an error of MPI's, ends the whole run with a message.
 */
#pragma once

#include "engines/detect/check/engine.h"

/* The ranks other than 0: works for rank 0 once (RANKS_CHECK of foundation/ranks/ranks.h). */
void check_mpi_serve(void);
