/*
 * Strongly connected components of any graph given as adjacency arrays, in linear time and
 * without recursion (Pearce's version of Tarjan's algorithm: one number per node).
 *
 *     struct scc_node nodes[] = {{.first = 0, .end = 2}, {.first = 2, .end = 3}, ...};
 *     uint32_t targets[] = {1, 2, 0, ...};
 *     struct scc scc;
 *     if (scc_open(&scc, &memory, nodes, targets) && scc_run(&scc, NULL, node_count))
 *         for (uint32_t c = 0; c < scc.count; c++)
 *             ... scc.members[scc.starts[c]] .. scc.members[scc.starts[c + 1] - 1] ...
 *     scc_close(&scc);
 *
 * The order of the components is topological: every edge leads to the same or an earlier
 * component. No edge leaves component 0.
 */
#pragma once

#include "foundation/base/memory.h"

/* All data of a node is adjacent: a visit costs one cache miss. */
struct scc_node {
    uint32_t first, end; /* its edges: targets[first] .. targets[end - 1] */
    uint32_t number;     /* 0: not reached; small: on the stack; UINT32_MAX - component */
    uint32_t mark;       /* for the caller */
};

struct scc_frame {
    uint32_t node;
    uint32_t edge, end; /* the next edge to examine, and the end */
    uint32_t order;     /* number of the node */
};

struct scc {
    gordian_allocator memory;
    struct scc_node *nodes;  /* the caller's; at most 2^32 - 2 */
    const uint32_t *targets; /* likewise */

    /* Result of the last run. */
    uint32_t count;        /* components */
    uint32_t *members;     /* all nodes reached, component after component */
    uint32_t member_count; /* number of members */
    uint32_t *starts;      /* first member of each component; one more at the end */

    /* Working memory. It grows with the number of nodes reached. */
    struct scc_frame *frames;
    uint32_t *pending; /* nodes that were left and whose component is not known yet */
    uint32_t member_room, start_room, frame_room, pending_room;
};

/* Prepares a graph. False: out of memory (scc_close is still allowed). */
bool scc_open(struct scc *scc, const gordian_allocator *memory, struct scc_node *nodes,
              const uint32_t *targets);
void scc_close(struct scc *scc);

/* Finds the components of everything reachable from `roots` (NULL: from node 0 to root_count - 1).
 * May be called again, also after edges were removed. A run costs what it and the previous run
 * reach, not the size of the graph. False: out of memory; only scc_close is allowed then. */
bool scc_run(struct scc *scc, const uint32_t *roots, uint32_t root_count);

/* Returns the component of a node that the last run reached; GORDIAN_NONE for other nodes. */
static inline uint32_t scc_component(const struct scc *scc, uint32_t node)
{
    uint32_t number = scc->nodes[node].number;
    return number ? UINT32_MAX - number : GORDIAN_NONE;
}
