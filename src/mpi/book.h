/* Writing the record of this rank: everything that needs no MPI. One book a process; threads write
 * into slots of their own, and into the tables under a lock where several may call at a time. */
#ifndef GORDIAN_MPI_BOOK_H
#define GORDIAN_MPI_BOOK_H

#include "mpi/record.h"

#include <stdbool.h>
#include <stddef.h>

struct book {
    struct mpi_record *record; /* NULL: nothing is written down */
    bool shared;               /* several threads may call at a time */
    atomic_flag lock;
};

extern struct book book;

/* Makes the file and maps it; false: there is no session, or no room. */
bool book_open(void);
/* The threads of this process, by number: how many, of those up to `room`. */
size_t book_threads(uint32_t *tids, size_t room);

/* Something happened that the record cannot tell. */
static inline void book_give_up(void)
{
    atomic_store_explicit(&book.record->opaque, 1, memory_order_release);
}

/* ------------------------------------------------------------------ slots */

/* The slot of this thread; NULL: it is inside a call already, or there is none left. */
struct mpi_slot *book_slot(void);

/* The items are written between these two, and then the call may wait. */
static inline void book_prepare(struct mpi_slot *slot, enum mpi_call call)
{
    atomic_store_explicit(&slot->call, (uint32_t)call, memory_order_relaxed);
    atomic_store_explicit(&slot->any, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->count, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->polls, 0, memory_order_relaxed);
}

static inline void book_turn(struct mpi_slot *slot)
{
    uint64_t now = atomic_load_explicit(&slot->sequence, memory_order_relaxed);
    atomic_store_explicit(&slot->sequence, now + 1, memory_order_release);
}

static inline void book_item(struct mpi_slot *slot, const struct mpi_item *item)
{
    uint32_t count = atomic_load_explicit(&slot->count, memory_order_relaxed);
    if (count < MPI_ITEMS)
        slot->items[count] = *item;
    atomic_store_explicit(&slot->count, count + 1, memory_order_relaxed);
}

/* ------------------------------------------------------------------ tables */

/* A message to `peer` is about to be sent: which of its channel it is, from 1. */
uint64_t book_sent(uint32_t group, int32_t peer, int32_t tag);
/* One was received. */
void book_received(uint32_t group, int32_t peer, int32_t tag);
/* The number of a receive, or of a request. */
uint64_t book_number(void);

void book_request(uint64_t handle, uint64_t number, const struct mpi_item *item, bool active,
                  bool kept);
/* A copy of it; false: it is not known. */
bool book_find(uint64_t handle, struct mpi_request *request);
void book_activate(uint64_t handle, const struct mpi_item *item);
/* It is done: forgotten, or kept for its next use. `number` tells it from a later one that got the
 * same handle. */
void book_done(uint64_t handle, uint64_t number, bool free);

/* The communicator with this handle: its index, or MPI_GROUPS. */
uint32_t book_group(uint64_t handle);
static inline uint64_t book_group_id(uint32_t group)
{
    return atomic_load_explicit(&book.record->groups[group].id, memory_order_relaxed);
}
/* A new one; MPI_GROUPS: there is no room. `members`: ranks in the world. */
uint32_t book_new_group(uint64_t handle, uint64_t seed, const int *members, uint32_t size,
                        int32_t rank, const char *name);
void book_forget_group(uint64_t handle);
/* One more collective of it: its number, from 1. */
uint64_t book_collective(uint32_t group, uint64_t call);

/* `number`: the communicator's id. */
void book_event(enum mpi_event_kind kind, uint32_t call, const struct mpi_item *item, uint64_t what,
                uint64_t number);

#endif
