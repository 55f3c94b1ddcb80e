/* Writing the record of this rank: everything that needs no MPI. One recorder a process; threads
 * write into slots of their own, and into the tables under a lock where several may call at a time.
 */
#pragma once

#include "foundation/records/mpi_rank.h"

#include <stdbool.h>
#include <stddef.h>

struct recorder {
    struct mpi_record *record; /* NULL: nothing is written down */
    bool shared;               /* several threads may call at a time */
    _Atomic uint32_t epoch;    /* grows when communicators come and go */
    atomic_flag lock;
};

extern struct recorder recorder;

/* Where a thread's last messages went to, or came from: the next ones mostly do so, too, and are
 * then written down without a search. */
struct recorder_route {
    uint64_t comm;               /* its handle */
    int32_t rank, tag;           /* as the program gave them */
    uint32_t epoch;              /* of the recorder, when it was found */
    uint32_t group;              /* MPI_GROUPS: nothing is known of that communicator */
    int32_t peer;                /* rank in the world, or MPI_ANYBODY */
    struct mpi_channel *channel; /* NULL: not known yet, or any */
};

#define RECORDER_ROUTES 8 /* of each kind; a power of two */

/* What a thread of the program has here. */
struct recorder_thread {
    struct mpi_slot *slot;       /* NULL: none yet */
    uint32_t tests;              /* of a series */
    uint64_t first_ns, began_ns; /* when the first and the last of them that is looked at began */
    struct recorder_route sends[RECORDER_ROUTES], receives[RECORDER_ROUTES];
};

extern _Thread_local struct recorder_thread recorder_own __attribute__((tls_model("initial-exec")));

static inline uint32_t recorder_epoch(void)
{
    return atomic_load_explicit(&recorder.epoch, memory_order_relaxed);
}

/* Makes the file and maps it; false: there is no session, or no room. */
bool recorder_open(void);
/* The threads of this process, by number: how many, of those up to `room`. */
size_t recorder_threads(uint32_t *tids, size_t room);

/* Something happened that the record cannot tell. */
static inline void recorder_give_up(void)
{
    atomic_store_explicit(&recorder.record->opaque, 1, memory_order_release);
}

/* ------------------------------------------------------------------ slots */

/* The same, when it is not there or is busy. */
struct mpi_slot *recorder_seek_slot(void);

/* The slot of this thread; NULL: it is inside a call already, or there is none left. */
static inline struct mpi_slot *recorder_slot(void)
{
    struct mpi_slot *slot = recorder_own.slot;
    bool free = slot && !(atomic_load_explicit(&slot->sequence, memory_order_relaxed) & 1);
    return __builtin_expect(free, 1) ? slot : recorder_seek_slot();
}

/* The items are written between these two, and then the call may wait. */
static inline void recorder_prepare(struct mpi_slot *slot, enum mpi_call call)
{
    atomic_store_explicit(&slot->call, (uint32_t)call, memory_order_relaxed);
    atomic_store_explicit(&slot->any, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->count, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->polls, 0, memory_order_relaxed);
}

static inline void recorder_turn(struct mpi_slot *slot)
{
    uint64_t now = atomic_load_explicit(&slot->sequence, memory_order_relaxed);
    atomic_store_explicit(&slot->sequence, now + 1, memory_order_release);
}

static inline void recorder_item(struct mpi_slot *slot, const struct mpi_item *item)
{
    uint32_t count = atomic_load_explicit(&slot->count, memory_order_relaxed);
    if (count < MPI_ITEMS)
        slot->items[count] = *item;
    atomic_store_explicit(&slot->count, count + 1, memory_order_relaxed);
}

/* A test found something, or the thread has done something else for others. */
static inline void recorder_stop_polling(struct mpi_slot *slot)
{
    atomic_store_explicit(&slot->polls, 0, memory_order_relaxed);
}

/* A test of this item found nothing. Items are those of a series of such tests. */
void recorder_poll(struct mpi_slot *slot, enum mpi_call call, const struct mpi_item *item);

/* Around every test. Who does nothing else waits; so now and then one is looked at: how long the
 * thread works for it, and how long for all since the one before. */
void recorder_look_before(struct mpi_slot *slot);
void recorder_look_after(struct mpi_slot *slot);

static inline void recorder_begin_test(struct mpi_slot *slot)
{
    if (atomic_load_explicit(&slot->polls, memory_order_relaxed) == 0)
        recorder_own.tests = 0;
    if (__builtin_expect(++recorder_own.tests % MPI_LOOK_AT == 0, 0))
        recorder_look_before(slot);
}

static inline void recorder_end_test(struct mpi_slot *slot)
{
    if (__builtin_expect(recorder_own.tests % MPI_LOOK_AT == 0, 0))
        recorder_look_after(slot);
}

/* ------------------------------------------------------------------ tables */

/* Nobody else writes here at the same time, unless the recorder is shared, and readers come
 * milliseconds later; MPI's own barriers are behind every count before a message is seen. Order
 * costs tens of nanoseconds on some processors, so there is none. */
static inline uint64_t recorder_count(_Atomic uint64_t *counter)
{
    if (__builtin_expect(recorder.shared, 0))
        return atomic_fetch_add_explicit(counter, 1, memory_order_relaxed) + 1;
    uint64_t now = atomic_load_explicit(counter, memory_order_relaxed) + 1;
    atomic_store_explicit(counter, now, memory_order_relaxed);
    return now;
}

/* The channel of these; NULL: there is no room, and nothing can be said any more. */
struct mpi_channel *recorder_channel(uint32_t group, int32_t peer, int32_t tag);

/* A message to `peer` is about to be sent: which of its channel it is, from 1. */
static inline uint64_t recorder_sent(struct mpi_channel *channel)
{
    return channel ? recorder_count(&channel->sent) : 0;
}

/* One was received. */
static inline void recorder_received(struct mpi_channel *channel)
{
    if (channel)
        recorder_count(&channel->received);
}

/* The number of a receive, or of a request. */
static inline uint64_t recorder_number(void)
{
    return recorder_count(&recorder.record->requested);
}

void recorder_request(uint64_t handle, uint64_t number, const struct mpi_item *item, bool active,
                      bool kept);
/* A copy of it; false: it is not known. */
bool recorder_find(uint64_t handle, struct mpi_request *request);
void recorder_activate(uint64_t handle, const struct mpi_item *item);
/* It is done: forgotten, or kept for its next use. `number` tells it from a later one that got the
 * same handle. */
void recorder_done(uint64_t handle, uint64_t number, bool free);

/* The communicator with this handle: its index, or MPI_GROUPS. */
uint32_t recorder_group(uint64_t handle);
static inline uint64_t recorder_group_id(uint32_t group)
{
    return atomic_load_explicit(&recorder.record->groups[group].id, memory_order_relaxed);
}
/* A new one; MPI_GROUPS: there is no room. `members`: ranks in the world. */
uint32_t recorder_new_group(uint64_t handle, uint64_t seed, const int *members, uint32_t size,
                            int32_t rank, const char *name);
void recorder_forget_group(uint64_t handle);
/* One more collective of it: its number, from 1. */
uint64_t recorder_collective(uint32_t group, uint64_t call);

/* The same, while there is room. */
void recorder_log(enum mpi_event_kind kind, uint32_t call, int32_t peer, int32_t tag, uint64_t what,
                  uint32_t group);

static inline void recorder_event(enum mpi_event_kind kind, uint32_t call,
                                  const struct mpi_item *item, uint64_t what)
{
    uint64_t count = atomic_load_explicit(&recorder.record->event_count, memory_order_relaxed);
    if (__builtin_expect(count <= MPI_EVENTS, 0))
        recorder_log(kind, call, item->peer, item->tag, what, item->group);
}
