/*
 * Enumerates the joint firings of a state: shared by kernels and the host.
 *
 * A packed state is one word (engines/compose/explore/packed.h). Firings are sorted by part:
 * conflicting firings are always in the same part, and within a part two may fire together if their
 * `uses` have no bit in common. So the joint firings of a state are the non-empty ascending lists
 * of its enabled firings in which no two of a part conflict.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#ifdef __CUDACC__
#define COMPOSE_INLINE      static __device__ __forceinline__
#define COMPOSE_POPCOUNT(x) ((uint64_t)__popcll(x))
#else
#define COMPOSE_INLINE      static inline
#define COMPOSE_POPCOUNT(x) ((uint64_t)__builtin_popcountll(x))
#endif

/* Enabled in x if (x & mask) == value; leads to x ^ flip. */
struct compose_firing {
    uint64_t mask, value, flip;
    uint64_t uses;
    uint32_t part, unused;
};

/* With more firings than this at a time a state has more than 2^63 transitions. */
#define COMPOSE_DEPTH 64u

struct compose_walk {
    const struct compose_firing *firings;
    uint32_t count;
    uint64_t from, to; /* range of the current list's part */
    uint32_t depth;
    uint32_t chosen[COMPOSE_DEPTH]; /* firings of the current list */
    uint64_t used[COMPOSE_DEPTH];   /* uses of the earlier ones in the same part */
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

/* Returns what the current list uses in that part. */
COMPOSE_INLINE uint64_t compose_walk_used(const struct compose_walk *walk, uint32_t part)
{
    uint32_t depth = walk->depth;
    return depth && walk->firings[walk->chosen[depth - 1]].part == part ? walk->used[depth - 1] : 0;
}

/* Moves to the next joint firing. Returns false if there are no more. */
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

/* Returns how many subsets of firings [first, last) of one part, including the empty one, may fire
 * together. */
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

/* Returns the number of joint firings of a state, including the empty one; UINT64_MAX: that many or
 * more. Firings below `singles` are parts of their own. `ends`: the ends of the other parts. */
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

/* ------------------------------------------------------------------ 64 states at a time */

/* The effect of a firing on a word of 64 adjacent states: whether it concerns the word, which of
 * its states, and how far they move, within the word and by words. */
struct compose_word_firing {
    uint64_t mask, value, flip; /* of the word's number */
    uint64_t pattern;           /* states of the word in which it is enabled */
    int32_t shift, unused;      /* of the moved states within the word, upwards */
};

#define COMPOSE_PLANES 8u  /* bits of a count of enabled firings */
#define COMPOSE_SPLIT  20u /* so that neither half of a sum over any number of states overflows */

struct compose_counts {
    uint64_t states;
    uint64_t firings;   /* indivisible transitions */
    uint64_t low, high; /* joint ones: low + high * 2^COMPOSE_SPLIT */
    uint64_t deadlocks;
    uint64_t overflow; /* states with 2^63 joint ones or more */
};

/* Adds `states` states with that many joint transitions each. */
COMPOSE_INLINE void compose_count_ways(struct compose_counts *counts, uint64_t ways,
                                       uint64_t states)
{
    counts->overflow += ways >= UINT64_MAX / 2;
    counts->low += (ways & ((1u << COMPOSE_SPLIT) - 1)) * states;
    counts->high += (ways >> COMPOSE_SPLIT) * states;
}

/* Returns all joint transitions; UINT64_MAX: overflow. */
COMPOSE_INLINE uint64_t compose_joint_total(const struct compose_counts *counts)
{
    uint64_t high = counts->high + (counts->low >> COMPOSE_SPLIT);
    if (counts->overflow || high >> (64 - COMPOSE_SPLIT))
        return UINT64_MAX;
    return counts->low + (counts->high << COMPOSE_SPLIT);
}

/* Without conflicting firings, a state with n enabled ones has 2^n - 1 joint transitions. `planes`:
 * bit p of that n, for each of the states. */
COMPOSE_INLINE void compose_count_free(struct compose_counts *counts, uint64_t states,
                                       const uint64_t *planes)
{
    uint32_t most = 0;
    for (uint32_t p = 0; p < COMPOSE_PLANES; p++)
        most |= (uint32_t)((planes[p] & states) != 0) << p;
    most |= most >> 1;
    most |= most >> 2;
    most |= most >> 4;
    for (uint32_t n = 1; n <= most; n++) {
        uint64_t those = states;
        for (uint32_t p = 0; p < COMPOSE_PLANES; p++)
            those &= n >> p & 1 ? planes[p] : ~planes[p];
        if (those)
            compose_count_ways(counts, n < 63 ? ((uint64_t)1 << n) - 1 : UINT64_MAX,
                               COMPOSE_POPCOUNT(those));
    }
}

/* Counts everything except the joint transitions of `states` in word `word`; those as well if
 * `joint` is set, no firings conflict and there are fewer than 2^COMPOSE_PLANES. Returns the states
 * with any firing. */
COMPOSE_INLINE uint64_t compose_count_word(struct compose_counts *counts,
                                           const struct compose_word_firing *firings,
                                           uint32_t firing_count, bool joint, uint64_t word,
                                           uint64_t states)
{
    uint64_t any = 0, planes[COMPOSE_PLANES] = {0};
    for (uint32_t i = 0; i < firing_count; i++) {
        uint64_t enabled = states & firings[i].pattern;
        if ((word & firings[i].mask) != firings[i].value || !enabled)
            continue;
        any |= enabled;
        counts->firings += COMPOSE_POPCOUNT(enabled);
        for (uint32_t p = 0; p < COMPOSE_PLANES; p++) { /* one more for each */
            uint64_t carry = planes[p] & enabled;
            planes[p] ^= enabled;
            enabled = carry;
        }
    }
    counts->states += COMPOSE_POPCOUNT(states);
    counts->deadlocks += COMPOSE_POPCOUNT(states & ~any);
    if (joint)
        compose_count_free(counts, any, planes);
    return any;
}
