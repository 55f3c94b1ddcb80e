/* What holds others up, deadlock or not: the sessions at the root of those who wait, the longest
 * chains, the waits that last. */
#pragma once

#include "sources/watch/graph/source.h"

enum tree_order {
    TREE_BEHIND, /* idle roots first, then by how many wait behind them */
    TREE_AGE,    /* the oldest transaction first */
    TREE_NAME,   /* by pid */
    TREE_ORDERS
};

struct root {
    uint32_t source, session;
    size_t behind; /* who wait for it, directly or not */
};

struct overview {
    struct root *roots; /* those who do nothing first, then by how many wait behind them */
    size_t root_count, root_room;
    size_t waiting;        /* sessions that wait for a lock */
    double oldest_s;       /* the oldest wait */
    uint32_t chain_source; /* the longest chain: sessions, from the last to the root */
    uint32_t *chain;
    size_t chain_count, chain_room;
    gordian_allocator memory;
};

void overview_open(struct overview *overview, const gordian_allocator *memory);
void overview_close(struct overview *overview);
/* Of the latest looks; false: out of memory. */
bool overview_take(struct overview *overview, struct source *const *sources, size_t count);
/* Puts the roots in another order. */
void overview_sort(struct overview *overview, struct source *const *sources, enum tree_order order);
