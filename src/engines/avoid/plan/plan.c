/* A plan's resources, processes and claims. plan/solve.c computes its answers. */
#include "engines/avoid/plan/plan.h"

#include "foundation/base/error.h"
#include "foundation/base/sort.h"

#include <string.h>

gordian_status gordian_plan_open(gordian_plan **out, const gordian_allocator *allocator,
                                 gordian_error *error)
{
    gordian_allocator memory = memory_allocator(allocator);
    *out = NULL;
    gordian_plan *plan = memory_zeroed(&memory, sizeof *plan);
    if (!plan)
        return fail_memory(error);
    plan->memory = memory;
    names_init(&plan->process_names, &memory);
    names_init(&plan->resource_names, &memory);
    *out = plan;
    return GORDIAN_OK;
}

void gordian_plan_close(gordian_plan *plan)
{
    if (!plan)
        return;
    gordian_allocator memory = plan->memory;
    names_free(&plan->process_names);
    names_free(&plan->resource_names);
    memory_free_all(&memory, plan->pools, plan->processes, plan->claims, plan->scratch,
                    plan->witness, plan);
}

/* ------------------------------------------------------------------ names */

static bool put_plan_name(struct names *names, uint32_t id, const char *name)
{
    return !name || names_put(names, id, name, strlen(name));
}

uint32_t gordian_plan_find_process(const gordian_plan *plan, const char *name, size_t length)
{
    return names_find(&plan->process_names, name, length);
}

uint32_t gordian_plan_find_resource(const gordian_plan *plan, const char *name, size_t length)
{
    return names_find(&plan->resource_names, name, length);
}

const char *gordian_plan_process_name(const gordian_plan *plan, uint32_t process)
{
    return process < plan->process_count ? names_text(&plan->process_names, process) : NULL;
}

const char *gordian_plan_resource_name(const gordian_plan *plan, uint32_t resource)
{
    return resource < plan->resource_count ? names_text(&plan->resource_names, resource) : NULL;
}

/* ------------------------------------------------------------------ resources */

gordian_status gordian_plan_add_resource(gordian_plan *plan, const char *name, uint64_t units,
                                         uint32_t *id, gordian_error *error)
{
    uint32_t resource = plan->resource_count;
    TRY(names_check(&plan->resource_names, name, "resource", error));
    if (resource == PLAN_NONE - 1)
        return fail(error, GORDIAN_STATUS_INPUT, "too many resources");
    if (!memory_grow32(&plan->memory, &plan->pools, &plan->resource_room, resource + 1,
                       sizeof *plan->pools) ||
        !put_plan_name(&plan->resource_names, resource, name))
        return fail_memory(error);
    plan->pools[resource] = (gordian_pool){.units = units, .cost = 1};
    plan->resource_count++;
    if (id)
        *id = resource;
    return GORDIAN_OK;
}

static gordian_status check_resource(const gordian_plan *plan, uint32_t resource,
                                     gordian_error *error)
{
    if (resource < plan->resource_count)
        return GORDIAN_OK;
    return fail(error, GORDIAN_STATUS_INPUT, "there is no resource %u", resource);
}

gordian_status gordian_plan_set_units(gordian_plan *plan, uint32_t resource, uint64_t units,
                                      gordian_error *error)
{
    TRY(check_resource(plan, resource, error));
    plan->pools[resource].units = units;
    return GORDIAN_OK;
}

gordian_status gordian_plan_set_cost(gordian_plan *plan, uint32_t resource, uint64_t cost,
                                     gordian_error *error)
{
    TRY(check_resource(plan, resource, error));
    plan->pools[resource].cost = cost;
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ claims */

/* Copies `claims` to plan->scratch: sorted by resource, each resource once, without zeros. */
static gordian_status sort_claims(gordian_plan *plan, const gordian_want *claims, size_t count,
                                  size_t *sorted, gordian_error *error)
{
    for (size_t i = 0; i < count; i++)
        TRY(check_resource(plan, claims[i].resource, error));

    if (!memory_grow(&plan->memory, &plan->scratch, &plan->scratch_room, count,
                     sizeof *plan->scratch))
        return fail_memory(error);
    if (count > 0)
        memcpy(plan->scratch, claims, count * sizeof *claims);
    sort_wants(plan->scratch, count);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        gordian_want *claim = &plan->scratch[i];
        gordian_want *last = kept > 0 ? &plan->scratch[kept - 1] : NULL;
        if (claim->units == 0)
            continue;
        if (!last || last->resource != claim->resource)
            plan->scratch[kept++] = *claim;
        else if (__builtin_add_overflow(last->units, claim->units, &last->units))
            return fail(error, GORDIAN_STATUS_INPUT,
                        "a claim of more than 18446744073709551615 units");
    }
    *sorted = kept;
    return GORDIAN_OK;
}

/* Checks that the sum of all claims on each resource still fits into 64 bits when the claims in
 * `scratch` replace the claims of `process` (PLAN_NONE: are added). */
static gordian_status check_sums(const gordian_plan *plan, uint32_t process, size_t count,
                                 gordian_error *error)
{
    struct plan_process known = {0};
    if (process != PLAN_NONE)
        known = plan->processes[process];
    size_t old = known.first, end = known.first + known.count;
    for (size_t i = 0; i < count; i++) {
        const gordian_want *claim = &plan->scratch[i];
        uint64_t others = plan->pools[claim->resource].claims, sum;
        while (old < end && plan->claims[old].resource < claim->resource)
            old++;
        if (old < end && plan->claims[old].resource == claim->resource)
            others -= plan->claims[old].units;
        if (!__builtin_add_overflow(others, claim->units, &sum))
            continue;
        const char *name = names_text(&plan->resource_names, claim->resource);
        return fail(error, GORDIAN_STATUS_INPUT,
                    "the claims on resource %s%.80s%s add up to more than 18446744073709551615",
                    *name ? "'" : "", *name ? name : "without a name", *name ? "'" : "");
    }
    return GORDIAN_OK;
}

/* Adds the claims of a process to the sums, or subtracts them. */
static void count_claims(gordian_plan *plan, uint32_t process, bool in)
{
    const struct plan_process *of = &plan->processes[process];
    for (uint32_t i = 0; i < of->count; i++) {
        const gordian_want *claim = &plan->claims[of->first + i];
        gordian_pool *pool = &plan->pools[claim->resource];
        pool->claims = in ? pool->claims + claim->units : pool->claims - claim->units;
        pool->claimants += in ? 1 : UINT32_MAX;
    }
}

/* Returns the capacity for `count` claims of a process that have to move: twice the old one, so
 * that claims that grow one by one leave little unused memory behind. */
static size_t claims_room(const gordian_plan *plan, uint32_t process, size_t count)
{
    size_t twice = process == PLAN_NONE ? 0 : 2 * (size_t)plan->processes[process].room;
    return count > twice || twice > plan->resource_count ? count : twice;
}

/* Replaces the claims of `process` by the `count` claims in `scratch`. The memory is reserved. */
static void place_claims(gordian_plan *plan, uint32_t process, size_t count)
{
    struct plan_process *of = &plan->processes[process];
    count_claims(plan, process, false);
    if (count > of->room) { /* they do not fit in the old place */
        of->first = plan->claim_count;
        of->room = (uint32_t)claims_room(plan, process, count);
        plan->claim_count += of->room;
    }
    of->count = (uint32_t)count;
    if (count > 0)
        memcpy(plan->claims + of->first, plan->scratch, count * sizeof *plan->claims);
    count_claims(plan, process, true);
}

static gordian_status prepare_claims(gordian_plan *plan, uint32_t process,
                                     const gordian_want *claims, size_t count, size_t *sorted,
                                     gordian_error *error)
{
    TRY(sort_claims(plan, claims, count, sorted, error));
    TRY(check_sums(plan, process, *sorted, error));
    if (!memory_grow(&plan->memory, &plan->claims, &plan->claim_room,
                     plan->claim_count + claims_room(plan, process, *sorted), sizeof *plan->claims))
        return fail_memory(error);
    return GORDIAN_OK;
}

gordian_status gordian_plan_add_process(gordian_plan *plan, const char *name,
                                        const gordian_want *claims, size_t count, uint32_t *id,
                                        gordian_error *error)
{
    uint32_t process = plan->process_count;
    size_t sorted;
    TRY(names_check(&plan->process_names, name, "process", error));
    TRY(prepare_claims(plan, PLAN_NONE, claims, count, &sorted, error));
    if (process == PLAN_NONE - 1)
        return fail(error, GORDIAN_STATUS_INPUT, "too many processes");
    if (!memory_grow32(&plan->memory, &plan->processes, &plan->process_room, process + 1,
                       sizeof *plan->processes) ||
        !put_plan_name(&plan->process_names, process, name))
        return fail_memory(error);
    plan->processes[process] = (struct plan_process){0};
    plan->process_count++;
    place_claims(plan, process, sorted);
    if (id)
        *id = process;
    return GORDIAN_OK;
}

gordian_status gordian_plan_set_claims(gordian_plan *plan, uint32_t process,
                                       const gordian_want *claims, size_t count,
                                       gordian_error *error)
{
    size_t sorted;
    if (process >= plan->process_count)
        return fail(error, GORDIAN_STATUS_INPUT, "there is no process %u", process);
    TRY(prepare_claims(plan, process, claims, count, &sorted, error));
    place_claims(plan, process, sorted);
    return GORDIAN_OK;
}
