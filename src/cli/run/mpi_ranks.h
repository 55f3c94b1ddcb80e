/* Progress of the MPI ranks that `gordian run` started. Ranks poll while they wait, so processor
 * time shows nothing; their records do (foundation/records/mpi_rank.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct run_ranks {
    uint64_t calls; /* of all ranks, at the last poll */
    bool quiet;     /* no progress since the last poll, and a rank waits */
};

/* Polls the ranks. True: they have just stopped making progress. */
bool ranks_poll(struct run_ranks *ranks, const char *folder);
