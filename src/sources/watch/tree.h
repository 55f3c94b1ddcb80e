/* Everybody who waits, folded under who holds them up: for a list of lines, each with its depth.
 *
 *     shop/4711  idle in transaction
 *       shop/4712  waits for t1(0,3)
 *         shop/4720  waits for t1(0,7)
 */
#pragma once

#include "sources/watch/graph/overview.h"
#include "sources/watch/watch.h"

struct tree_line {
    struct member member;
    uint32_t depth;
    bool deadlocked;
    size_t behind; /* of a root */
};

struct tree {
    struct tree_line *lines;
    size_t count, room;
    struct overview overview;
    gordian_allocator memory;
};

void tree_open(struct tree *tree, const gordian_allocator *memory);
void tree_close(struct tree *tree);
/* Of the latest looks; false: out of memory. */
bool tree_take(struct tree *tree, const struct servers *servers, enum tree_order order);
