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
struct traced_call {
    struct mpi_slot *slot;        /* NULL: the call is not recorded */
    struct recorder_route *route; /* of a message */
    struct mpi_item item;         /* what the call waits for, if it waits for one thing */
    enum mpi_call call;
};

/* Looks up the communicator, peer and channel of a route again. */
void route_look_up(struct recorder_route *route, MPI_Comm comm, int rank, int tag);

/* Sets communicator, peer and tag. Returns false if the call is not recorded: recording is off, the
 * communicator is unknown, or the peer is MPI_PROC_NULL. `routes`: the cached routes of the
 * thread's last messages. */
static inline bool traced_begin(struct traced_call *traced, struct recorder_route *routes,
                                enum mpi_call call, MPI_Comm comm, int rank, int tag)
{
    struct recorder_route *route = &routes[((unsigned)rank * 3 + (unsigned)tag) % RECORDER_ROUTES];
    traced->slot = NULL;
    if (!recorder.record || rank == MPI_PROC_NULL)
        return false;
    if (__builtin_expect(route->comm != HANDLE(comm) || route->rank != rank || route->tag != tag ||
                             route->epoch != recorder_epoch(),
                         0))
        route_look_up(route, comm, rank, tag);
    if (route->group == MPI_GROUPS)
        return false;
    traced->slot = recorder_slot();
    traced->route = route;
    traced->call = call;
    traced->item = (struct mpi_item){
        .peer = route->peer,
        .tag = tag == MPI_ANY_TAG ? MPI_ANY_RANK : tag,
        .group = route->group,
    };
    return traced->slot;
}

static inline bool traced_send(struct traced_call *traced, enum mpi_call call, MPI_Comm comm,
                               int to, int tag)
{
    return traced_begin(traced, recorder_own.sends, call, comm, to, tag);
}

static inline bool traced_receive(struct traced_call *traced, enum mpi_call call, MPI_Comm comm,
                                  int from, int tag)
{
    return traced_begin(traced, recorder_own.receives, call, comm, from, tag);
}

/* Begins a collective call. */
#define NO_ROOT (-1)
bool traced_collective(struct traced_call *traced, enum mpi_call call, MPI_Comm comm, int root);

/* Publishes the item. The call may block from here on. */
static inline void traced_wait(struct traced_call *traced)
{
    recorder_prepare(traced->slot, traced->call);
    traced->slot->items[0] = traced->item;
    atomic_store_explicit(&traced->slot->count, 1, memory_order_relaxed);
    recorder_advance(traced->slot);
}

static inline void traced_end(struct traced_call *traced)
{
    if (traced->slot)
        recorder_advance(traced->slot);
}

static inline bool item_is_open(const struct mpi_item *item)
{
    return item->peer == MPI_ANY_RANK || item->tag == MPI_ANY_RANK;
}

/* Makes the item a receive or a probe and assigns its number. */
static inline void item_receive(struct mpi_item *item, enum mpi_item_kind kind)
{
    item->kind = kind;
    item->number = recorder_number();
}

static inline void traced_count_send(struct traced_call *traced, enum mpi_item_kind kind)
{
    traced->item.kind = kind;
    traced->item.number = recorder_sent(traced->route->channel);
    recorder_stop_polling(traced->slot);
}

/* Records a received message. `status` has the sender, if any rank could have sent it. */
void item_received(const struct mpi_item *item, const MPI_Status *status, enum mpi_event_kind event,
                   enum mpi_call call, uint64_t what);

static inline void traced_received(const struct traced_call *traced, const MPI_Status *status,
                                   enum mpi_event_kind event, uint64_t what)
{
    struct mpi_item item = traced->item;
    struct mpi_channel *channel = traced->route->channel;
    if (__builtin_expect(!channel, 0)) {
        item_received(&item, status, event, traced->call, what);
        return;
    }
    recorder_received(channel);
    recorder_event(event, traced->call, &item, what);
}
