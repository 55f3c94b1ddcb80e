/*
 * Strongly connected components of any graph given as adjacency arrays, in linear time and
 * without recursion (Pearce's form of Tarjan's algorithm: one number a node).
 *
 *     struct scc_node nodes[] = {{.first = 0, .end = 2}, {.first = 2, .end = 3}, ...};
 *     uint32_t targets[] = {1, 2, 0, ...};
 *     struct scc scc;
 *     if (scc_open(&scc, &memory, nodes, targets) && scc_run(&scc, NULL, node_count))
 *         for (uint32_t c = 0; c < scc.count; c++)
 *             ... scc.members[scc.starts[c]] .. scc.members[scc.starts[c + 1] - 1] ...
 *     scc_close(&scc);
 *
 * Components come out in such an order that every edge leads to the same component or to one
 * that came before: component 0 leads nowhere else.
 */
#pragma once

#include "foundation/base/memory.h"

/* What belongs to a node lies together: looking at one costs one miss. */
struct scc_node {
    uint32_t first, end; /* its edges: targets[first] .. targets[end - 1] */
    uint32_t number;     /* zero at first; then: 0 not reached, small on the way,
                            UINT32_MAX - component */
    uint32_t mark;       /* the caller's */
};

struct scc_frame {
    uint32_t node;
    uint32_t edge, end; /* the next one to look at, and past the last */
    uint32_t order;     /* when the node was come upon */
};

struct scc {
    gordian_allocator memory;
    struct scc_node *nodes;  /* the caller's; at most 2^32 - 2 */
    const uint32_t *targets; /* likewise */

    /* The answer of the last run. */
    uint32_t count;        /* components */
    uint32_t *members;     /* all nodes reached, component after component */
    uint32_t member_count; /* of them */
    uint32_t *starts;      /* by component; one more at the end */

    /* Working memory, it grows with what is reached. */
    struct scc_frame *frames;
    uint32_t *pending; /* nodes passed by, component not yet known */
    uint32_t member_room, start_room, frame_room, pending_room;
};

/* Gets ready to look at a graph. False: out of memory (closing is fine). */
bool scc_open(struct scc *scc, const gordian_allocator *memory, struct scc_node *nodes,
              const uint32_t *targets);
void scc_close(struct scc *scc);

/* The components of everything that can be reached from `roots` (NULL: from node 0 to
 * root_count - 1). May be called again, edges may have gone meanwhile: each run costs what it
 * and the one before reach, not the size of the graph. False: out of memory, and all that is left
 * is to close. */
bool scc_run(struct scc *scc, const uint32_t *roots, uint32_t root_count);

/* The component of a node reached by the last run; GORDIAN_NONE for any other. */
static inline uint32_t scc_component(const struct scc *scc, uint32_t node)
{
    uint32_t number = scc->nodes[node].number;
    return number ? UINT32_MAX - number : GORDIAN_NONE;
}
