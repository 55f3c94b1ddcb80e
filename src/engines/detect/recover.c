/* Recovery: chooses the victim that ends a deadlock. */
#include "engines/detect/ahead.h"
#include "foundation/base/error.h"

#include <string.h>

static const char *const policy_texts[] = {
    [GORDIAN_POLICY_YOUNGEST] = "youngest",       [GORDIAN_POLICY_OLDEST] = "oldest",
    [GORDIAN_POLICY_CHEAPEST] = "cheapest",       [GORDIAN_POLICY_LOWEST_PRIORITY] = "priority",
    [GORDIAN_POLICY_FEWEST_HELD] = "fewest-held",
};

#define POLICIES (sizeof policy_texts / sizeof *policy_texts)

bool gordian_policy_parse(const char *text, gordian_policy *policy)
{
    for (size_t i = 1; i < POLICIES; i++)
        if (strcmp(text, policy_texts[i]) == 0) {
            *policy = (gordian_policy)i;
            return true;
        }
    return false;
}

const char *gordian_policy_text(gordian_policy policy)
{
    size_t index = (size_t)policy;
    return index >= 1 && index < POLICIES ? policy_texts[index] : "unknown";
}

/* Sums saturate at 2^63 - 1 units. */
static int64_t units_held(const struct rag *graph, uint32_t process)
{
    uint64_t sum = 0;
    struct rag_edge edge;
    for (uint32_t ref = graph->processes[process].held; ref != NONE; ref = edge.next) {
        edge = rag_held(graph, ref);
        if (graph->resources_more[edge.resource].flags & RAG_AWAIT)
            continue;
        if (__builtin_add_overflow(sum, edge.units, &sum) || sum > INT64_MAX)
            return INT64_MAX;
    }
    return (int64_t)sum;
}

/* Rank of a victim: the lowest goes first. */
static int64_t victim_rank(const gordian_system *system, gordian_policy policy, uint32_t process)
{
    int64_t born = (int64_t)system->graph.processes_more[process].born;
    switch (policy) {
    case GORDIAN_POLICY_YOUNGEST:
        return -born;
    case GORDIAN_POLICY_OLDEST:
        return born;
    case GORDIAN_POLICY_CHEAPEST:
        return gordian_cost(system, process);
    case GORDIAN_POLICY_LOWEST_PRIORITY:
        return gordian_priority(system, process);
    case GORDIAN_POLICY_FEWEST_HELD:
        return units_held(&system->graph, process);
    }
    return 0;
}

/* The best victim so far. Processes are compared pairwise. Among equals the youngest is the victim.
 */
struct choice {
    uint32_t best; /* NONE: none so far */
    int64_t rank;
};

static void consider_victim(struct choice *choice, const gordian_system *system,
                            gordian_policy policy, uint32_t process)
{
    const struct rag_process_more *more = system->graph.processes_more;
    int64_t its = victim_rank(system, policy, process);
    if (choice->best == NONE || its < choice->rank ||
        (its == choice->rank && more[process].born > more[choice->best].born))
        *choice = (struct choice){process, its};
}

/* Chooses among the processes of all irreducible parts of a report. `ids`, unless NULL, maps the
 * report's processes to processes of the system. */
static uint32_t choose_reported_victim(const gordian_system *system, gordian_policy policy,
                                       const gordian_report *report, const uint32_t *ids)
{
    struct choice choice = {.best = NONE};
    for (size_t i = 0; i < report->part_count; i++)
        for (size_t j = 0; j < report->parts[i].process_count; j++) {
            uint32_t process = report->parts[i].processes[j];
            consider_victim(&choice, system, policy, ids ? ids[process] : process);
        }
    return choice.best;
}

/* Returns the quantity that the policy compares, as a number for people. */
static int64_t victim_weight(const gordian_system *system, gordian_policy policy, uint32_t victim)
{
    if (policy != GORDIAN_POLICY_YOUNGEST && policy != GORDIAN_POLICY_OLDEST)
        return victim_rank(system, policy, victim);
    const struct rag *graph = &system->graph;
    int64_t before = 0;
    for (uint32_t p = 0; p < graph->process_limit; p++)
        before += rag_is_process(graph, p) &&
                  graph->processes_more[p].born < graph->processes_more[victim].born;
    return before;
}

static gordian_status end_victim(gordian_system *system, uint32_t process, int64_t its_weight,
                                 gordian_victim *victim, gordian_error *error)
{
    size_t held = gordian_holdings(system, process, NULL, 0), freed = 0;
    if (!memory_grow(&system->graph.memory, &system->edges, &system->edge_room, held + 1,
                     sizeof *system->edges))
        return fail_memory(error);
    gordian_holdings(system, process, system->edges, held);
    for (size_t i = 0; i < held;
         i++) /* Units of awaits do not count: ending the process frees none of them. */
        if (!gordian_is_await(system, system->edges[i].resource))
            system->edges[freed++] = system->edges[i];
    gordian_victim chosen = {
        .process = process, .weight = its_weight, .frees = system->edges, .frees_count = freed};
    gordian_event event = {.op = GORDIAN_OP_EXIT, .process = process, .to = NONE};
    gordian_result result;
    TRY(gordian_feed(system, &event, &result, error));
    chosen.served = gordian_served(system, &chosen.served_count);
    *victim = chosen;
    return GORDIAN_OK;
}

/* Finds the process that the policy would end. NONE: there is no deadlock. `part` is the system or
 * a part of it; `ids`, unless NULL, maps its processes to processes of the system. */
static gordian_status find_victim(const gordian_system *system, gordian_policy policy,
                                  gordian_system *part, const uint32_t *ids, uint32_t *process,
                                  gordian_error *error)
{
    gordian_snapshot *snapshot;
    gordian_report report;
    TRY(system_snapshot(&snapshot, part, error));
    gordian_status status = gordian_snapshot_check(snapshot, &report, error);
    *process = status != GORDIAN_OK ? NONE : choose_reported_victim(system, policy, &report, ids);
    gordian_snapshot_close(snapshot);
    return status;
}

static gordian_status check_policy(gordian_policy policy, gordian_error *error)
{
    if (policy < GORDIAN_POLICY_YOUNGEST || policy > GORDIAN_POLICY_FEWEST_HELD)
        return fail(error, GORDIAN_STATUS_INPUT, "there is no recovery policy %d", (int)policy);
    return GORDIAN_OK;
}

gordian_status gordian_recover_one(gordian_system *system, gordian_policy policy,
                                   gordian_victim *victim, gordian_error *error)
{
    uint32_t process;
    SYSTEM_SCOPE(system);
    TRY(check_policy(policy, error));
    TRY(find_victim(system, policy, system, NULL, &process, error));
    return process == NONE
               ? GORDIAN_STATUS_END
               : end_victim(system, process, victim_weight(system, policy, process), victim, error);
}

/* The same on what lies ahead of this process, which is dead. */
static gordian_status find_victim_near(gordian_system *system, gordian_policy policy,
                                       uint32_t process, uint32_t *victim, gordian_error *error)
{
    struct ahead ahead;
    if (system_closed_by(system, process) == process) {
        /* The processes on the cycle that this process closed. */
        struct choice choice = {.best = NONE};
        uint32_t at = process;
        do {
            consider_victim(&choice, system, policy, at);
            at = system_next_ahead(system, at);
        } while (at != process);
        *victim = choice.best;
        return GORDIAN_OK;
    }
    gordian_status status =
        ahead_open(&ahead, system, process, system->graph.process_limit / 4, error);
    if (status == GORDIAN_STATUS_END) /* too many processes lie ahead: search the whole graph */
        return find_victim(system, policy, system, NULL, victim, error);
    if (status != GORDIAN_OK)
        return status;
    status = find_victim(system, policy, ahead.local, ahead.processes.ids, victim, error);
    ahead_close(&ahead);
    return status;
}

gordian_status system_recover_near(gordian_system *system, gordian_policy policy, uint32_t process,
                                   bool weigh, gordian_victim *victim, gordian_error *error)
{
    bool dead = false;
    uint32_t chosen = NONE;
    gordian_status status = check_policy(policy, error);
    THEN(status, system_is_dead(system, process, &dead, error));
    if (status == GORDIAN_OK && dead)
        status = find_victim_near(system, policy, process, &chosen, error);
    if (status != GORDIAN_OK)
        return status;
    if (chosen == NONE)
        return GORDIAN_STATUS_END;
    bool counts = policy == GORDIAN_POLICY_YOUNGEST || policy == GORDIAN_POLICY_OLDEST;
    int64_t its = weigh || !counts ? victim_weight(system, policy, chosen) : 0;
    return end_victim(system, chosen, its, victim, error);
}
