/* Ends deadlocks (--act). Each deadlock has one action with these states:
 *
 *    waiting     for the server's own detector, if it can see the cycle, and for a new scan of
 * every server of the cycle that confirms it ordered     the victim's server has the order, which
 * carries its condition (sources/watch/servers/remedy.h) awaiting    the signal was sent; the
 * outcome is not known yet ended
 *
 * An action escalates from the statement to the session only if the same cycle still exists: the
 * same sessions, transactions and statements want the same locks from each other. A session that is
 * cancelled and continues, or keeps a lock, is not touched again. Prepared transactions are never
 * ended. */
#pragma once

#include "sources/watch/actions/advice.h"

enum act_event {
    ACT_NOTHING,
    ACT_SENT,        /* the server has sent the signal */
    ACT_OVER,        /* the cycle no longer existed: nothing was done */
    ACT_REFUSED,     /* this role has no permission; `why` has the server's message */
    ACT_UNREACHABLE, /* the connection was lost before the order was sent: nothing was done */
    ACT_UNKNOWN,     /* the connection was lost before the answer */
    ACT_GONE,        /* the signal was sent, and the cycle is gone */
    ACT_ESCALATES,   /* the signal was sent, but the cycle still exists: the session is ended
                        next */
    ACT_STAYED,      /* the session was to end, but the cycle still exists: given up */
};

enum act_state { ACT_WAITING, ACT_ORDERED, ACT_AWAITING, ACT_ENDED };

/* Identifies an edge in later scans. */
struct act_edge {
    uint32_t source;
    uint64_t key;
};

struct act {
    enum act_state state;
    enum act_event last; /* the latest result */
    enum remedy remedy;
    uint32_t source; /* the victim's source */
    int64_t pid;
    uint64_t request;         /* key of the cycle: the same requests for the same locks */
    uint64_t *members;        /* identities of all sessions in the deadlock */
    struct act_edge *cycle;   /* the edges of the cycle */
    struct act_edge *waiters; /* the edges to the victim when the signal was sent */
    size_t member_count, cycle_count, waiter_count;
    size_t held;   /* ACT_GONE: waiters that are still blocked by the victim */
    uint64_t due;  /* earliest time; scans must have started then or later */
    uint64_t seen; /* last time that the deadlock was seen */
    uint64_t sent; /* when the signal was sent, and the number of scans of that server then */
    uint64_t looks;
    unsigned tries; /* orders that arrived too late */
    char why[400];
};

struct acts {
    struct act *list;
    size_t count, capacity;
    enum remedy first; /* the first remedy to try */
    uint64_t grace_ns; /* time for a remedy to take effect */
    gordian_allocator memory;
};

void acts_open(struct acts *acts, const gordian_allocator *memory);
void acts_close(struct acts *acts);

/* Continues the action of a deadlock that the latest scans show. `begin`: start an action if there
 * is none. `event`: what happened to *which. False: out of memory. */
bool acts_review(struct acts *acts, const struct deadlock *deadlock, const struct advice *advice,
                 struct source *const *sources, bool begin, uint64_t now, enum act_event *event,
                 const struct act **which);
/* Checks the outcome of an action. Call it for each action before the deadlocks are reviewed
 * (`reviewed` false: handles the server's answer) and after that (for deadlocks that are gone). */
enum act_event act_step(const struct acts *acts, struct act *act, struct source *const *sources,
                        bool reviewed, uint64_t now);
/* Removes actions that ended long ago. */
void acts_forget(struct acts *acts, uint64_t now);
/* Is there an action in progress? */
bool acts_pending(const struct acts *acts);
