/* The records of all ranks that are looked at, as of one moment each
 * (foundation/records/mpi_rank.h). */
#pragma once

#include "foundation/records/mpi_rank.h"
#include "sources/inspect/snapshot/builder.h"

#include <stddef.h>

#define NEED_MOST 512 /* ranks that one call may wait for: beyond, nothing is claimed */

struct rank {
    uint32_t process; /* SNAPSHOT_NONE: it has ended, and left its record */
    struct mpi_record *record;
};

struct ranks {
    struct rank *list;
    size_t count, room;
};

/* False: out of memory. */
bool ranks_open(struct ranks *ranks, struct process_snapshot *snapshot);
void ranks_close(struct ranks *ranks, struct process_snapshot *snapshot);

/* A rank of a program; NULL: it is not here, or there are two of that name. */
const struct rank *ranks_find(const struct ranks *ranks, uint64_t world, uint32_t rank);
/* Does its record tell everything? */
bool rank_is_clear(const struct rank *rank);
/* The slot of a thread; NULL: it has never called. */
const struct mpi_slot *rank_slot(const struct rank *rank, uint32_t tid);
/* Its communicator with this id, or NULL. */
const struct mpi_group *rank_group(const struct rank *rank, uint64_t id);
/* How many messages it has received on a channel. */
uint64_t rank_received(const struct rank *rank, uint64_t group, int32_t from, int32_t tag);

/* The slot of a thread as it is now, without the rest; false: there is none. */
bool rank_read_slot(struct target *target, uint32_t tid, struct mpi_slot *slot);
