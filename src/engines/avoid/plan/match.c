/*
 * Can every resource that falls short by x units be given x claimants of its own, and any one of
 * them one more? (See plan.h.) The resources are taken one after the other, the dearest first;
 * each gets as many of the x claimants as leave it one more to be had. What it does not get it
 * must have more units of, and that is the cheapest way: the sets of claimants that can be given
 * away together form a polymatroid, in which greed is optimal.
 *
 * A matching is grown along shortest paths, as many of one length at a time as there are (Dinic's
 * way): from the resource to one of its claimants, to the resource that has it, to one of that
 * one's claimants, ..., to a claimant nobody has.
 *
 * Where there is no path, the resources reached, R, are as tight as can be: |N(R)| - x(R) = 1. To
 * any J that shares a claimant with them they can be added without making |N(J)| - x(J) larger. So
 * they may be taken to be in every such J, where their claimants count as one: these become one
 * group, of which one is still to be had, and R is never looked at again.
 */
#include "engines/avoid/plan/plan.h"

/* A claimant, or whoever speaks for its group. */
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

/* How far every resource is from `from`, up to the first with a claimant nobody has. Is there one?
 * If not, all claimants of those reached belong to those reached. */
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

/* Follows a shortest path from `from`, past what led nowhere before, and matches along it. */
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

/* The search has just failed, for the first time: everybody who claims anything reached can wait
 * for its owner. */
static void note_plan_deadlock(struct plan_work *work)
{
    work->unsafe = true;
    for (uint32_t i = 0; i < work->reached; i++) {
        uint32_t resource = work->queue[i];
        for (size_t at = work->first[resource]; at < work->first[resource + 1]; at++)
            work->waits_for[claimant_of(work, at)] = work->owner[claimant_of(work, at)];
    }
}

/* The search has just failed: one group of all claimants of those reached. */
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

/* One more resource; returns how many units of it are missing. */
static uint64_t match_resource(struct plan_work *work, uint32_t resource)
{
    uint64_t shortage = plan_shortage(&work->plan->pools[resource]);
    uint64_t claimants = work->plan->pools[resource].claimants;
    if (shortage == 0)
        return 0;
    /* Up to `most` claimants for a resource that has none yet; returns how many it gets. */
    uint64_t most = (shortage < claimants ? shortage : claimants) + 1;
    uint64_t got = 0;
    while (got < most && find_levels(work, resource))
        while (got < most && match_one(work, resource))
            got++;
    if (got > shortage) {
        /* The one more, which was only to show that it is there. */
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
    /* A deadlock about one resource alone is the easiest to see. */
    for (uint32_t j = 0; j < work->plan->resource_count && !work->unsafe; j++) {
        const gordian_pool *pool = &work->plan->pools[j];
        work->unsafe = pool->claimants > 0 && plan_shortage(pool) >= pool->claimants;
        for (size_t at = work->first[j]; work->unsafe && at < work->first[j + 1]; at++)
            work->waits_for[work->claimants[at].process] = j;
    }
    for (uint32_t i = 0; i < plan->resource_count; i++)
        work->missing[work->order[i]] = match_resource(work, work->order[i]);
}
