/* Union-find: disjoint sets as a forest. A root is its own parent. */
#pragma once

#include <stdint.h>

/* Returns the root of a member's set. There is no path compression, so a union can be undone. */
static inline uint32_t union_find_root(const uint32_t *parent, uint32_t member)
{
    while (parent[member] != member)
        member = parent[member];
    return member;
}
