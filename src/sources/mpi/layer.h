/* The layer between a program and its MPI: every call is written down (recorder.h) and passed on.
 * It is compiled once for each MPI there is, with that one's headers, and loaded by the interposers
 * (interposers.c) into programs that use that one.
 *
 *     init.c            beginning and end of MPI, communicators
 *     point_to_point.c  sends, receives, probes; requests that begin them
 *     wait.c            requests that are waited and tested for
 *     collective.c      what a whole communicator does
 *     call_table.c      all of them, for interposers.c
 *
 * What is not wrapped, or is done in communicators that are not known (between groups, of other
 * programs), passes by: who is in such a call counts as one who can act.
 */
#pragma once

#include "sources/mpi/recorder.h"

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
    struct mpi_slot *slot;      /* NULL: it is not */
    struct recorder_route *way; /* of a message */
    struct mpi_item item;       /* what it waits for, if that is one thing */
    enum mpi_call call;
};

/* Finds it again. */
void turn_seek(struct recorder_route *way, MPI_Comm comm, int rank, int tag);

/* Fills in communicator, peer and tag; false: the call is not written down, since nothing is
 * watched, the communicator is not known, or the peer is nobody. `ways`: what the thread remembers
 * of its last ones. */
static inline bool turn_go(struct turn *turn, struct recorder_route *ways, enum mpi_call call,
                           MPI_Comm comm, int rank, int tag)
{
    struct recorder_route *way = &ways[((unsigned)rank * 3 + (unsigned)tag) % RECORDER_ROUTES];
    turn->slot = NULL;
    if (!recorder.record || rank == MPI_PROC_NULL)
        return false;
    if (__builtin_expect(way->comm != HANDLE(comm) || way->rank != rank || way->tag != tag ||
                             way->epoch != recorder_epoch(),
                         0))
        turn_seek(way, comm, rank, tag);
    if (way->group == MPI_GROUPS)
        return false;
    turn->slot = recorder_slot();
    turn->way = way;
    turn->call = call;
    turn->item = (struct mpi_item){
        .peer = way->peer,
        .tag = tag == MPI_ANY_TAG ? MPI_ANYBODY : tag,
        .group = way->group,
    };
    return turn->slot;
}

static inline bool turn_send(struct turn *turn, enum mpi_call call, MPI_Comm comm, int to, int tag)
{
    return turn_go(turn, recorder_own.sends, call, comm, to, tag);
}

static inline bool turn_receive(struct turn *turn, enum mpi_call call, MPI_Comm comm, int from,
                                int tag)
{
    return turn_go(turn, recorder_own.receives, call, comm, from, tag);
}

/* A call of a whole communicator. */
#define NO_ROOT (-1)
bool turn_open(struct turn *turn, enum mpi_call call, MPI_Comm comm, int root);

/* The item is written down; from here on it may wait. */
static inline void turn_wait(struct turn *turn)
{
    recorder_prepare(turn->slot, turn->call);
    turn->slot->items[0] = turn->item;
    atomic_store_explicit(&turn->slot->count, 1, memory_order_relaxed);
    recorder_turn(turn->slot);
}

static inline void turn_close(struct turn *turn)
{
    if (turn->slot)
        recorder_turn(turn->slot);
}

static inline bool item_is_open(const struct mpi_item *item)
{
    return item->peer == MPI_ANYBODY || item->tag == MPI_ANYBODY;
}

/* The item as one that is received, or sent: it gets its number. */
static inline void item_receive(struct mpi_item *item, enum mpi_item_kind kind)
{
    item->kind = kind;
    item->number = recorder_number();
}

static inline void turn_count_send(struct turn *turn, enum mpi_item_kind kind)
{
    turn->item.kind = kind;
    turn->item.number = recorder_sent(turn->way->channel);
    recorder_stop_polling(turn->slot);
}

/* It was received: from whom, if anybody could have sent it, `status` says. */
void item_received(const struct mpi_item *item, const MPI_Status *status, enum mpi_event_kind event,
                   enum mpi_call call, uint64_t what);

static inline void turn_received(const struct turn *turn, const MPI_Status *status,
                                 enum mpi_event_kind event, uint64_t what)
{
    struct mpi_item item = turn->item;
    struct mpi_channel *channel = turn->way->channel;
    if (__builtin_expect(!channel, 0)) {
        item_received(&item, status, event, turn->call, what);
        return;
    }
    recorder_received(channel);
    recorder_event(event, turn->call, &item, what);
}
