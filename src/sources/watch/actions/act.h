/* Ends deadlocks, where that was asked for. One act for each deadlock:
 *
 *     waiting     for the server's own detector, if it can see the cycle, and for a fresh look at
 *                 every server of the cycle, which shows that it still stands
 *     ordered     the victim's server has the order, which carries its condition
 * (sources/watch/servers/remedy.h) awaiting    the signal was sent; what has become of the cycle?
 *     ended
 *
 * An act escalates from the statement to the session only if the same cycle still stands: the same
 * sessions, transactions and statements want the same locks of each other. A session that is
 * cancelled and goes on, or keeps a lock, is not touched again. Prepared transactions are never
 * ended.
 */
#pragma once

#include "sources/watch/actions/advice.h"

enum act_event {
    ACT_NOTHING,
    ACT_SENT,        /* the server has sent the signal */
    ACT_OVER,        /* the cycle did not stand any more: nothing was done */
    ACT_REFUSED,     /* this role may not; `why` has the server's words */
    ACT_UNREACHABLE, /* the server was gone before the order was sent: nothing was done */
    ACT_UNKNOWN,     /* the server was gone before it answered */
    ACT_GONE,        /* the signal was sent, and the cycle is gone */
    ACT_ESCALATES,   /* the signal was sent, and the same cycle stands: the session is next */
    ACT_STAYED,      /* the session was to end, and the same cycle stands: given up */
};

enum act_state { ACT_WAITING, ACT_ORDERED, ACT_AWAITING, ACT_ENDED };

/* An edge of a look, to be found again. */
struct act_edge {
    uint32_t source;
    uint64_t key;
};

struct act {
    enum act_state state;
    enum act_event last; /* what it has come to so far */
    enum remedy remedy;
    uint32_t source; /* the victim's */
    int64_t pid;
    uint64_t request;         /* of the cycle: the same requests for the same locks */
    uint64_t *members;        /* identities of all sessions of the knot */
    struct act_edge *cycle;   /* its locks */
    struct act_edge *waiters; /* of the victim, when the signal was sent */
    size_t member_count, cycle_count, waiter_count;
    size_t held;   /* ACT_GONE: how many of those still wait for it */
    uint64_t due;  /* not before then; and by looks that were asked for then or later */
    uint64_t seen; /* when it was last among the deadlocks */
    uint64_t sent; /* the signal, and how many looks there had been at that server */
    uint64_t looks;
    unsigned tries; /* orders that came too late */
    char why[400];
};

struct acts {
    struct act *list;
    size_t count, room;
    enum remedy first; /* what is tried first */
    uint64_t grace_ns; /* how long what is done has to show */
    gordian_allocator memory;
};

void acts_open(struct acts *acts, const gordian_allocator *memory);
void acts_close(struct acts *acts);

/* Goes on with the act of a deadlock that stands by the latest looks. `begin`: begins one if there
 * is none. `event`: what happened to *which. False: out of memory. */
bool acts_review(struct acts *acts, const struct deadlock *deadlock, const struct advice *advice,
                 struct source *const *sources, bool begin, uint64_t now, enum act_event *event,
                 const struct act **which);
/* What has become of one: to be called for each, before the deadlocks are reviewed (`reviewed`
 * false: the server's answer) and after it (what is not among them any more). */
enum act_event act_step(const struct acts *acts, struct act *act, struct source *const *sources,
                        bool reviewed, uint64_t now);
/* Forgets those that ended long ago. */
void acts_forget(struct acts *acts, uint64_t now);
/* Is there one that has not ended? */
bool acts_pending(const struct acts *acts);
