/* Writes the record of this rank. This part needs no MPI. There is one recorder in a process. Each
 * thread writes to its own slot. The shared tables have a lock for programs whose threads call MPI
 * concurrently. */
#pragma once

#include "foundation/records/mpi_rank.h"

#include <stdbool.h>
#include <stddef.h>

struct recorder {
    struct mpi_record *record; /* NULL: recording is off */
    bool shared;               /* several threads may call MPI concurrently */
    _Atomic uint32_t epoch;    /* incremented when a communicator is created or freed */
    atomic_flag lock;
};

extern struct recorder recorder;

/* A cached route: where a thread's last messages went to or came from. Most messages repeat a route
 * and need no search then. */
struct recorder_route {
    uint64_t comm;               /* handle */
    int32_t rank, tag;           /* as given by the program */
    uint32_t epoch;              /* of the recorder at the last lookup */
    uint32_t group;              /* MPI_GROUPS: the communicator is not known */
    int32_t peer;                /* rank in the world, or MPI_ANY_RANK */
    struct mpi_channel *channel; /* NULL: not known yet, or any sender or tag */
};

#define RECORDER_ROUTES 8 /* of each direction; a power of two */

/* The state of a program's thread. */
struct recorder_thread {
    struct mpi_slot *slot;       /* NULL: none yet */
    uint32_t tests;              /* in the current series */
    uint64_t first_ns, began_ns; /* start of the first and of the last sampled test */
    struct recorder_route sends[RECORDER_ROUTES], receives[RECORDER_ROUTES];
};

extern _Thread_local struct recorder_thread recorder_own __attribute__((tls_model("initial-exec")));

static inline uint32_t recorder_epoch(void)
{
    return atomic_load_explicit(&recorder.epoch, memory_order_relaxed);
}

/* Creates and maps the record file. False: there is no session, or no space. */
bool recorder_open(void);
/* Lists the threads of this process, at most `capacity`. Returns how many there are. */
size_t recorder_threads(uint32_t *tids, size_t capacity);

/* Marks the record as incomplete: something happened that it cannot describe. */
static inline void recorder_give_up(void)
{
    atomic_store_explicit(&recorder.record->opaque, 1, memory_order_release);
}

/* ------------------------------------------------------------------ slots */

/* Slow path of recorder_slot: the thread has no slot yet, or its slot is in use. */
struct mpi_slot *recorder_claim_slot(void);

/* Returns the slot of this thread. NULL: the thread is within a call already, or all slots are
 * taken. */
static inline struct mpi_slot *recorder_slot(void)
{
    struct mpi_slot *slot = recorder_own.slot;
    bool free = slot && !(atomic_load_explicit(&slot->sequence, memory_order_relaxed) & 1);
    return __builtin_expect(free, 1) ? slot : recorder_claim_slot();
}

/* Write the items after this call and before recorder_advance. After that the call may block. */
static inline void recorder_prepare(struct mpi_slot *slot, enum mpi_call call)
{
    atomic_store_explicit(&slot->call, (uint32_t)call, memory_order_relaxed);
    atomic_store_explicit(&slot->any, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->count, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->polls, 0, memory_order_relaxed);
}

static inline void recorder_advance(struct mpi_slot *slot)
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

/* A test succeeded, or the thread did something else that affects other ranks. */
static inline void recorder_stop_polling(struct mpi_slot *slot)
{
    atomic_store_explicit(&slot->polls, 0, memory_order_relaxed);
}

/* Records that a test of this item failed. The items of a series of failed tests accumulate. */
void recorder_poll(struct mpi_slot *slot, enum mpi_call call, const struct mpi_item *item);

/* Call these around every test. A thread that only polls is waiting; to detect that, some tests are
 * sampled: the time that the thread spends in the test, and the time since the sample before. */
void recorder_sample_before(struct mpi_slot *slot);
void recorder_sample_after(struct mpi_slot *slot);

static inline void recorder_begin_test(struct mpi_slot *slot)
{
    if (atomic_load_explicit(&slot->polls, memory_order_relaxed) == 0)
        recorder_own.tests = 0;
    if (__builtin_expect(++recorder_own.tests % MPI_SAMPLE_EVERY == 0, 0))
        recorder_sample_before(slot);
}

static inline void recorder_end_test(struct mpi_slot *slot)
{
    if (__builtin_expect(recorder_own.tests % MPI_SAMPLE_EVERY == 0, 0))
        recorder_sample_after(slot);
}

/* ------------------------------------------------------------------ tables */

/* Without concurrent callers there is one writer. Readers come milliseconds later, and MPI's own
 * barriers order every count before the message is received. So the counters need no memory order,
 * which would cost tens of nanoseconds on some processors. */
static inline uint64_t recorder_count(_Atomic uint64_t *counter)
{
    if (__builtin_expect(recorder.shared, 0))
        return atomic_fetch_add_explicit(counter, 1, memory_order_relaxed) + 1;
    uint64_t now = atomic_load_explicit(counter, memory_order_relaxed) + 1;
    atomic_store_explicit(counter, now, memory_order_relaxed);
    return now;
}

/* Returns the channel. NULL: the table is full, and the record is incomplete from here on. */
struct mpi_channel *recorder_channel(uint32_t group, int32_t peer, int32_t tag);

/* Counts a message to `peer` that is about to be sent. Returns its number in the channel, from
 * 1. */
static inline uint64_t recorder_sent(struct mpi_channel *channel)
{
    return channel ? recorder_count(&channel->sent) : 0;
}

/* Counts a received message. */
static inline void recorder_received(struct mpi_channel *channel)
{
    if (channel)
        recorder_count(&channel->received);
}

/* Returns a new number for a receive or a request. */
static inline uint64_t recorder_number(void)
{
    return recorder_count(&recorder.record->requested);
}

void recorder_request(uint64_t handle, uint64_t number, const struct mpi_item *item, bool active,
                      bool kept);
/* Copies a request. False: it is not known. */
bool recorder_find(uint64_t handle, struct mpi_request *request);
void recorder_activate(uint64_t handle, const struct mpi_item *item);
/* The request is done. It is removed, or kept if it is persistent. `number` distinguishes it from a
 * later request with the same handle. */
void recorder_done(uint64_t handle, uint64_t number, bool free);

/* Returns the index of the communicator with this handle, or MPI_GROUPS. */
uint32_t recorder_group(uint64_t handle);
static inline uint64_t recorder_group_id(uint32_t group)
{
    return atomic_load_explicit(&recorder.record->groups[group].id, memory_order_relaxed);
}
/* Adds a communicator. Returns MPI_GROUPS if the table is full. `members`: ranks in
 * MPI_COMM_WORLD. */
uint32_t recorder_new_group(uint64_t handle, uint64_t seed, const int *members, uint32_t size,
                            int32_t rank, const char *name);
void recorder_forget_group(uint64_t handle);
/* Counts a collective call on the communicator. Returns its number, from 1. */
uint64_t recorder_collective(uint32_t group, uint64_t call);

/* Slow path of recorder_event: appends to the log until it is full. */
void recorder_log(enum mpi_event_kind kind, uint32_t call, int32_t peer, int32_t tag, uint64_t what,
                  uint32_t group);

static inline void recorder_event(enum mpi_event_kind kind, uint32_t call,
                                  const struct mpi_item *item, uint64_t what)
{
    uint64_t count = atomic_load_explicit(&recorder.record->event_count, memory_order_relaxed);
    if (__builtin_expect(count <= MPI_EVENTS, 0))
        recorder_log(kind, call, item->peer, item->tag, what, item->group);
}
