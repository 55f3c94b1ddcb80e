/* MPI programs that ended only because sends were buffered: replays the logs of their ranks
 * (foundation/records/mpi_rank.h) with sends that complete only when they are received. If the
 * replay gets stuck, the program may hang with larger messages or another MPI. */
#pragma once

#include "cli/base/cli.h"

/* Reports the programs of a session that would have deadlocked without buffering. */
void replay_unbuffered(struct cli *cli, const char *folder);
