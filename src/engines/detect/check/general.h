/* Shared by general.c, which finds the parts of any snapshot, and general_graph.c, which builds its
 * graph and reduces it, both with any number of threads. */
#pragma once

#include "engines/detect/check/snapshot.h"
#include "foundation/base/scc.h"
#include "foundation/base/threads/thread_pool.h"

/* Lists of nodes, one after another. */
struct groups {
    uint32_t *nodes;
    size_t node_count, node_room;
    size_t *ends; /* by group */
    size_t count, room;
};

struct general {
    const gordian_snapshot *snapshot;
    const gordian_allocator *memory;
    uint32_t process_count; /* resource q is node process_count + q */
    uint32_t node_count;

    struct scc_node *nodes; /* mark of a process: how many of its wishes are not met yet */
    uint32_t *targets;      /* by edge */
    uint64_t *units;        /* by edge; NULL: one each */

    uint64_t *free;  /* by resource */
    uint32_t *ready; /* processes that can finish, each once; the first `done` have finished */
    uint32_t ready_count, done;

    struct scc scc;
    struct groups loose; /* components in which a wish was met in this round */
    struct groups parts;
    uint32_t *roots;
    size_t root_room;
    uint64_t effort; /* edges visited in all rounds */

    struct thread_group group;
    struct general_share *shares; /* by member */
    struct check_result *result;
    /* With several members, ready[] is a stack of processes that can finish. Any member may take
     * them. */
    pthread_mutex_t lock;
    pthread_cond_t more;
    unsigned idle; /* members that look for work */
};

#define READY_OWN 1024

/* A member's own data. */
struct general_share {
    uint32_t ready[READY_OWN]; /* processes that can finish */
    uint32_t count;
    uint32_t edges;        /* edges of its nodes; later: edges of the nodes before them */
    size_t dead, finished; /* dead and finished processes among its own; later: before its own */
};

static inline uint64_t edge_units(const struct general *general, uint32_t edge)
{
    return general->units ? general->units[edge] : 1;
}

/* Builds the graph of the snapshot, with the initial free units and wishes. Returns false if out of
 * memory. */
bool general_build(struct general *general);
/* Lets all processes finish that can. Those left over have a mark. */
void general_reduce(struct general *general);
/* Lists the processes left over, in order. Returns false if out of memory. */
bool general_list_dead(struct general *general);

/* For one thread: more units of `q` are free. Lowers the marks of the processes whose wish they
 * meet. Returns false if there are none. */
bool general_meet_wishes(struct general *general, uint32_t q);
/* Lets the ready processes finish and release what they hold. */
void general_reduce_ready(struct general *general);
