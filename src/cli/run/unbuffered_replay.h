/* Programs that only buffering has saved: played again from what the ranks wrote down (the log of
 * foundation/records/mpi_rank.h), with sends that end only once they are received. If that gets
 * stuck, the program may hang with larger messages, or another MPI, although it came to its end
 * here. */
#pragma once

#include "cli/base/cli.h"

/* Tells of the programs of a session that came to their end and would not have. */
void replay_unbuffered(struct cli *cli, const char *folder);
