/* The layer between a program and its MPI: every call is written down (book.h) and passed on. It is
 * compiled once for each MPI there is, with that one's headers, and loaded by the preloaded library
 * (run/mpi.c) into programs that use that one.
 *
 *     init.c         beginning and end of MPI, communicators
 *     point.c        sends, receives, probes; requests that begin them
 *     wait.c         requests that are waited and tested for
 *     collective.c   what a whole communicator does
 *     table.c        all of them, for run/mpi.c
 *
 * What is not wrapped, or is done in communicators that are not known (between groups, of other
 * programs), passes by: who is in such a call counts as one who can act.
 */
#ifndef GORDIAN_MPI_LAYER_H
#define GORDIAN_MPI_LAYER_H

#include "mpi/book.h"

#include <mpi.h>
#include <string.h>

/* A handle is an int with some, a pointer with others. */
#define HANDLE(value) handle_bits(&(value), sizeof(value))
static inline uint64_t handle_bits(const void *value, size_t size)
{
    uint64_t bits = 0;
    memcpy(&bits, value, size);
    return bits;
}

/* One call that is written down. */
struct turn {
    struct mpi_slot *slot; /* NULL: it is not */
    struct mpi_item item;  /* what it waits for, if that is one thing */
    enum mpi_call call;
};

/* Fills in communicator, peer and tag; false: the call is not written down, since nothing is
 * watched, the communicator is not known, or the peer is nobody. */
bool turn_open(struct turn *turn, enum mpi_call call, MPI_Comm comm, int peer, int tag);
/* The item is written down; from here on it may wait. */
void turn_wait(struct turn *turn);
static inline void turn_close(struct turn *turn)
{
    if (turn->slot)
        book_turn(turn->slot);
}

/* The item as one that is received, or sent: it gets its number. */
void item_receive(struct mpi_item *item, enum mpi_item_kind kind);
void item_send(struct mpi_item *item, enum mpi_item_kind kind);
/* It was received: from whom, if anybody could have sent it, `status` says. */
void item_received(const struct mpi_item *item, const MPI_Status *status, enum mpi_event_kind event,
                   enum mpi_call call, uint64_t what);

static inline bool item_is_open(const struct mpi_item *item)
{
    return item->peer == MPI_ANYBODY || item->tag == MPI_ANYBODY;
}

#endif
