/*
 * Requests for several units or resources at once, all or nothing. A process is deadlocked if it is
 * left over when all processes that can have finished and released everything (graph reduction).
 *
 * The method keeps an order of the waiting processes: each can finish once all running processes
 * and all processes before it in the order have finished. While the order holds, no process in it
 * is deadlocked. Grants and releases of running processes do not affect it, because what they hold
 * or have released counts as free either way. A process that is served or ends its wait just leaves
 * the order. Only a new wait can break it:
 *
 *   - The request fits what the running processes leave: the requester goes to the front.
 *   - No process waits for what the requester holds: it goes to the end, or it alone is dead.
 *   - Otherwise the order is walked from the front until the requester fits. Processes that do not
 *     fit without the requester are put off; they follow right behind it.
 *   - If it never fits, it is dead, and so are those that could not finish without it.
 *
 * The dead form a second list. It shrinks only when one of them ends its wait or exits. Dead
 * processes that can then finish after all processes in the order are appended to it.
 */
#include "engines/detect/engine/sparse.h"
#include "foundation/base/bits.h"
#include "foundation/base/error.h"

/* The ends of the two lists, and the index of the first process's links. */
enum { ORDER = 0, DEAD = 1, FIRST = 2 };

static void append_node(struct general_state *general, uint32_t before, uint32_t node)
{
    struct general_links *links = general->links;
    uint32_t prev = links[before].prev;
    links[node] = (struct general_links){.next = before, .prev = prev};
    links[prev].next = node;
    links[before].prev = node;
}

static void unlink_node(struct general_state *general, uint32_t node)
{
    struct general_links *links = general->links;
    links[links[node].prev].next = links[node].next;
    links[links[node].next].prev = links[node].prev;
}

/* Adds the holdings of a process to the counts of the waiting or of the dead; with `sign` -1,
 * subtracts them. Unsigned arithmetic wraps around and back. */
static void count_holdings(struct sparse *sparse, uint32_t process, bool dead, int64_t sign)
{
    struct rag_edge edge;
    for (uint32_t ref = sparse->graph->processes[process].held; ref != NONE; ref = edge.next) {
        edge = rag_held(sparse->graph, ref);
        struct general_units *units = &sparse->general.units[edge.resource];
        *(dead ? &units->dead : &units->blocked) += edge.units * (uint64_t)sign;
    }
}

static void mark_dead(struct sparse *sparse, uint32_t process)
{
    sparse->general.dead[process] = 1;
    append_node(&sparse->general, DEAD, process + FIRST);
    count_holdings(sparse, process, true, 1);
}

static void unmark_dead(struct sparse *sparse, uint32_t process)
{
    sparse->general.dead[process] = 0;
    unlink_node(&sparse->general, process + FIRST);
    count_holdings(sparse, process, true, -1);
}

/* ---- walks: free units while processes finish one after another */

static uint64_t *work_of(struct sparse *sparse, uint32_t resource)
{
    struct general_units *units = &sparse->general.units[resource];
    if (units->walk != sparse->general.walk) {
        units->walk = sparse->general.walk;
        units->work = rag_total_units(sparse->graph, resource) - units->blocked;
    }
    return &units->work;
}

static bool fits_work(struct sparse *sparse, uint32_t process)
{
    struct rag_edge edge;
    for (uint32_t ref = process; ref != NONE; ref = edge.next) {
        edge = rag_wanted(sparse->graph, ref);
        if (edge.units > *work_of(sparse, edge.resource))
            return false;
    }
    return true;
}

static void return_holdings(struct sparse *sparse, uint32_t process)
{
    struct rag_edge edge;
    for (uint32_t ref = sparse->graph->processes[process].held; ref != NONE; ref = edge.next) {
        edge = rag_held(sparse->graph, ref);
        *work_of(sparse, edge.resource) += edge.units;
    }
}

/* Returns whether the request fits if all processes except the dead release everything. */
static bool fits_in_the_end(struct sparse *sparse, uint32_t process)
{
    struct rag_edge edge;
    for (uint32_t ref = process; ref != NONE; ref = edge.next) {
        edge = rag_wanted(sparse->graph, ref);
        uint64_t left = rag_total_units(sparse->graph, edge.resource) -
                        sparse->general.units[edge.resource].dead;
        if (edge.units > left)
            return false;
    }
    return true;
}

/* Walks the order once from `*start`. A process that fits finishes and moves in front of the
 * processes that do not fit. *start becomes the first process that does not fit, or ORDER. Stops
 * when `process` fits and puts it there. */
enum round { PLACED, PROGRESS, STUCK };

static enum round walk_round(struct sparse *sparse, uint32_t process, bool hopeless,
                             uint32_t *start)
{
    struct general_state *general = &sparse->general;
    enum round outcome = STUCK;
    uint32_t put_off = ORDER;
    for (uint32_t node = *start, next; node != ORDER; node = next) {
        next = general->links[node].next;
        if (!fits_work(sparse, node - FIRST)) {
            if (put_off == ORDER)
                put_off = node;
            continue;
        }
        return_holdings(sparse, node - FIRST);
        outcome = PROGRESS;
        if (put_off != ORDER) {
            unlink_node(general, node);
            append_node(general, put_off, node);
        }
        if (!hopeless && fits_work(sparse, process)) {
            append_node(general, put_off != ORDER ? put_off : next, process + FIRST);
            return PLACED;
        }
    }
    *start = put_off;
    return outcome;
}

/* Finds the place of `process` in the order, or declares dead the processes that cannot finish
 * without it. `hopeless`: it is known that the process never fits. Processes put off before its
 * place can finish behind it, because they could finish while it still ran, when fewer units were
 * released. */
static bool walk_order(struct sparse *sparse, uint32_t process, bool hopeless)
{
    struct general_state *general = &sparse->general;
    uint32_t start = general->links[ORDER].next;
    enum round outcome;
    general->walk++;
    do {
        outcome = walk_round(sparse, process, hopeless, &start);
    } while (outcome == PROGRESS && start != ORDER);
    if (outcome == PLACED)
        return true;
    for (uint32_t next; start != ORDER; start = next) {
        next = general->links[start].next;
        unlink_node(general, start);
        mark_dead(sparse, start - FIRST);
    }
    return false;
}

static gordian_outcome general_block(void *engine, uint32_t process)
{
    struct sparse *sparse = engine;
    struct general_state *general = &sparse->general;
    count_holdings(sparse, process, false, 1);
    bool hopeless = !fits_in_the_end(sparse, process);
    bool waited_for = rag_has_waiters(sparse->graph, process);
    if (!hopeless) {
        general->walk++;
        if (fits_work(sparse, process)) {
            append_node(general, general->links[ORDER].next, process + FIRST);
            return GORDIAN_OUTCOME_BLOCKED;
        }
        if (!waited_for) { /* nor by itself: it holds nothing of what it wants */
            append_node(general, ORDER, process + FIRST);
            return GORDIAN_OUTCOME_BLOCKED;
        }
    }
    if (waited_for && walk_order(sparse, process, hopeless))
        return GORDIAN_OUTCOME_BLOCKED;
    mark_dead(sparse, process);
    return hopeless ? GORDIAN_OUTCOME_DOOMED : GORDIAN_OUTCOME_DEADLOCK;
}

/* ---- leaving the lists */

static void general_cancel(void *engine, uint32_t process)
{
    struct sparse *sparse = engine;
    if (sparse->general.dead[process]) {
        unmark_dead(sparse, process);
        sparse->general.revive = true;
    } else {
        unlink_node(&sparse->general, process + FIRST);
    }
    count_holdings(sparse, process, false, -1);
}

static void general_serve(void *engine, uint32_t process, uint32_t from, const gordian_want *wants,
                          size_t count)
{
    struct sparse *sparse = engine;
    (void)from;
    bool dead = sparse->general.dead[process];
    general_cancel(sparse, process);
    /* It did not hold what it was served while it waited. */
    for (size_t i = 0; i < count; i++) {
        struct general_units *units = &sparse->general.units[wants[i].resource];
        units->blocked += wants[i].units;
        if (dead)
            units->dead += wants[i].units;
    }
}

/* No process waits for these units, so the order holds; only the counts change. */
static void general_lend(void *engine, uint32_t process, uint32_t resource, int64_t units)
{
    struct sparse *sparse = engine;
    sparse->general.units[resource].blocked += (uint64_t)units;
    if (sparse->general.dead[process])
        sparse->general.units[resource].dead += (uint64_t)units;
}

/* Moves to the end of the order the dead processes that can finish after all processes in it. */
static void general_settle(void *engine)
{
    struct sparse *sparse = engine;
    struct general_state *general = &sparse->general;
    while (general->revive) {
        general->revive = false;
        for (uint32_t node = general->links[DEAD].next, next; node != DEAD; node = next) {
            next = general->links[node].next;
            if (!fits_in_the_end(sparse, node - FIRST))
                continue;
            unmark_dead(sparse, node - FIRST);
            append_node(general, ORDER, node);
            general->revive = true;
        }
    }
}

static gordian_status general_deadlocked(void *engine, uint64_t *set, gordian_error *error)
{
    const struct sparse *sparse = engine;
    const struct general_links *links = sparse->general.links;
    (void)error;
    for (uint32_t node = links[DEAD].next; node != DEAD; node = links[node].next)
        bits_set(set, node - FIRST);
    return GORDIAN_OK;
}

static bool general_is_dead(void *engine, uint32_t process)
{
    const struct sparse *sparse = engine;
    return sparse->general.dead[process];
}

/* ---- memory, and the first build */

gordian_status general_prepare(struct sparse *sparse, bool rebuild, uint32_t processes,
                               uint32_t resources, gordian_error *error)
{
    struct general_state *general = &sparse->general;
    if (!memory_grow(&sparse->memory, &general->links, &general->link_room,
                     (size_t)processes + FIRST, sizeof *general->links) ||
        !memory_grow_zeroed(&sparse->memory, &general->dead, &general->dead_room, processes,
                            sizeof *general->dead) ||
        !memory_grow_zeroed(&sparse->memory, &general->units, &general->unit_room, resources,
                            sizeof *general->units))
        return fail_memory(error);
    if (rebuild) {
        general->links[ORDER] = (struct general_links){ORDER, ORDER};
        general->links[DEAD] = (struct general_links){DEAD, DEAD};
        /* Every waiting process is dead until proven alive. */
        for (uint32_t p = 0; p < sparse->graph->process_limit; p++)
            if (rag_waits(sparse->graph, p)) {
                count_holdings(sparse, p, false, 1);
                mark_dead(sparse, p);
            }
        general->revive = true;
        general_settle(sparse);
    }
    return GORDIAN_OK;
}

const struct detect_engine sparse_general = {
    .block = general_block,
    .serve = general_serve,
    .cancel = general_cancel,
    .lend = general_lend,
    .settle = general_settle,
    .deadlocked = general_deadlocked,
    .is_dead = general_is_dead,
};
