/*
 * The joint firings of a state, one after another: what kernels and the host share.
 *
 * A packed state is one word (compose/packed.h). Firings stand sorted by part: two that get into
 * each other's way are always in one part, and within a part two may fire together if their `uses`
 * have no bit in common. So the joint firings of a state are the non-empty ascending lists of its
 * enabled firings in which neighbours of a part do not clash.
 */
#ifndef GORDIAN_GPU_KERNELS_COMPOSE_WALK_H
#define GORDIAN_GPU_KERNELS_COMPOSE_WALK_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __CUDACC__
#define COMPOSE_INLINE static __device__ __forceinline__
#else
#define COMPOSE_INLINE static inline
#endif

/* Enabled in x if (x & mask) == value; leads to x ^ flip. */
struct compose_firing {
    uint64_t mask, value, flip;
    uint64_t uses;
    uint32_t part, unused;
};

/* More than so many that fire together make more than 2^63 transitions of one state. */
#define COMPOSE_DEPTH 64u

struct compose_walk {
    const struct compose_firing *firings;
    uint32_t count;
    uint64_t from, to; /* to: of the list at hand */
    uint32_t depth;
    uint32_t chosen[COMPOSE_DEPTH]; /* firings of the list at hand */
    uint64_t used[COMPOSE_DEPTH];   /* by those of the same part so far */
};

COMPOSE_INLINE bool compose_enabled(const struct compose_firing *firing, uint64_t state)
{
    return (state & firing->mask) == firing->value;
}

COMPOSE_INLINE void compose_walk_begin(struct compose_walk *walk,
                                       const struct compose_firing *firings, uint32_t count,
                                       uint64_t from)
{
    walk->firings = firings;
    walk->count = count;
    walk->from = walk->to = from;
    walk->depth = 0;
}

/* What the list at hand uses of that part. */
COMPOSE_INLINE uint64_t compose_walk_used(const struct compose_walk *walk, uint32_t part)
{
    uint32_t depth = walk->depth;
    return depth && walk->firings[walk->chosen[depth - 1]].part == part ? walk->used[depth - 1] : 0;
}

/* The next joint firing; false: there are no more. */
COMPOSE_INLINE bool compose_walk_next(struct compose_walk *walk)
{
    const struct compose_firing *firings = walk->firings;
    uint32_t f = walk->depth ? walk->chosen[walk->depth - 1] + 1 : 0;
    for (;;) {
        for (; f < walk->count && walk->depth < COMPOSE_DEPTH; f++) {
            if (!compose_enabled(&firings[f], walk->from))
                continue;
            uint64_t used = compose_walk_used(walk, firings[f].part);
            if (used & firings[f].uses)
                continue;
            walk->chosen[walk->depth] = f;
            walk->used[walk->depth++] = used | firings[f].uses;
            walk->to ^= firings[f].flip;
            return true;
        }
        if (walk->depth == 0)
            return false;
        f = walk->chosen[--walk->depth];
        walk->to ^= firings[f++].flip;
    }
}

/* How many sets of firings [first, last), the empty one included, may fire together: of one
 * part. */
COMPOSE_INLINE uint64_t compose_part_ways(const struct compose_firing *firings, uint32_t first,
                                          uint32_t last, uint64_t state)
{
    uint32_t chosen[COMPOSE_DEPTH], depth = 0, f = first;
    uint64_t used[COMPOSE_DEPTH + 1], ways = 1;
    used[0] = 0;
    for (;;) {
        for (; f < last; f++)
            if (compose_enabled(&firings[f], state) && (used[depth] & firings[f].uses) == 0 &&
                depth < COMPOSE_DEPTH) {
                chosen[depth] = f;
                used[depth + 1] = used[depth] | firings[f].uses;
                depth++;
                ways++;
            }
        if (depth == 0)
            return ways;
        f = chosen[--depth] + 1;
    }
}

/* Joint firings of a state, the empty one included; UINT64_MAX: that many or more. Firings below
 * `singles` are parts of their own. `ends`: where each of the other parts ends. */
COMPOSE_INLINE uint64_t compose_ways(const struct compose_firing *firings, uint32_t singles,
                                     const uint32_t *ends, uint32_t parts, uint64_t state)
{
    uint32_t alone = 0, first = singles;
    for (uint32_t f = 0; f < singles; f++)
        alone += compose_enabled(&firings[f], state);
    uint64_t ways = alone < 63 ? (uint64_t)1 << alone : UINT64_MAX;
    for (uint32_t p = 0; p < parts; p++) {
        uint64_t more = compose_part_ways(firings, first, ends[p], state);
        first = ends[p];
        if ((double)ways * (double)more > 9e18)
            ways = UINT64_MAX;
        else
            ways *= more;
    }
    return ways;
}

COMPOSE_INLINE uint32_t compose_enabled_count(const struct compose_firing *firings, uint32_t count,
                                              uint64_t state)
{
    uint32_t enabled = 0;
    for (uint32_t f = 0; f < count; f++)
        enabled += compose_enabled(&firings[f], state);
    return enabled;
}

#endif
