/* The records of all inspected ranks, each read at one moment (foundation/records/mpi_rank.h). */
#pragma once

#include "foundation/records/mpi_rank.h"
#include "sources/inspect/snapshot/builder.h"

#include <stddef.h>

#define NEED_MOST                                                                                  \
    512 /* limit of ranks that one call may wait for; beyond it, nothing is claimed                \
         */

struct rank {
    uint32_t process; /* SNAPSHOT_NONE: the rank has ended, and its record remains */
    struct mpi_record *record;
};

struct ranks {
    struct rank *list;
    size_t count, room;
};

/* False: out of memory. */
bool ranks_open(struct ranks *ranks, struct process_snapshot *snapshot);
void ranks_close(struct ranks *ranks, struct process_snapshot *snapshot);

/* Returns a rank of a program; NULL: not found, or there are two with this number. */
const struct rank *ranks_find(const struct ranks *ranks, uint64_t world, uint32_t rank);
/* Returns whether the record is complete. */
bool rank_is_clear(const struct rank *rank);
/* Returns the slot of a thread; NULL: it has never called MPI. */
const struct mpi_slot *rank_slot(const struct rank *rank, uint32_t tid);
/* Returns its communicator with this ID, or NULL. */
const struct mpi_group *rank_group(const struct rank *rank, uint64_t id);
/* Returns the number of messages received on a channel. */
uint64_t rank_received(const struct rank *rank, uint64_t group, int32_t from, int32_t tag);

/* Reads the current slot of a thread, without the rest of the record; false: none. */
bool rank_read_slot(struct target *target, uint32_t tid, struct mpi_slot *slot);
