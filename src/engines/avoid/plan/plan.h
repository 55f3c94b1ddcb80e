/*
 * Capacity planning: how many units do processes with known claims need so that no deadlock is
 * possible without avoidance?
 *
 * When is a deadlock reachable? Processes hold up to their claims, request any amounts in any
 * order, and every request that fits is granted. Let C(j) be the sum of all claims on resource j,
 * T(j) its units, x(j) = C(j) - T(j) its shortage, and N(J) the processes that claim any resource
 * of a set J. Then
 *
 *     a deadlock can be reached  <=>  x(J) >= |N(J)| for some non-empty J.            (*)
 *
 * =>  In a deadlock let S be the processes that can never go on, and w(i) a resource of which i
 *     requests more than the others in S leave it. If k >= 1 of them have w(i) = j, and S leaves f
 *     units of j free, their claims on j are at least (T(j) - f) + k (f + 1) >= T(j) + k. Summed
 *     over the resources J that occur as w(i): the claims of S on J exceed T(J) by at least |S|.
 *     Adding a process that claims something of J adds at least one to the claims and one to the
 *     count, so this also holds for N(J) in place of S.
 * <=  Take J with the largest x(J) - |N(J)|. Removing a part of it gains nothing. This is Hall's
 *     condition for giving each process of N(J) one resource w(i) of J that it claims, none of them
 *     to more than x(j) processes. Now let them take all units of every j given to some process,
 *     each up to its claim, minus one where w(i) = j: there are enough claims for that, because
 *     C(j) - x(j) = T(j). Then each requests one unit of w(i), and none is left.
 *
 * So requests for one unit at a time are as bad as any. For one resource alone the least pool is
 * the well-known sum of (claim - 1), plus 1.
 *
 * The cheapest pools. Avoiding (*) means x(J) <= |N(J)| - 1 for all J: each connected group of
 * resources and claimants can save at most as many units as it has processes, minus one. Kruskal's
 * algorithm is optimal: from the most expensive resource to the cheapest, each joins its claimants,
 * and every two groups of processes that it joins save one of its units. (After each step as much
 * is saved as the resources so far allow at all, so the expensive ones save the most.)
 *
 * Judging given pools. x(J) < |N(J)| for all J holds if and only if every resource j can be given
 * x(j) claimants of its own, and any one of them one more: a bipartite matching that grows resource
 * by resource (plan/match.c). Where it cannot grow, the search has found a J. (A resource that is
 * added always finds one claimant: for J without it x(J) < |N(J)| already holds.)
 */
#pragma once

#include "foundation/base/memory.h"
#include "foundation/base/names/interner.h"

#define PLAN_NONE GORDIAN_NONE

/* Claims of a process: claims[first .. first + count), by resource, none of them zero. */
struct plan_process {
    size_t first;
    uint32_t count, room;
};

struct gordian_plan {
    gordian_allocator memory;
    struct names process_names, resource_names;

    gordian_pool *pools; /* by resource; units, cost, claims and claimants are always up to date */
    uint32_t resource_count, resource_room;
    struct plan_process *processes;
    uint32_t process_count, process_room;
    gordian_want *claims;
    size_t claim_count, claim_room;
    gordian_want *scratch; /* claims being sorted */
    size_t scratch_room;

    gordian_edge *witness; /* of the last answer */
    size_t witness_count, witness_room;
};

/* A claim, seen from its resource. */
struct plan_claimant {
    uint64_t units;
    uint32_t process;
};

/* Working memory of the solver, which changes nothing in the plan. */
struct plan_work {
    const gordian_plan *plan;
    uint32_t *order;                 /* resources, the most expensive first */
    size_t *first;                   /* claimants of resource j: first[j] up to first[j + 1] */
    struct plan_claimant *claimants; /* by resource, then by process */
    uint64_t *least;                 /* by resource: the answers */
    uint64_t *missing;

    uint32_t *group; /* by process: see plan_speaker */

    /* plan/match.c */
    uint32_t *owner; /* by process: the resource it is matched with, or PLAN_NONE */
    uint32_t *level; /* by resource, of the search; PLAN_NONE: not reached */
    size_t *arc;     /* by resource: the next claimant to try */
    uint32_t *queue; /* resources reached, in order */
    uint32_t *path;
    uint32_t reached; /* length of the queue */

    /* The first deadlock found: by process, the resource it waits for, or PLAN_NONE. */
    bool unsafe;
    uint32_t *waits_for;
    uint64_t *spare; /* plan/witness.c, by resource */
    uint32_t *waiting;
};

static inline uint64_t plan_shortage(const gordian_pool *pool)
{
    return pool->claims > pool->units ? pool->claims - pool->units : 0;
}

/* Groups of processes: a union-find forest with path compression. Returns the representative of a
 * process. */
static inline uint32_t plan_speaker(uint32_t *group, uint32_t process)
{
    while (group[process] != process) {
        group[process] = group[group[process]];
        process = group[process];
    }
    return process;
}

/* Merges two groups, given their representatives, and returns the representative. */
static inline uint32_t plan_join(uint32_t *group, uint32_t one, uint32_t other)
{
    uint32_t first = one < other ? one : other;
    group[one < other ? other : one] = first;
    return first;
}

/* Fills in `missing`. If the units there are allow a deadlock, also fills in `unsafe` and
 * `waits_for`. */
void plan_match(struct plan_work *work);

/* Writes to the plan's witness a state in which the processes of `waits_for` are deadlocked,
 * without processes that are not needed for it. Returns false if out of memory. */
bool plan_witness(struct plan_work *work, gordian_plan *plan);
