/* The layer between a program and its MPI: it records every call (recorder.h) and forwards it. It
 * is compiled once for each supported MPI, with that MPI's headers. The interposers (interposers.c)
 * load the matching one.
 *
 *    init.c            initialization and finalization, communicators
 *    point_to_point.c  sends, receives, probes, and the requests that begin them
 *    wait.c            waits for and tests of requests
 *    collective.c      collective calls
 *    call_table.c      the table of wrappers for interposers.c
 *
 * Calls without a wrapper, and calls on unknown communicators (between groups, of other programs),
 * are not recorded. A rank in such a call counts as able to proceed. */
#pragma once

#include "sources/mpi/recorder.h"

#include <mpi.h>
#include <string.h>

/* A handle is an int in some MPIs and a pointer in others. */
#define HANDLE(value) handle_bits(&(value), sizeof(value))
static inline uint64_t handle_bits(const void *value, size_t size)
{
    uint64_t bits = 0;
    memcpy(&bits, value, size);
    return bits;
}

/* A recorded call. */
struct turn {
    struct mpi_slot *slot;      /* NULL: the call is not recorded */
    struct recorder_route *way; /* of a message */
    struct mpi_item item;       /* what the call waits for, if it waits for one thing */
    enum mpi_call call;
};

/* Looks up the communicator, peer and channel of a route again. */
void turn_seek(struct recorder_route *way, MPI_Comm comm, int rank, int tag);

/* Sets communicator, peer and tag. Returns false if the call is not recorded: recording is off, the
 * communicator is unknown, or the peer is MPI_PROC_NULL. `ways`: the cached routes of the thread's
 * last messages. */
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

/* Begins a collective call. */
#define NO_ROOT (-1)
bool turn_open(struct turn *turn, enum mpi_call call, MPI_Comm comm, int root);

/* Publishes the item. The call may block from here on. */
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

/* Makes the item a receive or a probe and assigns its number. */
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

/* Records a received message. `status` has the sender, if any rank could have sent it. */
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
