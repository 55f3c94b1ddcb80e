/* Builds the wait-for graph of all sessions and finds deadlocks and their shortest cycles. */
#include "sources/watch/graph/judge.h"

#include "foundation/base/error.h"

#include <stdlib.h>
#include <string.h>

#define STARTS_MOST 64 /* start nodes in each deadlock from which a shortest cycle is searched */

void verdict_open(struct verdict *verdict, const gordian_allocator *memory)
{
    *verdict = (struct verdict){.memory = *memory};
    arena_init(&verdict->arena, memory);
}

void verdict_close(struct verdict *verdict)
{
    arena_free(&verdict->arena);
    memory_free_all(&verdict->memory, verdict->arrows, verdict->deadlocks);
    *verdict = (struct verdict){.memory = verdict->memory};
}

/* ------------------------------------------------------------------ edges at a moment */

static void *verdict_alloc(struct verdict *verdict, size_t size)
{
    void *memory = arena_alloc(&verdict->arena, size);
    verdict->failed |= !memory;
    return memory;
}

static void add_arrow(struct verdict *verdict, const struct session_edge *arrow)
{
    if (memory_extend(&verdict->memory, verdict->arrows, verdict->arrow_capacity,
                      verdict->arrow_count))
        verdict->arrows[verdict->arrow_count++] = *arrow;
    else
        verdict->failed = true;
}

/* Collects the edges of the wait-for graph that existed at the moment `at`. An idle session must
 * have been idle since then. */
static void gather_arrows(struct verdict *verdict, const struct links *links,
                          struct source *const *sources, size_t count, uint64_t at)
{
    verdict->arrow_count = 0;
    for (uint32_t s = 0; s < count; s++) {
        const struct scan *scan = &sources[s]->scan;
        for (uint32_t i = 0; i < scan->edge_count && scan->whole && scan->asked >= at; i++) {
            const struct edge *edge = &scan->edges[i];
            const struct session_edge arrow = {
                .from = {s, scan->waits[edge->wait].session},
                .to = {s, edge->holder},
                .edge = i,
                .link = SCAN_NONE,
                .soft = edge->soft,
                .any = scan->waits[edge->wait].any,
            };
            if (edge->since <= at && !edge->guessed)
                add_arrow(verdict, &arrow);
        }
    }
    for (uint32_t i = 0; i < links->count; i++) {
        const struct link *link = &links->list[i];
        const struct scan *from = &sources[link->from.source]->scan;
        const struct session_edge arrow = {
            .from = link->from,
            .to = link->to,
            .edge = SCAN_NONE,
            .link = i,
            .any = link->any,
            .unlikely = link->unlikely,
        };
        if (from->asked >= at && sources[link->to.source]->scan.asked >= at && link->since <= at &&
            from->sessions[link->from.session].since <= at)
            add_arrow(verdict, &arrow);
    }
}

/* ------------------------------------------------------------------ the engine */

/* Which edges of the wait-for graph count. */
enum scope {
    SCOPE_HARD,   /* hard edges and links */
    SCOPE_LOCAL,  /* edges of each server alone */
    SCOPE_LASTING /* all edges that no server resolves */
};

static bool is_in(const struct session_edge *arrow, enum scope scope)
{
    switch (scope) {
    case SCOPE_HARD:
        return !arrow->soft;
    case SCOPE_LOCAL:
        return arrow->edge != SCAN_NONE;
    case SCOPE_LASTING:
        break;
    }
    return !arrow->mended;
}

/* Adds a resource of which one unit is enough for the session. Each edge of this wait holds one
 * unit. */
static gordian_status add_choice(gordian_snapshot *snapshot, const struct verdict *verdict,
                                 const struct session_edge *arrow, enum scope scope,
                                 uint32_t *choice, gordian_error *error)
{
    uint64_t units = 0;
    for (size_t i = 0; i < verdict->arrow_count; i++) {
        const struct session_edge *other = &verdict->arrows[i];
        units += other->any && is_in(other, scope) &&
                 verdict_node(verdict, other->from) == verdict_node(verdict, arrow->from);
    }
    TRY(gordian_snapshot_add_resource(snapshot, units, choice, error));
    return gordian_snapshot_wait(snapshot, verdict_node(verdict, arrow->from), *choice, 1, error);
}

static gordian_status add_to_snapshot(gordian_snapshot *snapshot, const struct verdict *verdict,
                                      const struct session_edge *arrow, enum scope scope,
                                      uint32_t *choices, gordian_error *error)
{
    uint32_t id, from = verdict_node(verdict, arrow->from);
    if (!arrow->any) {
        TRY(gordian_snapshot_add_resource(snapshot, 1, &id, error));
        TRY(gordian_snapshot_wait(snapshot, from, id, 1, error));
    } else if (choices[from] == SCAN_NONE) {
        TRY(add_choice(snapshot, verdict, arrow, scope, &choices[from], error));
    }
    return gordian_snapshot_hold(snapshot, verdict_node(verdict, arrow->to),
                                 arrow->any ? choices[from] : id, 1, error);
}

static gordian_status fill_snapshot(gordian_snapshot *snapshot, struct verdict *verdict,
                                    enum scope scope, gordian_error *error)
{
    uint32_t id;
    uint32_t *choices = arena_alloc(&verdict->arena, (verdict->node_count + 1) * sizeof *choices);
    if (!choices)
        return fail_memory(error);
    for (size_t i = 0; i < verdict->node_count; i++) {
        choices[i] = SCAN_NONE;
        TRY(gordian_snapshot_add_process(snapshot, &id, error));
    }
    for (size_t i = 0; i < verdict->arrow_count; i++)
        if (is_in(&verdict->arrows[i], scope))
            TRY(add_to_snapshot(snapshot, verdict, &verdict->arrows[i], scope, choices, error));
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ shortest cycle */

/* A breadth-first search within the nodes of a deadlock. */
struct search {
    struct verdict *verdict;
    enum scope scope;
    const bool *inside; /* by node */
    uint32_t *came;     /* by node: the edge that led there; SCAN_NONE */
    uint32_t *first;    /* by node: first of its edges in `order`; one element more at the end */
    uint32_t *order;    /* edges by start node */
    uint32_t *queue;
    bool guesses; /* include unlikely edges */
};

static bool search_open(struct search *search, struct verdict *verdict, enum scope scope,
                        const bool *inside)
{
    size_t nodes = verdict->node_count, arrows = verdict->arrow_count;
    uint32_t *words = verdict_alloc(verdict, (3 * nodes + 3 + arrows) * sizeof *words);
    if (!words)
        return false;
    *search = (struct search){verdict,
                              scope,
                              inside,
                              words,
                              words + nodes,
                              words + 2 * nodes + 2,
                              words + 2 * nodes + 2 + arrows};
    for (size_t i = 0; i < arrows; i++)
        search->first[verdict_node(verdict, verdict->arrows[i].from) + 1]++;
    for (size_t i = 0; i < nodes; i++)
        search->first[i + 1] += search->first[i];
    for (size_t i = arrows; i-- > 0;) { /* backwards, so that first[] needs no copy */
        uint32_t node = verdict_node(verdict, verdict->arrows[i].from);
        uint32_t place = search->first[node + 1] - 1 - search->came[node]++;
        search->order[place] = (uint32_t)i;
    }
    return true;
}

/* Searches the shortest cycle through `start`. Returns its length and the last edge; 0: there is
 * none. `came` holds the path. */
static size_t search_from(struct search *search, uint32_t start, uint32_t *last)
{
    const struct verdict *verdict = search->verdict;
    size_t head = 0, tail = 0;
    memset(search->came, 0xff, verdict->node_count * sizeof *search->came);
    search->queue[tail++] = start;
    while (head < tail) {
        uint32_t node = search->queue[head++];
        for (uint32_t k = search->first[node]; k < search->first[node + 1]; k++) {
            const struct session_edge *arrow = &verdict->arrows[search->order[k]];
            uint32_t next = verdict_node(verdict, arrow->to);
            if (!is_in(arrow, search->scope) || !search->inside[next] ||
                (arrow->unlikely && !search->guesses))
                continue;
            if (next == start) {
                *last = search->order[k];
                size_t length = 1;
                for (; node != start; length++)
                    node = verdict_node(verdict, verdict->arrows[search->came[node]].from);
                return length;
            }
            if (search->came[next] == SCAN_NONE && next != start) {
                search->came[next] = search->order[k];
                search->queue[tail++] = next;
            }
        }
    }
    return 0;
}

static void take_cycle(struct search *search, struct deadlock *deadlock, size_t length,
                       uint32_t last)
{
    struct verdict *verdict = search->verdict;
    struct session_edge *cycle = verdict_alloc(verdict, length * sizeof *cycle);
    if (!cycle)
        return;
    for (size_t i = length; i-- > 0;) {
        cycle[i] = verdict->arrows[last];
        last = search->came[verdict_node(verdict, verdict->arrows[last].from)];
    }
    deadlock->cycle = cycle;
    deadlock->cycle_count = length;
}

static void describe_cycle(struct deadlock *deadlock, struct source *const *sources)
{
    for (size_t i = 0; i < deadlock->cycle_count; i++) {
        const struct member *from = &deadlock->cycle[i].from;
        bool first = true;
        for (size_t k = 0; k < i; k++)
            first = first && deadlock->cycle[k].from.source != from->source;
        deadlock->server_count += first;
        deadlock->soft = deadlock->soft || deadlock->cycle[i].soft;
        deadlock->threads += member_session(sources, *from)->thread;
    }
}

static void find_cycle(struct verdict *verdict, struct deadlock *deadlock, enum scope scope,
                       const bool *inside)
{
    struct search search;
    uint32_t last = SCAN_NONE;
    size_t shortest = 0;
    if (!search_open(&search, verdict, scope, inside))
        return;
    for (int guesses = 0; guesses < 2 && !shortest; guesses++) {
        search.guesses = guesses;
        for (size_t i = 0; i < deadlock->member_count && i < STARTS_MOST; i++) {
            size_t length =
                search_from(&search, verdict_node(verdict, deadlock->members[i]), &last);
            if (!length || (shortest && length >= shortest))
                continue;
            shortest = length;
            take_cycle(&search, deadlock, length, last);
        }
    }
}

/* ------------------------------------------------------------------ deadlocks */

/* Returns flags by node: is it a member of the component? */
static bool *mark_part(struct verdict *verdict, const gordian_part *part)
{
    bool *inside = verdict_alloc(verdict, verdict->node_count + 1);
    for (size_t i = 0; i < part->process_count && inside; i++)
        inside[part->processes[i]] = true;
    return inside;
}

/* Adds a component as a deadlock, unless it shares a session with a known deadlock. */
static void take_deadlock(struct verdict *verdict, const gordian_part *part, enum scope scope,
                          struct source *const *sources)
{
    size_t count = part->process_count;
    for (size_t i = 0; i < count; i++)
        if (verdict->in_deadlock[part->processes[i]])
            return;
    struct deadlock deadlock = {.member_count = count};
    const bool *inside = mark_part(verdict, part);
    deadlock.members = verdict_alloc(verdict, count * sizeof *deadlock.members);
    verdict->failed |= !memory_extend(&verdict->memory, verdict->deadlocks,
                                      verdict->deadlock_capacity, verdict->deadlock_count);
    if (verdict->failed)
        return;
    for (size_t i = 0; i < count; i++) {
        uint32_t node = part->processes[i];
        uint32_t source = 0;
        while (verdict->first_node[source + 1] <= node)
            source++;
        deadlock.members[i] = (struct member){source, node - verdict->first_node[source]};
        verdict->in_deadlock[node] = true;
    }
    find_cycle(verdict, &deadlock, scope, inside);
    describe_cycle(&deadlock, sources);
    if (deadlock.cycle_count)
        verdict->deadlocks[verdict->deadlock_count++] = deadlock;
}

/* Marks soft edges within a component of one server: the server resolves such a cycle itself at its
 * next check. */
static void mark_resolved(struct verdict *verdict, const gordian_part *part,
                          struct source *const *sources)
{
    const bool *inside = mark_part(verdict, part);
    bool any = false;
    for (size_t i = 0; i < verdict->arrow_count && inside; i++) {
        struct session_edge *arrow = &verdict->arrows[i];
        if (arrow->soft && inside[verdict_node(verdict, arrow->from)] &&
            inside[verdict_node(verdict, arrow->to)] &&
            sources[arrow->from.source]->facts.resolves_soft_waits)
            any = arrow->mended = true;
    }
    verdict->mended += any;
}

static gordian_status judge_scope(struct verdict *verdict, enum scope scope,
                                  struct source *const *sources, gordian_error *error)
{
    gordian_snapshot *snapshot;
    gordian_report report = {0};
    TRY(gordian_snapshot_open(&snapshot, &verdict->memory, error));
    gordian_status status = fill_snapshot(snapshot, verdict, scope, error);
    THEN(status, gordian_snapshot_check(snapshot, &report, error));
    size_t inside = 0;
    for (size_t i = 0; i < report.part_count && status == GORDIAN_OK; i++) {
        inside += report.parts[i].process_count;
        if (scope == SCOPE_LOCAL)
            mark_resolved(verdict, &report.parts[i], sources);
        else
            take_deadlock(verdict, &report.parts[i], scope, sources);
        if (verdict->failed)
            status = fail_memory(error);
    }
    if (status == GORDIAN_OK) {
        verdict->engine = report.engine;
        if (scope == SCOPE_LASTING && report.deadlocked_count - inside > verdict->behind)
            verdict->behind = report.deadlocked_count - inside;
    }
    gordian_snapshot_close(snapshot);
    return status;
}

/* ------------------------------------------------------------------ moments */

static gordian_status judge_moment(struct verdict *verdict, const struct links *links,
                                   struct source *const *sources, size_t count, uint64_t at,
                                   gordian_error *error)
{
    gather_arrows(verdict, links, sources, count, at);
    if (verdict->failed)
        return fail_memory(error);
    if (verdict->arrow_count == 0)
        return GORDIAN_OK;
    TRY(judge_scope(verdict, SCOPE_HARD, sources, error));
    TRY(judge_scope(verdict, SCOPE_LOCAL, sources, error));
    return judge_scope(verdict, SCOPE_LASTING, sources, error);
}

static gordian_status number_nodes(struct verdict *verdict, struct source *const *sources,
                                   size_t count, gordian_error *error)
{
    arena_free(&verdict->arena);
    verdict->deadlock_count = verdict->behind = verdict->mended = verdict->node_count = 0;
    verdict->engine = NULL;
    verdict->failed = false;
    verdict->first_node = arena_alloc(&verdict->arena, (count + 1) * sizeof(uint32_t));
    if (!verdict->first_node)
        return fail_memory(error);
    for (size_t i = 0; i < count; i++) {
        verdict->first_node[i] = (uint32_t)verdict->node_count;
        verdict->node_count += sources[i]->scan.session_count;
    }
    verdict->first_node[count] = (uint32_t)verdict->node_count;
    verdict->in_deadlock = arena_alloc(&verdict->arena, verdict->node_count + 1);
    return verdict->in_deadlock ? GORDIAN_OK : fail_memory(error);
}

/* Evaluates one moment for each server: the time of its last scan, with the servers that were
 * scanned then or later. So a server without a recent scan does not hide the others. The earliest
 * moment includes all servers. It is evaluated last, and its edges are kept. */
gordian_status judge_scans(struct verdict *verdict, struct links *links,
                           struct source *const *sources, size_t count, gordian_error *error)
{
    uint64_t earliest = UINT64_MAX;
    verdict->arrow_count = 0;
    TRY(number_nodes(verdict, sources, count, error));
    TRY(links_find(links, sources, count, error));
    for (size_t i = 0; i < links->count; i++)
        sources[links->list[i].to.source]->scan.sessions[links->list[i].to.session].linked = true;
    for (size_t i = 0; i < count; i++) {
        const struct scan *scan = &sources[i]->scan;
        if (scan->whole && scan->edge_count && scan->asked < earliest)
            earliest = scan->asked;
    }
    for (size_t i = 0; i < count; i++) {
        const struct scan *scan = &sources[i]->scan;
        if (scan->whole && scan->edge_count && scan->asked != earliest)
            TRY(judge_moment(verdict, links, sources, count, scan->asked, error));
    }
    return earliest == UINT64_MAX ? GORDIAN_OK
                                  : judge_moment(verdict, links, sources, count, earliest, error);
}
