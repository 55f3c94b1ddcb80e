/* Builds the wait-for graph from the latest scans and finds deadlocks with libgordian. Every
 * session is a process. Every edge is a resource that the holder has and the waiter wants. The
 * edges of one wait are requested together, because all blockers must release.
 *
 * There are three evaluations (see watch.h on hard and soft edges): hard edges and links; hard and
 * soft edges of each server alone, to find what the servers resolve themselves; and all edges that
 * no server resolves. */
#pragma once

#include "sources/watch/graph/links.h"

/* An edge of the wait-for graph between two sessions: a lock, or a link. */
struct session_edge {
    struct member from, to;
    uint32_t edge; /* index in the scan of `from`; SCAN_NONE: a link */
    uint32_t link; /* SCAN_NONE: an edge */
    bool soft;
    bool any;      /* one edge of several of the session, any one of which can free it */
    bool unlikely; /* probably not that one */
    bool mended;   /* soft, and the server resolves the cycle */
};

struct deadlock {
    struct member *members; /* all sessions in the deadlock */
    size_t member_count;
    struct session_edge *cycle; /* a shortest cycle, in order */
    size_t cycle_count;
    size_t server_count; /* number of servers in the cycle */
    size_t threads;      /* threads of inspected processes in the cycle */
    bool soft;           /* needs a soft edge */
};

struct verdict {
    struct session_edge *arrows; /* at the last evaluated moment */
    size_t arrow_count, arrow_capacity;
    struct deadlock *deadlocks;
    size_t deadlock_count, deadlock_capacity;
    size_t behind;        /* sessions outside that a deadlock blocks forever */
    size_t mended;        /* cycles that servers will resolve */
    const char *engine;   /* the engine used; NULL: no session waited */
    bool *in_deadlock;    /* by node */
    uint32_t *first_node; /* by source: the node of its first session; one element more at the
                             end */
    size_t node_count;
    bool failed;        /* memory ran out */
    struct arena arena; /* owns everything except the edges and the list of deadlocks */
    gordian_allocator memory;
};

void verdict_open(struct verdict *verdict, const gordian_allocator *memory);
void verdict_close(struct verdict *verdict);

/* Finds deadlocks and replaces the previous verdict. */
gordian_status judge_scans(struct verdict *verdict, struct links *links,
                           struct source *const *sources, size_t count, gordian_error *error);

/* Returns the node of a session. */
static inline uint32_t verdict_node(const struct verdict *verdict, struct member member)
{
    return verdict->first_node[member.source] + member.session;
}
