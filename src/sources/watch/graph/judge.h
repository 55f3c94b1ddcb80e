/* From the latest looks to deadlocks. The verdict is libgordian's: every session is a process,
 * every edge a resource that its holder has and its waiter wants. Edges of one wait are wanted
 * together, since all who are in its way must go.
 *
 * It is judged three times (see watch.h on hard and soft): with hard edges and links; with hard and
 * soft edges of each server alone, to see what the servers mend themselves; with everything that
 * nobody mends.
 */
#pragma once

#include "sources/watch/graph/links.h"

/* An arrow between two sessions: by a lock, or by a link. */
struct arrow_between {
    struct member from, to;
    uint32_t edge; /* of from's look; SCAN_NONE: a link */
    uint32_t link; /* SCAN_NONE: an edge */
    bool soft;
    bool any;      /* all arrows like this from one session: one of them is enough to free it */
    bool unlikely; /* of those, one that hardly is it */
    bool mended;   /* soft, and its server mends it */
};

struct deadlock {
    struct member *members; /* all who are in it */
    size_t member_count;
    struct arrow_between *cycle; /* a shortest one through it, in order */
    size_t cycle_count;
    size_t server_count; /* how many servers the cycle goes through */
    size_t threads;      /* of inspected processes, in the cycle */
    bool soft;           /* it needs a place in a queue */
};

struct verdict {
    struct arrow_between *arrows; /* at the moment that was judged last */
    size_t arrow_count, arrow_room;
    struct deadlock *deadlocks;
    size_t deadlock_count, deadlock_room;
    size_t behind;        /* sessions that are in none, and can never go on because of one */
    size_t mended;        /* cycles in which servers will let somebody pass */
    const char *engine;   /* that judged; NULL: nobody waited */
    bool *in_deadlock;    /* by node; */
    uint32_t *first_node; /* of each source: its sessions are nodes in a row; one more at the end */
    size_t node_count;
    bool failed;        /* out of memory, while it is judged */
    struct arena arena; /* of all of these but the arrows and the list of deadlocks */
    gordian_allocator memory;
};

void verdict_open(struct verdict *verdict, const gordian_allocator *memory);
void verdict_close(struct verdict *verdict);

/* Judges. What was there before is gone. */
gordian_status judge_scans(struct verdict *verdict, struct links *links,
                           struct source *const *sources, size_t count, gordian_error *error);

/* The number of a session among those of all sources. */
static inline uint32_t verdict_node(const struct verdict *verdict, struct member member)
{
    return verdict->first_node[member.source] + member.session;
}
