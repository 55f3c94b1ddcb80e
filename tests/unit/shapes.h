/* Snapshots of many shapes, and whether two reports are the same. */
#ifndef GORDIAN_TESTS_SHAPES_H
#define GORDIAN_TESTS_SHAPES_H

#include "foundation/base/random.h"
#include "unit/snapshots.h"

#include <string.h>

/* ------------------------------------------------------------------ comparing */

static inline bool same_list(const uint32_t *one, const uint32_t *other, size_t count)
{
    return count == 0 || memcmp(one, other, count * sizeof *one) == 0;
}

static inline bool same_part(const gordian_part *one, const gordian_part *other)
{
    return one->cycle == other->cycle && one->process_count == other->process_count &&
           one->resource_count == other->resource_count &&
           same_list(one->processes, other->processes, one->process_count) &&
           same_list(one->resources, other->resources, one->resource_count);
}

static inline bool same_report(const gordian_report *one, const gordian_report *other)
{
    if (one->deadlocked_count != other->deadlocked_count || one->part_count != other->part_count ||
        !same_list(one->deadlocked, other->deadlocked, one->deadlocked_count))
        return false;
    for (size_t i = 0; i < one->part_count; i++)
        if (!same_part(&one->parts[i], &other->parts[i]))
            return false;
    return true;
}

/* ------------------------------------------------------------------ shapes */

/* A permutation of 0 .. count - 1 that needs no table: four Feistel rounds on the least even
 * number of bits, again while the outcome is too large. */
static inline uint32_t scatter(uint32_t i, uint32_t count, uint64_t key)
{
    unsigned half = 1;
    while (UINT64_C(1) << 2 * half < count)
        half++;
    uint32_t mask = (UINT32_C(1) << half) - 1;
    do {
        uint32_t left = i >> half, right = i & mask;
        for (uint64_t round = 1; round <= 4; round++) {
            uint64_t mixed = (right + round * 0x9e3779b9 + key) * UINT64_C(0xff51afd7ed558ccd);
            uint32_t next = left ^ ((uint32_t)(mixed >> 32) & mask);
            left = right;
            right = next;
        }
        i = left << half | right;
    } while (i >= count);
    return i;
}

/* A snapshot in which process p waits for next[p] (NONE: it runs), which holds one resource: that
 * of its own number or, shuffled, any. Written straight into its arrays. */
static inline gordian_snapshot *from_next(const uint32_t *next, uint32_t count,
                                          struct random *random, bool shuffled)
{
    gordian_snapshot *snapshot;
    MUST(gordian_snapshot_open(&snapshot, NULL, NULL));
    snapshot->wait = memory_alloc(&snapshot->memory, sizeof(uint32_t) * count);
    snapshot->holder = memory_alloc(&snapshot->memory, sizeof(uint32_t) * count);
    REQUIRE(snapshot->wait && snapshot->holder);
    snapshot->process_count = snapshot->process_room = count;
    snapshot->resource_count = snapshot->resource_room = count;
    uint64_t key = random_next(random);
    for (uint32_t p = 0; p < count; p++) {
        uint32_t wanted = next[p];
        if (shuffled && wanted != NONE)
            wanted = scatter(wanted, count, key);
        snapshot->wait[p] = wanted;
        snapshot->holder[shuffled ? scatter(p, count, key) : p] = p;
    }
    return snapshot;
}

/* Rings of `length` over a permutation: the last one may be shorter. */
static inline void make_rings(uint32_t *next, uint32_t count, uint32_t length,
                              struct random *random)
{
    uint64_t key = random_next(random);
    for (uint32_t first = 0; first < count; first += length) {
        uint32_t end = count - first < length ? count : first + length;
        uint32_t start = scatter(first, count, key), at = start;
        for (uint32_t i = first + 1; i < end; i++) {
            uint32_t then = scatter(i, count, key);
            next[at] = then;
            at = then;
        }
        next[at] = start;
        if (end == count)
            return;
    }
}

enum shape {
    CHAIN,    /* p waits for p + 1, the last runs */
    BACKWARD, /* p waits for p - 1 */
    RING,     /* p waits for p + 1, the last for the first */
    SCATTERED_RING,
    SCATTERED_CHAIN,
    PAIRS,
    RINGS, /* of ten */
    LONG_RINGS,
    SELF,
    STAR,      /* all wait for one who runs */
    DEAD_STAR, /* who waits for itself */
    MAPPING,   /* anybody for anybody */
    FOREST,    /* nearly the same, one in a thousand runs */
    HALF,      /* half run */
    STRIDE,    /* p waits for p + 64 */
    IDLE,      /* nobody waits */
    SHAPES,
};

static const char *const shape_names[SHAPES] = {
    "chain",
    "backward chain",
    "ring",
    "scattered ring",
    "scattered chain",
    "pairs",
    "rings of 10",
    "rings of 1000",
    "waiting for itself",
    "star",
    "dead star",
    "random, all wait",
    "random, 0.1% run",
    "random, half run",
    "stride",
    "idle",
};

static inline void make_random(uint32_t *next, uint32_t count, struct random *random,
                               unsigned per_mille)
{
    for (uint32_t p = 0; p < count; p++)
        next[p] =
            random_below(random, 1000) < per_mille ? NONE : (uint32_t)random_below(random, count);
}

static inline void make_shape(uint32_t *next, uint32_t count, enum shape shape,
                              struct random *random)
{
    static const uint32_t lengths[SHAPES] = {[PAIRS] = 2, [RINGS] = 10, [LONG_RINGS] = 1000};
    static const unsigned running[SHAPES] = {[FOREST] = 1, [HALF] = 500, [IDLE] = 1000};
    if (lengths[shape] || shape == SCATTERED_RING || shape == SCATTERED_CHAIN)
        make_rings(next, count, lengths[shape] ? lengths[shape] : count, random);
    else if (shape == MAPPING || running[shape])
        make_random(next, count, random, running[shape]);
    for (uint32_t p = 0; p < count; p++) {
        if (shape == CHAIN)
            next[p] = p + 1 < count ? p + 1 : NONE;
        else if (shape == BACKWARD)
            next[p] = p > 0 ? p - 1 : NONE;
        else if (shape == RING)
            next[p] = p + 1 < count ? p + 1 : 0;
        else if (shape == SELF)
            next[p] = p;
        else if (shape == STAR || shape == DEAD_STAR)
            next[p] = p != count / 2 || shape == DEAD_STAR ? count / 2 : NONE;
        else if (shape == STRIDE)
            next[p] = count - p > 64 ? p + 64 : NONE;
    }
    if (shape == SCATTERED_CHAIN && count > 0)
        next[random_below(random, count)] = NONE;
}

static inline gordian_snapshot *shaped(enum shape shape, uint32_t count, uint64_t seed)
{
    struct random random;
    random_seed(&random, seed);
    uint32_t *next = malloc(sizeof *next * ((size_t)count + 1));
    REQUIRE(next);
    make_shape(next, count, shape, &random);
    gordian_snapshot *snapshot = from_next(next, count, &random, seed % 2 == 0);
    free(next);
    return snapshot;
}

/* ------------------------------------------------------------------ several units */

/* A snapshot of a kind: 1 multi-unit, 2 several one-unit resources, 3 general. Some resources are
 * hubs that many hold or wait for. */
static inline gordian_snapshot *random_units(unsigned kind, uint32_t processes, uint32_t resources,
                                             struct random *random)
{
    unsigned busy = 60 + (unsigned)random_below(random, 41);
    unsigned held = 50 + (unsigned)random_below(random, 51);
    uint64_t units = kind == 2 ? 1 : 1 + random_below(random, 5);
    uint32_t hub =
        resources && random_chance(random, 30) ? (uint32_t)random_below(random, resources) : NONE;
    gordian_snapshot *snapshot = start(processes, 0);
    for (uint32_t q = 0; q < resources; q++) {
        uint64_t total = q == hub && kind != 2 ? processes + 1 : 1 + random_below(random, units);
        MUST(gordian_snapshot_add_resource(snapshot, total, NULL, NULL));
        for (uint64_t left = total; left > 0 && processes && random_chance(random, held);) {
            uint64_t now = kind == 3 ? 1 + random_below(random, left < 4 ? left : 4) : 1;
            hold(snapshot, (uint32_t)random_below(random, processes), q, now);
            left -= now;
        }
    }
    for (uint32_t p = 0; p < processes && resources; p++) {
        if (!random_chance(random, busy))
            continue;
        uint64_t wishes = kind == 1 ? 1 : 1 + random_below(random, 3);
        for (uint64_t i = 0; i < wishes; i++) {
            uint32_t q = (uint32_t)random_below(random, resources);
            if (i == 0 && hub != NONE && random_chance(random, 40))
                q = hub;
            uint64_t most = kind == 3 ? snapshot_total(snapshot, q) : 1;
            gordian_snapshot_wait(snapshot, p, q, 1 + random_below(random, most), NULL);
        }
    }
    return snapshot;
}

/* A long way to the end for the reduction, with a process that holds a lot at its start. */
static inline gordian_snapshot *long_way(uint32_t count, bool dead)
{
    gordian_snapshot *snapshot = start(count, 0);
    for (uint32_t q = 0; q < count; q++) {
        MUST(gordian_snapshot_add_resource(snapshot, 2, NULL, NULL));
        hold(snapshot, q, q, 1);
        hold(snapshot, 0, q, 1);
    }
    for (uint32_t p = 0; p + 1 < count; p++)
        await(snapshot, p, p + 1, 1);
    if (dead && count > 0)
        await(snapshot, count - 1, 0, 1);
    return snapshot;
}

/* Everybody holds some and wants more of one resource: sorted by what they want, one after the
 * other can go on, until nothing is left (or, with too little, at once nobody). */
static inline gordian_snapshot *one_resource(uint32_t count, bool dead)
{
    gordian_snapshot *snapshot = start(count, 0);
    uint64_t total = (uint64_t)count * (count + 1) / 2 + 1;
    MUST(gordian_snapshot_add_resource(snapshot, total, NULL, NULL));
    for (uint32_t p = 0; p < count; p++) {
        uint32_t turn = (uint32_t)((uint64_t)p * 7919 % count); /* scattered */
        hold(snapshot, p, 0, turn + 1);
        await(snapshot, p, 0, dead ? total : (uint64_t)turn * (turn + 1) / 2 + 1);
    }
    return snapshot;
}

/* As many wishes for one resource that half of those left can go on in every round. */
static inline gordian_snapshot *halves(uint32_t count)
{
    gordian_snapshot *snapshot = start(count, 0);
    MUST(gordian_snapshot_add_resource(snapshot, 2 * (uint64_t)count, NULL, NULL));
    for (uint32_t p = 0; p < count; p++) {
        hold(snapshot, p, 0, 1);
        await(snapshot, p, 0, (uint64_t)p * 7919 % count * 2 + 2);
    }
    return snapshot;
}

#endif
