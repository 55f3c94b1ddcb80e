/* The data of a training job, shared by the files of this folder: its ranks, their operations, and
 * what was found. */
#pragma once

#include "foundation/base/names/interner.h"
#include "sources/collectives/collectives.h"

#include <pthread.h>

enum state {
    STATE_SCHEDULED,
    STATE_STARTED,
    STATE_COMPLETED,
};

struct operation {
    uint64_t record;        /* sequence number in the rank's recorder */
    uint64_t order;         /* record of the first operation of the same launch */
    uint64_t sequence;      /* number in the group, among its collectives or its point-to-point
                               operations */
    uint64_t other;         /* number of the last operation of the other kind queued before this
                               one */
    uint64_t created;       /* ns */
    uint64_t input, output; /* elements */
    uint32_t group;
    uint32_t peer;  /* the other rank; NONE: a collective */
    uint32_t name;  /* a text: "all_reduce", "send", ... */
    uint32_t type;  /* a text: "BFloat16" */
    uint32_t place; /* a text: "train.py:31 step"; 0: unknown */
    uint8_t state;
    bool sends;
    bool coalesced; /* part of a launch with others: see coalesced.h */
    bool partial;   /* coalesced, and the recorder has dropped some of its entries */
    bool passed;    /* the rank has done something since */
    bool lone;      /* possibly the last member of a launch whose other entries are not in the
                       dump */
    bool unsure;    /* in flight or completed: the dump does not say which */
};

/* A member of a group: what a rank's dump says about the group. Its operations are sorted:
 * collectives by sequence number, then sends and receives by peer and record. */
struct membership {
    uint32_t group;
    uint32_t first, count;       /* of the rank's operations */
    uint32_t collectives;        /* the first ones, which are collectives */
    bool known;                  /* the dump has a status of the group */
    int64_t enqueued, completed; /* if known: last sequence numbers; -1: none */
    bool whole;                  /* the dump has every send and receive of the rank in the group */
    uint64_t top, top_p2p;       /* last collective, last send or receive that was queued */
    uint64_t reached;            /* all collectives below this sequence number were queued */
    uint32_t last;               /* while a dump is read: the last entry of the group */
    bool uneven;    /* its collectives are numbered differently than on other ranks: see
                       coalesced.c */
    bool coalesces; /* has a coalesced group of sends and receives */
    bool lost;      /* one with unknown peers is in flight: only its closing entry is left */
};

struct rank {
    bool heard;   /* its dump was read */
    bool unread;  /* its dump could not be read */
    bool listed;  /* some group lists it as a member */
    bool untimed; /* its recorder does not note when operations start */
    bool active;  /* its dump has no completed entries: they may have been omitted */
    struct operation *operations;
    struct membership *memberships; /* by group */
    uint32_t operation_count, membership_count;
    uint64_t oldest;  /* order of the first operation in flight that is not a send; UINT64_MAX:
                         none */
    uint64_t latest;  /* time of the last queued operation */
    uint32_t flights; /* operations in flight, including sends */

    uint8_t blame;       /* enum blame */
    uint32_t rendezvous; /* the rendezvous that shows the fault; NONE */
    bool engaged;        /* in some rendezvous */
    bool sender;         /* only in sends that their receivers have not reached: see sends.c */
    bool wanted;         /* missing in a rendezvous that is not such a send */
    bool explained;      /* while senders are judged: the reason for its wait is known */
    bool unjudged;       /* in a collective of a group whose numbers cannot be compared */
    bool undecided;      /* unsure or lost operations: unknown whether it waits */
    bool disputed;       /* differs from the others, without a majority */
    bool deadlocked;     /* waits, and no rank at fault is the cause */
};

struct group {
    uint32_t name, about; /* texts */
    uint32_t *members;
    uint32_t count;
    bool peers;    /* used point to point: its status counts sends and receives as well */
    bool uneven;   /* the ranks number its collectives differently, so they cannot be compared */
    bool unjudged; /* uneven, with collectives in flight */
};

/* A rendezvous: an operation in flight, the members in it and the members that are late. */
struct rendezvous {
    uint32_t group;
    uint32_t peer; /* for a send or a receive: the other rank; NONE: a collective */
    uint64_t sequence;
    size_t first;       /* first of its operations in flight */
    uint32_t count;     /* members in it */
    uint32_t completed; /* members that have completed it */
    size_t late_first;  /* first of its late members */
    uint32_t late_count;
    uint32_t missing_count; /* the first of the late members, which have not queued it */
    uint32_t odd_count;     /* members that differ from the others: see culprits.c */
    bool stalled;           /* all members are in it, and none has an older operation in flight */
    bool unreceived;        /* a send that the receiver has not reached */
};

struct flight {
    uint32_t rank;
    uint32_t operation;  /* index in the rank's operations */
    uint32_t rendezvous; /* NONE: a send that blocks no rank */
    bool odd;            /* differs from the others */
};

struct mismatch {
    uint32_t rendezvous;
    bool tie;              /* no majority: no rank is singled out */
    bool name, size, type; /* what differs */
};

struct cycle {
    size_t first, count; /* of `steps` */
};

/* A step of a cycle: the rank waits in a rendezvous for the rank of the next step. */
struct step {
    uint32_t rank, rendezvous;
};

struct complaint {
    uint32_t rank; /* NONE: the file's name contains none */
    char *file;
    char text[200];
};

struct training {
    gordian_allocator memory;
    pthread_mutex_t lock; /* protects the members below while files are read */
    struct names texts, group_names;
    uint32_t text_count;
    struct group *groups;
    size_t group_count, group_capacity;
    bool coalesces; /* some rank coalesces sends and receives */
    struct rank *ranks;
    size_t rank_count, rank_capacity;
    struct complaint *complaints;
    size_t complaint_count, complaint_capacity;

    struct flight *flights; /* in the order of the rendezvous */
    size_t flight_count;
    struct rendezvous *rendezvous_list;
    size_t rendezvous_count, rendezvous_capacity;
    uint32_t *late; /* ranks */
    size_t late_count, late_capacity;
    struct mismatch *mismatches;
    size_t mismatch_count, mismatch_capacity;
    struct cycle *cycles;
    size_t cycle_count, cycle_capacity;
    struct step *steps;
    size_t step_count, step_capacity;
    uint32_t *culprits;
    struct verdict verdict;
};

static inline const char *training_name(const struct training *job, uint32_t text)
{
    return names_text(&job->texts, text);
}

static inline const struct operation *flight_operation(const struct training *job,
                                                       const struct flight *flight)
{
    return &job->ranks[flight->rank].operations[flight->operation];
}

/* Was the launch with this number given to the device before the operation? True: certainly. False:
 * perhaps after it. */
static inline bool came_before(uint64_t number, const struct operation *operation)
{
    return number < operation->sequence && number <= operation->other;
}

/* A rank of the job without a dump. */
static inline bool is_unseen(const struct rank *rank)
{
    return rank->listed && !rank->heard && !rank->unread;
}

/* A rank that may or may not wait, without another finding. */
static inline bool is_undecided(const struct rank *rank)
{
    return rank->undecided && rank->blame == BLAME_NONE;
}

static inline bool in_flight(const struct operation *operation)
{
    return operation->state != STATE_COMPLETED;
}

/* Returns the rank's member record of a group; NULL: there is none. */
const struct membership *rank_membership(const struct rank *rank, uint32_t group);
int compare_memberships(const void *left, const void *right); /* by group */
/* Makes room for ranks below `count`. */
bool training_grow(struct training *job, size_t count);

/* Numbers the groups in the order of their names. Threads number them in the order of discovery,
 * and the output must not depend on timing. */
gordian_status training_order(struct training *job, gordian_error *error);

/* dump.c: reads a dump. Each thread has its own reader. */
struct dump_reader;
gordian_status dump_reader_open(struct dump_reader **out, struct training *job,
                                gordian_error *error);
void dump_reader_close(struct dump_reader *reader);
/* Reads a dump into *rank, which no other thread may use meanwhile. */
gordian_status dump_read(struct dump_reader *reader, const char *bytes, size_t size,
                         struct rank *rank, gordian_error *error);

/* rendezvous.c, culprits.c: the steps of training_judge. */
gordian_status training_find_rendezvous(struct training *job, gordian_error *error);
/* May all of its operations be completed, so that no rank waits in it? */
bool rendezvous_is_unsure(const struct training *job, const struct rendezvous *rendezvous);
gordian_status training_accuse(struct training *job, gordian_error *error);
void accuse_rank(struct training *job, uint32_t rank, enum blame blame, uint32_t rendezvous);

/* sends.c: judges ranks that are only in sends: do they wait for their receivers, or are they
 * absent? */
bool find_senders(struct training *job); /* call before absent ranks are accused; true: there are
                                            senders */
bool send_is_large(const struct training *job, const struct operation *send);
gordian_status training_settle_senders(struct training *job, gordian_error *error);
/* judge.c: sets `deadlocked` of the ranks that wait without a rank at fault as the cause. */
gordian_status training_find_deadlocked(struct training *job, gordian_error *error);

/* The wait-for graph for an engine. Rank r is process r, and rendezvous m is process rank_count +
 * m. `await` receives each process with the processes of which it awaits any. `narrow`: only
 * deadlocked ranks, and only the first rendezvous of each. */
struct wait_sink {
    gordian_status (*await)(void *context, uint32_t process, const uint32_t *others, size_t count,
                            gordian_error *error);
    void *context;
};
gordian_status training_waits(const struct training *job, bool narrow, const struct wait_sink *sink,
                              gordian_error *error);
