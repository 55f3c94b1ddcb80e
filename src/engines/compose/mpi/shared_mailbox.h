/*
 * Letters between ranks of one machine, in memory that they share: what MPI's messages would copy
 * twice, and only while both sides are at it.
 *
 * Every rank has a desk: letters of its own, a mailbox, and a tray. A letter that is sent is pushed
 * onto the mailbox of the rank it is for; when it has been read it goes back into its owner's tray.
 * Only its owner takes from a mailbox or a tray, and always all of it, so both are plain lists.
 */
#pragma once

#include "engines/compose/explore/cells.h"

#include <mpi.h>

#define POST_PAIRS 510u /* of a letter: two pages with the rest */

struct post {
    gordian_allocator memory;
    MPI_Comm machine;
    MPI_Win window;
    bool open;
    int *places;         /* by rank: among those of this machine; -1: elsewhere. NULL: no post */
    struct desk **desks; /* by place */
    int place, count;
    uint64_t letters; /* of a desk */
    uint64_t spare;   /* the first of one's own that nobody has; 0: none */
};

/* All ranks together. Where there is no shared memory to be had, or GORDIAN_MPI_MESSAGES is set, it
 * reaches nobody. */
void post_open(struct post *post, int ranks, const gordian_allocator *memory);
void post_close(struct post *post); /* all together, and all letters have been read */

static inline bool post_reaches(const struct post *post, uint32_t rank)
{
    return post->places && post->places[rank] >= 0;
}

/* A letter of one's own to write into, as an empty box; false: all are on their way. */
bool post_begin(struct post *post, struct cells_box *box);
/* The box, which is one of post_begin's, goes to the rank. */
void post_send(struct post *post, uint32_t rank, const struct cells_box *box);
/* Enters what has come, or drops it; how many letters. */
uint64_t post_read(struct post *post, struct cells *cells, bool drop);
