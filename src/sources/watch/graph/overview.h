/* Finds what blocks sessions, deadlock or not: the root blockers, the longest chain, and the oldest
 * wait. */
#pragma once

#include "sources/watch/graph/source.h"

enum tree_order {
    TREE_BEHIND, /* idle roots first, then by the number of blocked sessions */
    TREE_AGE,    /* the oldest transaction first */
    TREE_NAME,   /* by pid */
    TREE_ORDERS
};

struct root {
    uint32_t source, session;
    size_t behind; /* sessions blocked behind it, directly or not */
};

struct overview {
    struct root *roots; /* idle ones first, then by the number of blocked sessions */
    size_t root_count, root_capacity;
    size_t waiting;        /* sessions that wait for a lock */
    double oldest_s;       /* the oldest wait */
    uint32_t chain_source; /* the longest chain: sessions, from the last to the root */
    uint32_t *chain;
    size_t chain_count, chain_capacity;
    gordian_allocator memory;
};

void overview_open(struct overview *overview, const gordian_allocator *memory);
void overview_close(struct overview *overview);
/* Computes the overview of the latest scans. False: out of memory. */
bool overview_take(struct overview *overview, struct source *const *sources, size_t count);
/* Sorts the roots in another order. */
void overview_sort(struct overview *overview, struct source *const *sources, enum tree_order order);
