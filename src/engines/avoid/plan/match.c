/*
 * Bipartite matching of resources and claimants (see plan.h): can every resource that falls short
 * by x units be given x claimants of its own, and any one of them one more? The resources are taken
 * in turn, the most expensive first. Each gets as many of its x claimants as possible, as long as
 * one more is left for it. The remaining shortage must be covered by additional units. This is the
 * cheapest solution: the sets of claimants that can be given away together form a polymatroid, for
 * which the greedy algorithm is optimal.
 *
 * A matching grows along shortest paths, as many of one length at a time as there are (Dinic's
 * algorithm): from the resource to one of its claimants, to the resource matched with that
 * claimant, to one of the claimants of that resource, and so on, to an unmatched claimant.
 *
 * If there is no path, the resources reached, R, are as tight as possible: |N(R)| - x(R) = 1.
 * Adding R to any J that shares a claimant with it does not make |N(J)| - x(J) larger. So R may be
 * assumed to be in every such J, where its claimants count as one: they are merged into one group,
 * of which one is still available, and R is never visited again.
 */
#include "engines/avoid/plan/plan.h"

/* Returns a claimant, or the representative of its group. */
static uint32_t claimant_of(const struct plan_work *work, size_t at)
{
    return plan_speaker(work->group, work->claimants[at].process);
}

static void reach_resource(struct plan_work *work, uint32_t resource, uint32_t level)
{
    work->level[resource] = level;
    work->arc[resource] = work->first[resource];
    work->queue[work->reached++] = resource;
}

/* Computes the distance of every resource from `from`, up to the first with an unmatched claimant,
 * and returns whether there is one. If not, all claimants of the reached resources are matched with
 * reached resources. */
static bool find_levels(struct plan_work *work, uint32_t from)
{
    for (uint32_t i = 0; i < work->reached; i++)
        work->level[work->queue[i]] = PLAN_NONE;
    work->reached = 0;
    reach_resource(work, from, 0);
    bool found = false;
    for (uint32_t next = 0; next < work->reached && !found; next++) {
        uint32_t resource = work->queue[next];
        for (size_t at = work->first[resource]; at < work->first[resource + 1]; at++) {
            uint32_t owner = work->owner[claimant_of(work, at)];
            if (owner == PLAN_NONE)
                found = true;
            else if (work->level[owner] == PLAN_NONE)
                reach_resource(work, owner, work->level[resource] + 1);
        }
    }
    return found;
}

/* Follows a shortest path from `from`, skipping dead ends found before, and matches along it. */
static bool match_one(struct plan_work *work, uint32_t from)
{
    size_t depth = 0;
    work->path[0] = from;
    for (;;) {
        uint32_t resource = work->path[depth];
        if (work->arc[resource] == work->first[resource + 1]) {
            if (depth == 0)
                return false;
            work->arc[work->path[--depth]]++;
            continue;
        }
        uint32_t owner = work->owner[claimant_of(work, work->arc[resource])];
        if (owner == PLAN_NONE)
            break;
        if (work->level[owner] == work->level[resource] + 1)
            work->path[++depth] = owner;
        else
            work->arc[resource]++;
    }
    for (size_t i = 0; i <= depth; i++)
        work->owner[claimant_of(work, work->arc[work->path[i]]++)] = work->path[i];
    return true;
}

/* The search has just failed for the first time: every claimant of a reached resource can wait for
 * the resource that it is matched with. */
static void note_plan_deadlock(struct plan_work *work)
{
    work->unsafe = true;
    for (uint32_t i = 0; i < work->reached; i++) {
        uint32_t resource = work->queue[i];
        for (size_t at = work->first[resource]; at < work->first[resource + 1]; at++)
            work->waits_for[claimant_of(work, at)] = work->owner[claimant_of(work, at)];
    }
}

/* The search has just failed: merges all claimants of the reached resources into one group. */
static void join_claimants(struct plan_work *work)
{
    uint32_t group = claimant_of(work, work->first[work->queue[0]]);
    for (uint32_t i = 0; i < work->reached; i++) {
        uint32_t resource = work->queue[i];
        for (size_t at = work->first[resource]; at < work->first[resource + 1]; at++)
            group = plan_join(work->group, group, claimant_of(work, at));
    }
    work->owner[group] = PLAN_NONE;
}

/* Adds one resource and returns how many of its units are missing. */
static uint64_t match_resource(struct plan_work *work, uint32_t resource)
{
    uint64_t shortage = plan_shortage(&work->plan->pools[resource]);
    uint64_t claimants = work->plan->pools[resource].claimants;
    if (shortage == 0)
        return 0;
    /* Match up to `most` claimants with a resource that has none yet. */
    uint64_t most = (shortage < claimants ? shortage : claimants) + 1;
    uint64_t got = 0;
    while (got < most && find_levels(work, resource))
        while (got < most && match_one(work, resource))
            got++;
    if (got > shortage) {
        /* Return the additional one, which only had to exist. */
        size_t at = work->first[resource];
        while (work->owner[claimant_of(work, at)] != resource)
            at++;
        work->owner[claimant_of(work, at)] = PLAN_NONE;
        return 0;
    }
    if (!work->unsafe)
        note_plan_deadlock(work);
    join_claimants(work);
    return shortage - (got - 1); /* it gets at least one: see plan.h */
}

void plan_match(struct plan_work *work)
{
    const gordian_plan *plan = work->plan;
    for (uint32_t p = 0; p < plan->process_count; p++) {
        work->owner[p] = work->waits_for[p] = PLAN_NONE;
        work->group[p] = p;
    }
    for (uint32_t j = 0; j < plan->resource_count; j++)
        work->level[j] = PLAN_NONE;
    work->reached = 0;
    work->unsafe = false;
    /* A deadlock on one resource alone is the easiest to understand. */
    for (uint32_t j = 0; j < work->plan->resource_count && !work->unsafe; j++) {
        const gordian_pool *pool = &work->plan->pools[j];
        work->unsafe = pool->claimants > 0 && plan_shortage(pool) >= pool->claimants;
        for (size_t at = work->first[j]; work->unsafe && at < work->first[j + 1]; at++)
            work->waits_for[work->claimants[at].process] = j;
    }
    for (uint32_t i = 0; i < plan->resource_count; i++)
        work->missing[work->order[i]] = match_resource(work, work->order[i]);
}
