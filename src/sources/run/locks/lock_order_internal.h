/* What the files of the graph of lock orders share, and nobody else knows. */
#ifndef GORDIAN_SOURCES_RUN_LOCKS_LOCK_ORDER_INTERNAL_H
#define GORDIAN_SOURCES_RUN_LOCKS_LOCK_ORDER_INTERNAL_H

#include "sources/run/locks/lock_order_graph.h"

struct graph {
    struct node *nodes;
    struct order *orders;
    struct use *uses;
    struct spot *spots;
    uint32_t node_count, order_count, use_count, spot_count;
};
extern struct graph graph;

/* Is what it is about still there? */
bool use_is_live(const struct use *use);
bool order_is_whole(const struct order *order);

bool search_start(void);

#endif
