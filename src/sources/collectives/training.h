/* What the parts of collectives share: the dumps of a job, put in order. */
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
    uint64_t record;        /* the rank's own count: what came first */
    uint64_t order;         /* record of the first operation that is launched together with it */
    uint64_t sequence;      /* of the group: its collectives, or its point-to-point operations */
    uint64_t other;         /* the last one of the other kind that was queued before it */
    uint64_t created;       /* ns */
    uint64_t input, output; /* elements */
    uint32_t group;
    uint32_t peer;  /* the other rank; NONE: a collective */
    uint32_t name;  /* a text: "all_reduce", "send", ... */
    uint32_t type;  /* a text: "BFloat16" */
    uint32_t place; /* a text: "train.py:31 step"; 0: not known */
    uint8_t state;
    bool sends;
    bool coalesced; /* launched together with others: coalesced.h */
    bool partial;   /* coalesced, and the recorder has forgotten some of it */
    bool passed;    /* the rank has done something since */
    bool lone;      /* may be the last member of a launch whose other entries are not here */
    bool unsure;    /* in flight, or completed: nothing in the dump decides it */
};

/* What a rank says of a group it is in. Its operations: collectives by sequence, then those with
 * single peers, peer by peer, in the order of their records. */
struct seat {
    uint32_t group;
    uint32_t first, count;       /* operations of the rank */
    uint32_t collectives;        /* so many of them, the first ones */
    bool known;                  /* there is a status */
    int64_t enqueued, completed; /* then: the last sequence number; -1: none */
    bool whole;                  /* every send and receive of the rank in the group is here */
    uint64_t top, top_p2p;       /* the last collective, send or receive that was queued */
    uint64_t reached;            /* all collectives below this sequence number were queued */
    uint32_t last;               /* while a dump is read: its last entry of the group */
    bool uneven;    /* its collectives are not numbered as those of other ranks are: coalesced.c */
    bool coalesces; /* it has a coalesced group of sends and receives */
    bool lost; /* one is in flight of which only the closing entry is here: with which ranks? */
};

struct rank {
    bool heard;   /* its dump was read */
    bool unread;  /* its dump could not be read */
    bool listed;  /* a group has it as a member */
    bool untimed; /* its recorder does not note when operations start */
    bool active;  /* its dump has no completed entry: they may have been left out */
    struct operation *operations;
    struct seat *seats; /* by group */
    uint32_t operation_count, seat_count;
    uint64_t oldest;  /* order of the first in flight that is no send; UINT64_MAX: none */
    uint64_t latest;  /* when it queued its last operation */
    uint32_t flights; /* in flight, sends included */

    uint8_t blame;    /* enum blame */
    uint32_t meeting; /* where that shows; NONE: nowhere */
    bool engaged;     /* in a meeting */
    bool sender;      /* in nothing but sends whose receivers have not come: sends.c */
    bool wanted;      /* missing in an operation that is no such send */
    bool explained;   /* while senders are judged: what it waits for is known */
    bool unjudged;    /* in a collective of a group whose numbers cannot be compared */
    bool undecided; /* in flight or not, its dump does not tell: operations that are unsure, or lost
                     */
    bool disputed;  /* differs from others, and no majority says who is wrong */
    bool deadlocked; /* nobody to blame is behind what it waits for */
};

struct group {
    uint32_t name, about; /* texts */
    uint32_t *members;
    uint32_t count;
    bool peers;    /* it has been used point to point: its status counts those, too */
    bool uneven;   /* ranks number its collectives differently: they cannot be compared */
    bool unjudged; /* uneven, with collectives in flight */
};

/* An operation in flight, and who is in it. */
struct meeting {
    uint32_t group;
    uint32_t peer; /* for one rank's point-to-point operation, the other; NONE: a collective */
    uint64_t sequence;
    size_t first;       /* of its flights */
    uint32_t count;     /* how many are in it */
    uint32_t completed; /* how many have been */
    size_t late_first;  /* of its late ones */
    uint32_t late_count;
    uint32_t missing_count; /* the first so many of them have not queued it */
    uint32_t odd_count;     /* who comes with something else; of its flights, see blame.c */
    bool stalled;           /* all have come, nobody has anything older */
    bool unreceived;        /* a send to a rank that has not come to the receive */
};

struct flight {
    uint32_t rank;
    uint32_t operation; /* of the rank */
    uint32_t meeting;   /* NONE: none, a send that holds nobody up */
    bool odd;           /* does not match the others */
};

struct mismatch {
    uint32_t meeting;
    bool tie;              /* no majority: nobody is singled out */
    bool name, size, type; /* what differs */
};

struct cycle {
    size_t first, count; /* of `steps` */
};

/* rank waits in a meeting, for the rank of the next step. */
struct step {
    uint32_t rank, meeting;
};

struct complaint {
    uint32_t rank; /* NONE: there is none in the file's name */
    char *file;
    char text[200];
};

struct training {
    gordian_allocator memory;
    pthread_mutex_t lock; /* of what follows, while files are read */
    struct names texts, group_names;
    uint32_t text_count;
    struct group *groups;
    size_t group_count, group_room;
    bool coalesces; /* sends and receives, of some rank at least */
    struct rank *ranks;
    size_t rank_count, rank_room;
    struct complaint *complaints;
    size_t complaint_count, complaint_room;

    struct flight *flights; /* meeting by meeting */
    size_t flight_count;
    struct meeting *meetings;
    size_t meeting_count, meeting_room;
    uint32_t *late; /* ranks */
    size_t late_count, late_room;
    struct mismatch *mismatches;
    size_t mismatch_count, mismatch_room;
    struct cycle *cycles;
    size_t cycle_count, cycle_room;
    struct step *steps;
    size_t step_count, step_room;
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

/* Was the launch with this number, a collective or not, handed to the device before the operation?
 * Certainly so, or it may have been after it. */
static inline bool came_before(uint64_t number, const struct operation *operation)
{
    return number < operation->sequence && number <= operation->other;
}

/* A rank of the job of which there is no dump. */
static inline bool is_unseen(const struct rank *rank)
{
    return rank->listed && !rank->heard && !rank->unread;
}

/* A rank of which it cannot be said whether it waits, and that nothing else is said of. */
static inline bool is_undecided(const struct rank *rank)
{
    return rank->undecided && rank->blame == BLAME_NONE;
}

static inline bool in_flight(const struct operation *operation)
{
    return operation->state != STATE_COMPLETED;
}

/* What a rank says of a group; NULL: nothing. */
const struct seat *rank_seat(const struct rank *rank, uint32_t group);
int compare_seats(const void *left, const void *right); /* by group */
/* Room for ranks below `count`. */
bool training_grow(struct training *job, size_t count);

/* When all are read. Threads number groups as they come upon them, and what is said first must not
 * depend on who was faster: from here on they are in the order of their names. */
gordian_status training_order(struct training *job, gordian_error *error);

/* dump.c: what is read of one rank, by one thread. */
struct dump_reader;
gordian_status dump_reader_open(struct dump_reader **out, struct training *job,
                                gordian_error *error);
void dump_reader_close(struct dump_reader *reader);
/* Into *rank, which nobody else uses. */
gordian_status dump_read(struct dump_reader *reader, const char *bytes, size_t size,
                         struct rank *rank, gordian_error *error);

/* meet.c, blame.c: steps of training_judge. */
gordian_status training_meet(struct training *job, gordian_error *error);
/* Is it possible that all of its flights are completed, so that nobody waits in it? */
bool meeting_is_unsure(const struct training *job, const struct meeting *meeting);
gordian_status training_accuse(struct training *job, gordian_error *error);
void accuse_rank(struct training *job, uint32_t rank, enum blame blame, uint32_t meeting);

/* sends.c: ranks that are in nothing but sends. Do they wait for their receivers, or are they
 * absent? */
bool find_senders(struct training *job); /* before anybody is called absent; true: there are some */
bool send_is_large(const struct training *job, const struct operation *send);
gordian_status training_settle_senders(struct training *job, gordian_error *error);
/* judge.c: sets `deadlocked` of ranks that nobody who is to blame is behind. */
gordian_status training_find_deadlocked(struct training *job, gordian_error *error);

/* The ranks and meetings as an engine sees them: meeting m is process rank_count + m. `each` is
 * told who awaits any of whom. `narrow`: only the deadlocked, and of each only what it is in first.
 */
struct wait_sink {
    gordian_status (*await)(void *context, uint32_t process, const uint32_t *others, size_t count,
                            gordian_error *error);
    void *context;
};
gordian_status training_waits(const struct training *job, bool narrow, const struct wait_sink *sink,
                              gordian_error *error);
