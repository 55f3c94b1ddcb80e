#include "sources/run/locks/lock_order_components.h"
#include "sources/run/locks/lock_order_graph.h"
#include "sources/run/locks/lock_registry.h"
#include "sources/run/state/arena.h"

#define DEEPEST     1024u   /* limit of threads in a deadlock */
#define PATIENCE    100000u /* limit of steps in a search */
#define MOST_EFFORT 50000000u
#define MORE_EFFORT 5000u

static uint64_t effort = MOST_EFFORT;

/* ------------------------------------------------------------------ conditions of a deadlock */

/* A budget of work, which every search increases a little. If there are too many orders on cycles,
 * searches become shorter. */
static bool spend(uint64_t work)
{
    bool enough = effort >= work;
    effort = enough ? effort - work : 0;
    return enough;
}

/* Returns whether a lock that it holds is in the same component as the lock it takes. */
static bool is_on_cycle(const struct order *order)
{
    uint32_t component = graph.nodes[order->node].component;
    for (uint32_t i = 0; i < order->uses; i++)
        if (component_same(graph.nodes[graph.uses[order->first_use + i].node].component, component))
            return true;
    return false;
}

/* Returns whether taking the lock in one mode waits for a holder in the other. */
static bool modes_conflict(const struct node *node, uint32_t taken, uint32_t held)
{
    return taken != INCIDENT_READ || held != INCIDENT_READ || (node->queues && node->written);
}

/* Returns whether a lock of the order is also held by an order of the path: a gate lock, under
 * which the two never run at the same time. */
static bool has_gate_lock(const struct order *order)
{
    for (uint32_t i = 0; i < order->uses; i++) {
        const struct use *use = &graph.uses[order->first_use + i];
        const struct node *node = &graph.nodes[use->node];
        /* A semaphore is a gate as long as no thread posts it without having taken it. */
        bool guards = node->kind != INCIDENT_SEMAPHORE || !(lock_flags(node->lock) & LOCK_SIGNALS);
        if ((node->alone || (node->shared && use->mode != INCIDENT_READ)) && guards)
            return true;
    }
    return false;
}

/* Adds (1) or removes (-1) the locks that an order on the path holds. */
static void count_holds(const struct order *order, int32_t change)
{
    for (uint32_t i = 0; i < order->uses; i++) {
        const struct use *use = &graph.uses[order->first_use + i];
        struct node *node = &graph.nodes[use->node];
        if (use->mode == INCIDENT_READ)
            node->shared += (uint32_t)change;
        else
            node->alone += (uint32_t)change;
    }
}

/* Returns a thread that did this order, and none on the path; UINT32_MAX: none. */
static uint32_t another_thread(const struct order *order, const struct order_cycle *path)
{
    for (uint32_t i = 0; i < order->threads; i++) {
        bool used = false;
        for (uint32_t k = 0; k < path->count && !used; k++)
            used = graph.orders[path->orders[k]].serial[path->who[k]] == order->serial[i];
        if (!used)
            return i;
    }
    return UINT32_MAX;
}

/* Returns the use of order `first` that holds the lock `last` takes; UINT32_MAX: none. */
static uint32_t closes_cycle(const struct order *last, const struct order *first)
{
    for (uint32_t i = 0; i < first->uses; i++) {
        const struct use *use = &graph.uses[first->first_use + i];
        if (use->node == last->node &&
            modes_conflict(&graph.nodes[use->node], last->mode, use->mode))
            return first->first_use + i;
    }
    return UINT32_MAX;
}

/* Adds this use to the path if it can be the next one. */
static bool extend_path(struct order_cycle *path, uint32_t index)
{
    const struct use *use = &graph.uses[index];
    const struct order *order = &graph.orders[use->order];
    const struct order *last = &graph.orders[path->orders[path->count - 1]];
    uint32_t component = graph.nodes[graph.orders[path->orders[0]].node].component;
    if (path->count == DEEPEST || !order_is_whole(order) ||
        !component_same(graph.nodes[order->node].component, component) ||
        !modes_conflict(&graph.nodes[use->node], last->mode, use->mode) || has_gate_lock(order))
        return false;
    uint32_t who = another_thread(order, path);
    if (who == UINT32_MAX)
        return false;
    path->orders[path->count] = use->order;
    path->use[path->count] = index;
    path->who[path->count++] = who;
    count_holds(order, 1);
    return true;
}

/* ------------------------------------------------------------------ rings */

static bool order_holds(const struct order *order, uint32_t node)
{
    for (uint32_t i = 0; i < order->uses; i++)
        if (graph.uses[order->first_use + i].node == node)
            return true;
    return false;
}

/* Returns whether a thread has gone from one lock to the next, and from there to the one after.
 * Also true if finding out takes too long, to avoid a false alarm. */
static bool ring_continues(uint32_t from, uint32_t next, uint32_t after)
{
    for (uint32_t at = graph.nodes[next].taken; at; at = graph.orders[at - 1].next)
        for (uint32_t then = graph.nodes[after].taken; then; then = graph.orders[then - 1].next) {
            const struct order *one = &graph.orders[at - 1], *two = &graph.orders[then - 1];
            if (!spend(one->uses + two->uses))
                return true;
            if (!order_is_whole(one) || !order_is_whole(two) || !order_holds(one, from) ||
                !order_holds(two, next))
                continue;
            for (uint32_t i = 0; i < one->threads; i++)
                for (uint32_t k = 0; k < two->threads; k++)
                    if (one->serial[i] == two->serial[k])
                        return true;
        }
    return false;
}

/* Returns the first order with this step. */
static const struct order *first_order_of_step(uint32_t from, uint32_t next)
{
    const struct order *first = NULL;
    for (uint32_t at = graph.nodes[next].taken; at; at = graph.orders[at - 1].next) {
        const struct order *order = &graph.orders[at - 1];
        if ((!first || order < first) && order_is_whole(order) && order_holds(order, from))
            first = order;
    }
    return first;
}

#define SHORTEST_RING 3u

/* Returns whether the cycle is a ring of locks, such as the buffers of a log: one place in the
 * program steps from each lock to the next, all the way around, and the same threads continue from
 * one step to the next. A deadlock there requires as many threads as locks, each at its own lock,
 * and such programs keep the locks ahead free. Threads that each stay at one place (the dining
 * philosophers) are different. */
static bool is_ring(const struct order_cycle *cycle)
{
    uint32_t falls = 0;
    bool goes = false;
    if (cycle->count < SHORTEST_RING)
        return false;
    for (uint32_t i = 0; i < cycle->count; i++) {
        uint32_t k = (i + 1) % cycle->count, from = graph.uses[cycle->use[i]].node;
        uint32_t next = graph.orders[cycle->orders[i]].node,
                 after = graph.orders[cycle->orders[k]].node;
        const struct order *one = first_order_of_step(from, next),
                           *two = first_order_of_step(next, after);
        if (!one || !two || !graph.spots[one->spot].frames != !graph.spots[two->spot].frames ||
            (graph.spots[one->spot].frames &&
             graph.spots[one->spot].frame[0] != graph.spots[two->spot].frame[0]))
            return false;
        falls += one > two;
        goes = goes || ring_continues(from, next, after);
    }
    return falls == 1 && goes;
}

/* ------------------------------------------------------------------ search */

static uint32_t *path_memory; /* four lists of DEEPEST each */

bool search_start(void)
{
    return (path_memory = pages_map(4 * DEEPEST * sizeof *path_memory));
}

static void pop_order(struct order_cycle *path)
{
    count_holds(&graph.orders[path->orders[--path->count]], -1);
}

/* Continues from the last order of the path by the use `at` (index + 1). True: the cycle is
 * complete. */
static bool follow_use(struct order_cycle *path, uint32_t at, uint32_t *next)
{
    if (!use_is_live(&graph.uses[at - 1]) || !extend_path(path, at - 1))
        return false;
    const struct order *last = &graph.orders[path->orders[path->count - 1]];
    uint32_t closing = closes_cycle(last, &graph.orders[path->orders[0]]);
    if (closing != UINT32_MAX) {
        path->use[0] = closing;
        if (!is_ring(path))
            return true;
    }
    next[path->count - 1] = graph.nodes[last->node].held;
    return false;
}

bool graph_search(uint32_t index, struct order_cycle *cycle)
{
    const struct order *goal = &graph.orders[index];
    if (!is_on_cycle(goal))
        return false;
    uint32_t *next = path_memory; /* by depth: the next use to try, index + 1 */
    cycle->orders = next + DEEPEST;
    cycle->use = cycle->orders + DEEPEST;
    cycle->who = cycle->use + DEEPEST;
    cycle->orders[0] = index;
    cycle->who[0] = goal->threads - 1;
    cycle->count = 1;
    count_holds(goal, 1);
    next[0] = graph.nodes[goal->node].held;
    effort = effort + MORE_EFFORT < MOST_EFFORT ? effort + MORE_EFFORT : MOST_EFFORT;
    bool found = false;
    for (uint32_t steps = 0; cycle->count && !found && steps < PATIENCE; steps++) {
        uint32_t at = next[cycle->count - 1];
        if (!at) {
            pop_order(cycle);
            continue;
        }
        next[cycle->count - 1] = graph.uses[at - 1].next;
        if (!spend(1 + graph.orders[graph.uses[at - 1].order].uses))
            break;
        found = follow_use(cycle, at, next);
    }
    uint32_t length = cycle->count;
    while (cycle->count)
        pop_order(cycle);
    cycle->count = found ? length : 0;
    return found;
}
