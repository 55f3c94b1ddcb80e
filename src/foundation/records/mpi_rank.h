/* Record of an MPI rank about itself: a file in the session's folder that the rank maps shared.
 * The
 * program never reads it; `gordian run` does, from outside, when the ranks make no progress
 * (sources/inspect/decoders/mpi.c). Read this first, then sources/mpi/layer.h.
 *
 * MPI polls while it waits, so sleeping threads do not show whether a rank is blocked. This record
 * does: one slot per thread says which call it is in, and since when.
 *
 * The order of writes makes the record reliable. A message is counted as sent *before* it is sent,
 * and as received *after* it was received. So `sent - received` of a channel is never less than
 * the
 * number of messages in transit, and if it is 0, none is: a receiver on that channel waits for the
 * sender. Likewise, a receive is recorded before it is posted, and removed after it is done: a
 * sender that finds fewer recorded receives than messages before its own waits for the receiver.
 *
 * Tables have a fixed size. If a table is full, or a call is unknown to the layer, the rank
 * becomes
 * *opaque*: then nothing is claimed about it. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#define MPI_RECORD_MAGIC "GORDMPI"
#define MPI_RECORD_NAME  "mpi-" /* of the file: this, then the process id */

enum {
    MPI_RECORD_VERSION = 3,
    MPI_SLOTS = 32,      /* threads that call MPI */
    MPI_ITEMS = 32,      /* items one call waits for */
    MPI_CHANNELS = 4096, /* a power of two */
    MPI_REQUESTS = 4096, /* a power of two */
    MPI_GROUPS = 256,    /* communicators */
    MPI_MEMBERS = 1 << 16 /* of all communicators together */,
    MPI_RECENT = 64,        /* collectives remembered for each communicator */
    MPI_HELPERS = 32,       /* threads of the MPI library */
    MPI_EVENTS = 1 << 15,   /* of the log */
    MPI_SAMPLE_EVERY = 256, /* one of this many unsuccessful tests is examined */
};

#define MPI_ANY_RANK (-1) /* a peer or a tag: any */

/* What a call waits for. */
enum mpi_item_kind {
    MPI_ITEM_RECEIVE = 1,
    MPI_ITEM_PROBE,
    MPI_ITEM_SEND,        /* may be buffered */
    MPI_ITEM_SYNCHRONOUS, /* a send that completes with its receive */
    MPI_ITEM_COLLECTIVE,
    MPI_ITEM_OPAQUE, /* unknown */
};

enum mpi_collective_need {
    MPI_NEEDS_ALL,  /* no rank leaves before all have joined */
    MPI_NEEDS_ROOT, /* no rank leaves before the root has joined */
    MPI_NEEDS_SOME, /* may need all ranks, or none */
};

struct mpi_item {
    uint32_t kind;   /* enum mpi_item_kind */
    int32_t peer;    /* rank in the world, or MPI_ANY_RANK; of a collective: its root, or -1 */
    int32_t tag;     /* or MPI_ANY_RANK; of a collective: enum mpi_collective_need */
    uint32_t group;  /* index of the communicator here */
    uint64_t number; /* receive: its number; send: number in its channel, from 1; collective: number
                        in its communicator, from 1 */
    uint64_t call;   /* of a collective: its kind, for comparison */
};

/* A thread that has called MPI. Only this thread writes it. */
struct mpi_slot {
    _Atomic uint32_t tid;      /* 0: this slot and the following are free */
    _Atomic uint32_t polls;    /* consecutive tests of the items without success */
    _Atomic uint64_t sequence; /* odd: in a call that may wait; grows with each one */
    _Atomic uint32_t call;     /* enum mpi_call */
    _Atomic uint32_t any;      /* 1: one of the items suffices */
    _Atomic uint32_t count;    /* of the items; only the first MPI_ITEMS are stored */
    _Atomic uint32_t series;   /* number of such series of tests */
    _Atomic uint64_t tests;    /* of the series, from some test to the last one examined: */
    _Atomic uint64_t cpu_ns;   /* CPU time of this thread in that interval, */
    _Atomic uint64_t test_ns;  /* and in every MPI_SAMPLE_EVERY-th test */
    struct mpi_item items[MPI_ITEMS];
};

/* Messages to or from one rank with one tag in one communicator. */
struct mpi_channel {
    _Atomic uint64_t key; /* 0: free */
    _Atomic uint64_t sent, received;
    uint64_t communicator;
    int32_t peer, tag;
};

/* A request that is not complete, or is persistent. */
struct mpi_request {
    _Atomic uint64_t handle; /* 0: free */
    uint64_t number;         /* number among all requests of this rank */
    _Atomic uint32_t active;
    uint32_t kept; /* persistent: remains when it is complete */
    struct mpi_item item;
};

struct mpi_group {
    _Atomic uint64_t id;    /* the same on all its ranks; 0: free, or freed */
    uint64_t handle;        /* as the program has it */
    _Atomic uint64_t count; /* collectives started */
    uint32_t first, size;   /* its members: ranks in the world */
    int32_t rank;           /* the rank of this process in it */
    uint32_t zero;
    char name[48];
    uint64_t recent[MPI_RECENT]; /* kinds of the latest ones, by number */
};

/* One operation, for the replay (cli/run/unbuffered_replay.c). */
struct mpi_event {
    uint32_t kind; /* enum mpi_event_kind */
    int32_t peer, tag;
    uint32_t call;   /* enum mpi_call, and MPI_EVENT_CHOICE */
    uint64_t what;   /* number of the request; of a collective: its number in its communicator */
    uint64_t number; /* the communicator's id */
};

#define MPI_EVENT_CHOICE (UINT32_C(1) << 31) /* other messages could also have matched */

enum mpi_event_kind {
    MPI_EVENT_SEND = 1, /* waits until received or buffered */
    MPI_EVENT_BUFFERED, /* a send that never waits */
    MPI_EVENT_RECEIVE,  /* complete; the sender is known */
    MPI_EVENT_BEGIN_SEND,
    MPI_EVENT_BEGIN_RECEIVE,
    MPI_EVENT_DONE,       /* the request `what` was waited for */
    MPI_EVENT_COLLECTIVE, /* tag: enum mpi_collective_need */
};

enum mpi_state {
    MPI_STATE_RUNS = 1,
    MPI_STATE_LEAVES, /* in MPI_Finalize: sends nothing more */
    MPI_STATE_LEFT,   /* after MPI_Finalize */
};

struct mpi_record {
    char magic[8];
    uint32_t version, pid;
    uint64_t world; /* distinguishes the programs of a session */
    uint32_t rank, size;
    _Atomic uint32_t state;  /* enum mpi_state */
    _Atomic uint32_t opaque; /* 1: something was not recorded */
    uint32_t level;          /* threads that may call MPI: MPI_LEVEL_... */
    uint32_t first_thread;   /* the thread that initialised MPI */
    uint32_t helper_count, helpers[MPI_HELPERS];
    _Atomic uint64_t requested; /* numbers assigned to requests and blocking receives */
    _Atomic uint32_t group_count, member_count;
    struct mpi_slot slots[MPI_SLOTS];
    struct mpi_channel channels[MPI_CHANNELS];
    struct mpi_request requests[MPI_REQUESTS];
    struct mpi_group groups[MPI_GROUPS];
    uint32_t members[MPI_MEMBERS];
    _Atomic uint64_t event_count; /* may exceed MPI_EVENTS: later ones are missing */
    struct mpi_event events[MPI_EVENTS];
};

enum mpi_level {
    MPI_LEVEL_ONE,    /* only the thread that initialised MPI calls it */
    MPI_LEVEL_SERIAL, /* any thread, one at a time */
    MPI_LEVEL_MANY,   /* any thread */
};

/* All wrapped calls: number in slots, and name. */
#define MPI_CALL_NUMBER(name, ...) MPI_CALL_##name,
/* clang-format off */
#define MPI_CALLS(CALL)                                                                            \
    CALL(Init)                                                                                     \
    CALL(Init_thread)                                                                              \
    CALL(Finalize)                                                                                 \
    CALL(Send) CALL(Ssend) CALL(Bsend) CALL(Rsend) CALL(Recv) CALL(Isend) CALL(Issend) CALL(       \
        Ibsend) CALL(Irsend) CALL(Irecv) CALL(Sendrecv) CALL(Sendrecv_replace) CALL(Probe)         \
        CALL(Mprobe) CALL(Iprobe) CALL(Improbe) CALL(Send_init) CALL(Ssend_init) CALL(Bsend_init) CALL(         \
            Rsend_init) CALL(Recv_init) CALL(Start) CALL(Startall) CALL(Cancel) CALL(Request_free) \
            CALL(Wait) CALL(Waitall) CALL(Waitany) CALL(Waitsome) CALL(Test) CALL(Testall)         \
                CALL(Testany) CALL(Testsome) CALL(Barrier) CALL(Bcast) CALL(Reduce)                \
                    CALL(Allreduce) CALL(Gather) CALL(Gatherv) CALL(Scatter) CALL(Scatterv)        \
                        CALL(Allgather) CALL(Allgatherv) CALL(Alltoall) CALL(Alltoallv)            \
                            CALL(Alltoallw) CALL(Reduce_scatter) CALL(Reduce_scatter_block)        \
                                CALL(Scan) CALL(Exscan) CALL(Ibarrier) CALL(Ibcast) CALL(Ireduce)  \
                                    CALL(Iallreduce) CALL(Igather) CALL(Igatherv) CALL(Iscatter)   \
                                        CALL(Iscatterv) CALL(Iallgather) CALL(Iallgatherv)         \
                                            CALL(Ialltoall) CALL(Ialltoallv) CALL(Ialltoallw)      \
                                                CALL(Ireduce_scatter) CALL(Ireduce_scatter_block)  \
                                                    CALL(Iscan) CALL(Iexscan) CALL(Comm_dup)       \
                                                        CALL(Comm_split) CALL(Comm_create)         \
                                                            CALL(Comm_split_type)                  \
                                                                CALL(Cart_create) CALL(Comm_free)  \
                                                                    CALL(Comm_disconnect)

enum mpi_call { MPI_CALLS(MPI_CALL_NUMBER) MPI_CALL_COUNT };
/* clang-format on */

/* The layer of one MPI, as the interposers find it (sources/mpi/interposers.c): one function per
 * call. */
#define MPI_LAYER_SYMBOL "gordian_mpi_layer"
typedef void (*mpi_function)(void);
struct mpi_layer {
    uint32_t version; /* MPI_RECORD_VERSION */
    uint32_t count;   /* MPI_CALL_COUNT */
    mpi_function calls[MPI_CALL_COUNT];
};

static inline uint64_t mpi_mix(uint64_t x)
{
    x ^= x >> 32;
    x *= UINT64_C(0x9e3779b97f4a7c15);
    x ^= x >> 29;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    return x ^ x >> 32;
}

/* Never 0. */
static inline uint64_t mpi_channel_key(uint64_t communicator, int32_t peer, int32_t tag)
{
    return mpi_mix(communicator + mpi_mix((uint64_t)(uint32_t)peer << 32 | (uint32_t)tag)) | 1;
}
