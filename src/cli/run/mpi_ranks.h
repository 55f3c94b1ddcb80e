/* Ranks of MPI programs that `gordian run` has started: do they come further? They poll while they
 * wait, so processors do not tell; their records do (foundation/records/mpi_rank.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct run_ranks {
    uint64_t calls; /* of all ranks together, as of the last glance */
    bool quiet;     /* it was the same the time before, and somebody waits */
};

/* True: they have just become quiet. */
bool ranks_glance(struct run_ranks *ranks, const char *folder);
