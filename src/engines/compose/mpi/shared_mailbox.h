/*
 * Messages between the ranks of one machine in shared memory. MPI messages would copy the data
 * twice, and only while both sides are in an MPI call.
 *
 * Every rank has a segment: its messages, a mailbox, and a list of returned messages. A sender
 * pushes a message onto the mailbox of the receiver. The receiver reads it and pushes it onto the
 * returned list of the sender. Only its owner pops from a mailbox or a returned list, and always
 * takes the whole list, so both are plain lists.
 */
#pragma once

#include "engines/compose/explore/cells.h"

#include <mpi.h>

#define POST_PAIRS 510u /* of a message: two pages with the header */

struct post {
    gordian_allocator memory;
    MPI_Comm machine;
    MPI_Win window;
    bool open;
    int *places; /* by rank: index among the ranks of this machine; -1: another machine. NULL: no
                    shared memory */
    struct segment **segments; /* by place */
    int place, count;
    uint64_t messages; /* per segment */
    uint64_t spare;    /* the first free message of this rank; 0: none */
};

/* Collective call. Without shared memory, or if GORDIAN_MPI_MESSAGES is set, it reaches no rank. */
void post_open(struct post *post, int ranks, const gordian_allocator *memory);
void post_close(struct post *post); /* collective; all messages must have been read */

static inline bool post_reaches(const struct post *post, uint32_t rank)
{
    return post->places && post->places[rank] >= 0;
}

/* Returns a free message as an empty box. False: all are in transit. */
bool post_begin(struct post *post, struct cells_box *box);
/* Sends a box from post_begin to a rank. */
void post_send(struct post *post, uint32_t rank, const struct cells_box *box);
/* Enters or drops the messages received. Returns their number. */
uint64_t post_read(struct post *post, struct cells *cells, bool drop);
