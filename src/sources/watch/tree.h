/* The tree of waiting sessions: each session is listed below the session that blocks it. The result
 * is a list of lines with depths.
 *
 *    shop/4711  idle in transaction
 *      shop/4712  waits for t1(0,3)
 *        shop/4720  waits for t1(0,7) */
#pragma once

#include "sources/watch/graph/overview.h"
#include "sources/watch/watch.h"

struct tree_line {
    struct member member;
    uint32_t depth;
    bool deadlocked;
    size_t behind; /* sessions blocked behind a root */
};

struct tree {
    struct tree_line *lines;
    size_t count, capacity;
    struct overview overview;
    gordian_allocator memory;
};

void tree_open(struct tree *tree, const gordian_allocator *memory);
void tree_close(struct tree *tree);
/* Builds the tree from the latest scans. False: out of memory. */
bool tree_take(struct tree *tree, const struct servers *servers, enum tree_order order);
