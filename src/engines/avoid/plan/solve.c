/* Solves a plan: the sums, the cheapest pools (Kruskal's algorithm), the missing units
 * (plan/match.c) and a deadlock that can be reached (plan/witness.c). plan.h has the proofs. */
#include "engines/avoid/plan/plan.h"

#include "foundation/base/error.h"
#include "foundation/base/sort.h"

/* ------------------------------------------------------------------ memory */

static bool work_alloc(struct plan_work *work)
{
    const gordian_plan *plan = work->plan;
    const gordian_allocator *memory = &plan->memory;
    size_t resources = (size_t)plan->resource_count + 1,
           processes = (size_t)plan->process_count + 1;
    size_t claims = 1;
    for (uint32_t p = 0; p < plan->process_count; p++)
        claims += plan->processes[p].count;
    work->order = memory_alloc(memory, resources * sizeof *work->order);
    work->first = memory_zeroed(memory, (resources + 1) * sizeof *work->first);
    work->claimants = memory_alloc(memory, claims * sizeof *work->claimants);
    work->least = memory_alloc(memory, resources * sizeof *work->least);
    work->missing = memory_alloc(memory, resources * sizeof *work->missing);
    work->group = memory_alloc(memory, processes * sizeof *work->group);
    work->owner = memory_alloc(memory, processes * sizeof *work->owner);
    work->level = memory_alloc(memory, resources * sizeof *work->level);
    work->arc = memory_alloc(memory, resources * sizeof *work->arc);
    work->queue = memory_alloc(memory, resources * sizeof *work->queue);
    work->path = memory_alloc(memory, resources * sizeof *work->path);
    work->waits_for = memory_alloc(memory, processes * sizeof *work->waits_for);
    work->spare = memory_alloc(memory, resources * sizeof *work->spare);
    work->waiting = memory_alloc(memory, resources * sizeof *work->waiting);
    return work->order && work->first && work->claimants && work->least && work->missing &&
           work->group && work->owner && work->level && work->arc && work->queue && work->path &&
           work->waits_for && work->spare && work->waiting;
}

/* ------------------------------------------------------------------ the claims, by resource */

/* Sorts the resources by cost, the most expensive first. Resources of equal cost stay in the order
 * in which they were added. */
static bool sort_resources(struct plan_work *work)
{
    const gordian_plan *plan = work->plan;
    uint32_t count = plan->resource_count;
    struct priced {
        uint64_t cheapness;
        uint32_t resource;
    } *priced = memory_alloc(&plan->memory, 2 * ((size_t)count + 1) * sizeof *priced);
    if (!priced)
        return false;
    for (uint32_t j = 0; j < count; j++)
        priced[j] = (struct priced){~plan->pools[j].cost, j};
    const struct priced *sorted = sort_by_number(priced, priced + count, count);
    for (uint32_t j = 0; j < count; j++)
        work->order[j] = sorted[j].resource;
    memory_free(&plan->memory, priced);
    return true;
}

static void group_claims_by_resource(struct plan_work *work)
{
    const gordian_plan *plan = work->plan;
    for (uint32_t j = 0; j < plan->resource_count; j++)
        work->first[j + 1] = work->first[j] + plan->pools[j].claimants;
    for (uint32_t j = 0; j < plan->resource_count; j++)
        work->arc[j] = work->first[j]; /* where the next claimant goes */
    for (uint32_t p = 0; p < plan->process_count; p++) {
        const struct plan_process *of = &plan->processes[p];
        for (uint32_t i = 0; i < of->count; i++) {
            const gordian_want *claim = &plan->claims[of->first + i];
            work->claimants[work->arc[claim->resource]++] = (struct plan_claimant){claim->units, p};
        }
    }
}

/* ------------------------------------------------------------------ the cheapest pools */

static void find_least(struct plan_work *work)
{
    const gordian_plan *plan = work->plan;
    for (uint32_t p = 0; p < plan->process_count; p++)
        work->group[p] = p;
    for (uint32_t i = 0; i < plan->resource_count; i++) {
        uint32_t resource = work->order[i];
        uint64_t saved = 0;
        for (size_t at = work->first[resource] + 1; at < work->first[resource + 1]; at++) {
            uint32_t one = plan_speaker(work->group, work->claimants[at - 1].process);
            uint32_t other = plan_speaker(work->group, work->claimants[at].process);
            saved += one != other;
            plan_join(work->group, one, other);
        }
        work->least[resource] = plan->pools[resource].claims - saved;
    }
}

/* ------------------------------------------------------------------ the answer */

static uint64_t add_capped(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static uint64_t multiply_capped(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static void fill_pools(const struct plan_work *work, gordian_plan *plan,
                       gordian_plan_answer *answer)
{
    *answer = (gordian_plan_answer){.pools = plan->pools, .pool_count = plan->resource_count};
    for (uint32_t j = 0; j < plan->resource_count; j++) {
        gordian_pool *pool = &plan->pools[j];
        uint64_t largest = 0;
        for (size_t at = work->first[j]; at < work->first[j + 1]; at++)
            if (work->claimants[at].units > largest)
                largest = work->claimants[at].units;
        pool->largest = largest;
        pool->alone = pool->claimants ? pool->claims - pool->claimants + 1 : 0;
        pool->least = work->least[j];
        pool->missing = work->missing[j];
        answer->least_units = add_capped(answer->least_units, pool->least);
        answer->least_cost =
            add_capped(answer->least_cost, multiply_capped(pool->least, pool->cost));
        answer->missing_units = add_capped(answer->missing_units, pool->missing);
        answer->missing_cost =
            add_capped(answer->missing_cost, multiply_capped(pool->missing, pool->cost));
    }
}

gordian_status gordian_plan_solve(gordian_plan *plan, gordian_plan_answer *answer,
                                  gordian_error *error)
{
    struct plan_work work = {.plan = plan};
    bool done = work_alloc(&work) && sort_resources(&work);
    if (done) {
        group_claims_by_resource(&work);
        find_least(&work);
        plan_match(&work);
        done = !work.unsafe || plan_witness(&work, plan);
    }
    if (done) {
        fill_pools(&work, plan, answer);
        answer->safe = !work.unsafe;
        if (work.unsafe)
            answer->witness = (gordian_witness){false, plan->witness, plan->witness_count};
    }
    const gordian_allocator *memory = &work.plan->memory;
    memory_free_all(memory, work.order, work.first, work.claimants, work.least, work.missing,
                    work.group, work.owner, work.level, work.arc, work.queue, work.path,
                    work.waits_for, work.spare, work.waiting);
    return done ? GORDIAN_OK : fail_memory(error);
}
