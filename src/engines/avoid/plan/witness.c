/* Makes a witness: a minimal state of processes that wait for each other forever. In terms of
 * plan.h, the members are S, and member i waits for w(i). The members may hold their claims on an
 * awaited resource, minus one unit for each member that waits for it. This sum must be at least the
 * units of the resource. The excess is spare. */
#include "engines/avoid/plan/plan.h"

static bool is_witness_member(const struct plan_work *work, uint32_t process)
{
    return work->waits_for[process] != PLAN_NONE;
}

/* Returns what a member can hold of a resource: all of its claim, minus the unit it waits for. */
static uint64_t can_hold(const struct plan_work *work, uint32_t process, const gordian_want *claim)
{
    return claim->units - (work->waits_for[process] == claim->resource);
}

/* Returns whether it is a deadlock also without this member. A resource for which it alone waits
 * then does not matter any more. */
static bool is_spare(const struct plan_work *work, uint32_t process)
{
    const struct plan_process *of = &work->plan->processes[process];
    for (uint32_t i = 0; i < of->count; i++) {
        const gordian_want *claim = &work->plan->claims[of->first + i];
        uint32_t waiting = work->waiting[claim->resource];
        bool alone = waiting == 1 && work->waits_for[process] == claim->resource;
        if (waiting > 0 && !alone && can_hold(work, process, claim) > work->spare[claim->resource])
            return false;
    }
    return true;
}

/* Leaves out members, the last ones first. A member that is needed now stays needed whichever
 * others leave, so one pass is enough. Returns how many edges the rest can have. */
static size_t leave_out_spare(struct plan_work *work)
{
    const gordian_plan *plan = work->plan;
    /* Count the members, the waiters of each resource, and what is spare. */
    uint32_t members = 0;
    for (uint32_t j = 0; j < plan->resource_count; j++)
        work->waiting[j] = 0, work->spare[j] = 0;
    for (uint32_t p = 0; p < plan->process_count; p++) {
        const struct plan_process *of = &plan->processes[p];
        if (!is_witness_member(work, p))
            continue;
        members++;
        work->waiting[work->waits_for[p]]++;
        for (uint32_t i = 0; i < of->count; i++) {
            const gordian_want *claim = &plan->claims[of->first + i];
            work->spare[claim->resource] += claim->units;
        }
    }
    for (uint32_t j = 0; j < plan->resource_count; j++)
        if (work->waiting[j] > 0)
            work->spare[j] -= plan->pools[j].units + work->waiting[j];
    size_t edges = 0;
    for (uint32_t p = plan->process_count; p-- > 0;) {
        if (!is_witness_member(work, p))
            continue;
        if (members > 1 && is_spare(work, p)) {
            const struct plan_process *of = &work->plan->processes[p];
            for (uint32_t i = 0; i < of->count; i++) {
                const gordian_want *claim = &work->plan->claims[of->first + i];
                if (work->waiting[claim->resource] > 0)
                    work->spare[claim->resource] -= can_hold(work, p, claim);
            }
            work->waiting[work->waits_for[p]]--;
            work->waits_for[p] = PLAN_NONE;
            members--;
        } else {
            edges += 1 + plan->processes[p].count;
        }
    }
    return edges;
}

/* Adds the wait of a member, and what it takes of what is left. */
static void put_member(struct plan_work *work, gordian_plan *plan, uint64_t *left, uint32_t process)
{
    const struct plan_process *of = &plan->processes[process];
    plan->witness[plan->witness_count++] = (gordian_edge){
        .process = process, .resource = work->waits_for[process], .units = 1, .waits = true};
    for (uint32_t i = 0; i < of->count; i++) {
        const gordian_want *claim = &plan->claims[of->first + i];
        uint64_t units = can_hold(work, process, claim);
        if (work->waiting[claim->resource] == 0)
            continue;
        if (units > left[claim->resource])
            units = left[claim->resource];
        left[claim->resource] -= units;
        if (units > 0)
            plan->witness[plan->witness_count++] = (gordian_edge){
                .process = process, .resource = claim->resource, .units = units, .waits = false};
    }
}

bool plan_witness(struct plan_work *work, gordian_plan *plan)
{
    size_t edges = leave_out_spare(work);
    if (!memory_grow(&plan->memory, &plan->witness, &plan->witness_room, edges,
                     sizeof *plan->witness))
        return false;
    uint64_t *left = work->spare;
    for (uint32_t j = 0; j < plan->resource_count; j++)
        left[j] = plan->pools[j].units;
    plan->witness_count = 0;
    for (uint32_t p = 0; p < plan->process_count; p++)
        if (is_witness_member(work, p))
            put_member(work, plan, left, p);
    return true;
}
