/* What each rank of an MPI program writes down about itself: a file in the session's folder, which
 * the rank maps shared. Nobody in the program reads it; `gordian run` does, from outside, once the
 * ranks stand still (sources/inspect/decoders/mpi.c). Read this first, then sources/mpi/layer.h.
 *
 * MPI polls while it waits, so whether a rank moves cannot be told from whether its threads sleep.
 * It is told from here: a slot a thread says which call it is in since when.
 *
 * The order of writing makes the record safe to reason with. A message is counted as sent *before*
 * it is, and as received *after* it was. So `sent - received` of a channel is never less than what
 * is on its way, and where it is 0 nothing is: who receives from that channel waits for an act of
 * the sender. Likewise a receive is noted before it is posted, and forgotten after it is done: who
 * sends, and finds fewer receives noted than messages before its own, waits for the receiver.
 *
 * Tables have a fixed size. What does not fit, and calls that the layer does not know, make a rank
 * *opaque*: then nothing is claimed about it.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#define MPI_RECORD_MAGIC "GORDMPI"
#define MPI_RECORD_NAME  "mpi-" /* of the file: this and the process's number */

enum {
    MPI_RECORD_VERSION = 3,
    MPI_SLOTS = 32,      /* threads that call MPI */
    MPI_ITEMS = 32,      /* what one call waits for */
    MPI_CHANNELS = 4096, /* a power of two */
    MPI_REQUESTS = 4096, /* a power of two */
    MPI_GROUPS = 256,    /* communicators */
    MPI_MEMBERS = 1 << 16 /* of all communicators together */,
    MPI_RECENT = 64,      /* collectives of a communicator that are remembered */
    MPI_HELPERS = 32,     /* threads of the MPI's own */
    MPI_EVENTS = 1 << 15, /* of the log */
    MPI_LOOK_AT = 256,    /* every so many tests in vain one is looked at */
};

#define MPI_ANYBODY (-1) /* a peer or a tag: any */

/* What a call waits for. */
enum mpi_item_kind {
    MPI_ITEM_RECEIVE = 1,
    MPI_ITEM_PROBE,
    MPI_ITEM_SEND,        /* may be buffered */
    MPI_ITEM_SYNCHRONOUS, /* a send that ends with its receive */
    MPI_ITEM_COLLECTIVE,
    MPI_ITEM_OPAQUE, /* something that nothing is known about */
};

enum mpi_collective_need {
    MPI_NEEDS_ALL,  /* nobody leaves before everybody has come */
    MPI_NEEDS_ROOT, /* nobody leaves before the root has come */
    MPI_NEEDS_SOME, /* it may need everybody, or nobody */
};

struct mpi_item {
    uint32_t kind;   /* enum mpi_item_kind */
    int32_t peer;    /* rank in the world, or MPI_ANYBODY; of a collective: its root, or -1 */
    int32_t tag;     /* or MPI_ANYBODY; of a collective: enum mpi_collective_need */
    uint32_t group;  /* index of the communicator here */
    uint64_t number; /* receive: posted as which; send: which of its channel, from 1; collective:
                        which of the communicator, from 1 */
    uint64_t call;   /* of a collective: its kind, to compare */
};

/* A thread that has called MPI. Its owner alone writes. */
struct mpi_slot {
    _Atomic uint32_t tid;      /* 0: free from here on */
    _Atomic uint32_t polls;    /* tests in a row that found nothing, of the items */
    _Atomic uint64_t sequence; /* odd: in a call that may wait; grows with every one */
    _Atomic uint32_t call;     /* enum mpi_call */
    _Atomic uint32_t any;      /* 1: one of the items is enough */
    _Atomic uint32_t count;    /* of the items; more than MPI_ITEMS: only these are there */
    _Atomic uint32_t series;   /* of such tests, so far */
    _Atomic uint64_t tests;    /* of the series, from some test on to the last one looked at: */
    _Atomic uint64_t cpu_ns;   /* what this thread has worked in that time, */
    _Atomic uint64_t test_ns;  /* and in every MPI_LOOK_AT-th test */
    struct mpi_item items[MPI_ITEMS];
};

/* Messages to (or from) one rank with one tag in one communicator. */
struct mpi_channel {
    _Atomic uint64_t key; /* 0: free */
    _Atomic uint64_t sent, received;
    uint64_t communicator;
    int32_t peer, tag;
};

/* A request that is not done yet, or is kept for use again. */
struct mpi_request {
    _Atomic uint64_t handle; /* 0: free */
    uint64_t number;         /* which of all requests of this rank */
    _Atomic uint32_t active;
    uint32_t kept; /* persistent: stays when it is done */
    struct mpi_item item;
};

struct mpi_group {
    _Atomic uint64_t id;    /* the same in all its ranks; 0: free, or gone */
    uint64_t handle;        /* as the program has it */
    _Atomic uint64_t count; /* collectives begun */
    uint32_t first, size;   /* its members: ranks in the world */
    int32_t rank;           /* the own one in it */
    uint32_t zero;
    char name[48];
    uint64_t recent[MPI_RECENT]; /* kinds of the last ones, by number */
};

/* One operation, for those who play it again (cli/run/unbuffered_replay.c). */
struct mpi_event {
    uint32_t kind; /* enum mpi_event_kind */
    int32_t peer, tag;
    uint32_t call;   /* enum mpi_call, and MPI_EVENT_CHOICE */
    uint64_t what;   /* the request's number; of a collective: which one of its communicator */
    uint64_t number; /* the communicator's id */
};

#define MPI_EVENT_CHOICE (UINT32_C(1) << 31) /* a receive that others could have sent, too */

enum mpi_event_kind {
    MPI_EVENT_SEND = 1, /* waits until it is received, or buffered */
    MPI_EVENT_BUFFERED, /* a send that never waits */
    MPI_EVENT_RECEIVE,  /* done; from whom it came */
    MPI_EVENT_BEGIN_SEND,
    MPI_EVENT_BEGIN_RECEIVE,
    MPI_EVENT_DONE,       /* the request `what` was waited for */
    MPI_EVENT_COLLECTIVE, /* tag: enum mpi_collective_need */
};

enum mpi_state {
    MPI_STATE_RUNS = 1,
    MPI_STATE_LEAVES, /* in MPI_Finalize: it never sends again */
    MPI_STATE_LEFT,   /* behind it */
};

struct mpi_record {
    char magic[8];
    uint32_t version, pid;
    uint64_t world; /* tells programs of one session apart */
    uint32_t rank, size;
    _Atomic uint32_t state;  /* enum mpi_state */
    _Atomic uint32_t opaque; /* 1: something went past */
    uint32_t level;          /* threads that may call: MPI_LEVEL_... */
    uint32_t first_thread;   /* that initialised */
    uint32_t helper_count, helpers[MPI_HELPERS];
    _Atomic uint64_t requested; /* numbers given to requests and blocking receives */
    _Atomic uint32_t group_count, member_count;
    struct mpi_slot slots[MPI_SLOTS];
    struct mpi_channel channels[MPI_CHANNELS];
    struct mpi_request requests[MPI_REQUESTS];
    struct mpi_group groups[MPI_GROUPS];
    uint32_t members[MPI_MEMBERS];
    _Atomic uint64_t event_count; /* more than MPI_EVENTS: those beyond are not there */
    struct mpi_event events[MPI_EVENTS];
};

enum mpi_level {
    MPI_LEVEL_ONE,    /* only the thread that initialised calls MPI */
    MPI_LEVEL_SERIAL, /* any thread, one at a time */
    MPI_LEVEL_MANY,   /* any thread */
};

/* Every call that is wrapped: its number in slots, and its name. */
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

/* The layer of one MPI, as the interposers find it (sources/mpi/interposers.c): a function a call.
 */
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
