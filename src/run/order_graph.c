#include "run/order_graph.h"

#include "run/arena.h"
#include "run/chain.h"
#include "run/maps.h"
#include "run/rwlock.h"
#include "run/sys.h"

#include <string.h>
#include <sys/prctl.h>

#define NODES      (1u << 17)
#define ORDERS     (1u << 16)
#define USES       (1u << 18)
#define BUCKETS    (1u << 16)
#define PAGE_SHIFT 12
#define MOST_HELD  64u     /* held locks looked at: the latest ones, */
#define MOST_OUTER 16u     /* and as many of the first ones, which may keep orders apart */
#define DEEPEST    1024u   /* threads in a deadlock looked for */
#define PATIENCE   100000u /* steps of a search */

static struct node *nodes;
static struct order *orders;
static struct use *uses;
static uint32_t *pages;         /* nodes by page, index + 1 */
static uint32_t *keys;          /* orders by key, index + 1 */
static _Atomic uint8_t *filter; /* by page: may there be a node? */
static uint32_t node_count, order_count, use_count, free_nodes, searches;
static _Atomic uint32_t live_nodes;
static uint32_t *queue; /* of the search; then the path */

bool graph_start(void)
{
    nodes = pages_map(NODES * sizeof *nodes);
    orders = pages_map(ORDERS * sizeof *orders);
    uses = pages_map(USES * sizeof *uses);
    pages = pages_map(BUCKETS * sizeof *pages);
    keys = pages_map(BUCKETS * sizeof *keys);
    filter = pages_map(BUCKETS);
    queue = pages_map((NODES + 4 * DEEPEST) * sizeof *queue);
    return nodes && orders && uses && pages && keys && filter && queue;
}

void graph_clear(void)
{
    memset(pages, 0, BUCKETS * sizeof *pages);
    memset(keys, 0, BUCKETS * sizeof *keys);
    memset((void *)filter, 0, BUCKETS);
    node_count = order_count = use_count = free_nodes = 0;
    atomic_store_explicit(&live_nodes, 0, memory_order_relaxed);
}

const struct order *graph_order(uint32_t index)
{
    return &orders[index];
}

const struct use *graph_use(uint32_t index)
{
    return &uses[index];
}

const struct node *graph_node(uint32_t index)
{
    return &nodes[index];
}

/* ------------------------------------------------------------------ nodes */

static uint32_t page_bucket(uintptr_t page)
{
    return (uint32_t)((page * 0x9e3779b97f4a7c15u) >> 48) % BUCKETS;
}

static void note_stack(uintptr_t lock);

/* UINT32_MAX: no more room. */
static uint32_t node_of(uintptr_t lock, uint32_t kind)
{
    uint32_t bucket = page_bucket(lock >> PAGE_SHIFT);
    for (uint32_t at = pages[bucket]; at; at = nodes[at - 1].next)
        if (nodes[at - 1].lock == lock)
            return at - 1;
    uint32_t index = free_nodes;
    if (index)
        free_nodes = nodes[index - 1].next;
    else if (node_count < NODES)
        index = ++node_count;
    else
        return UINT32_MAX;
    struct node *node = &nodes[index - 1];
    uint32_t generation = node->generation;
    memset(node, 0, sizeof *node);
    node->lock = lock;
    node->generation = generation;
    node->kind = (uint8_t)kind;
    node->live = 1;
    node->next = pages[bucket];
    pages[bucket] = index;
    atomic_store_explicit(&filter[bucket], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&live_nodes, 1, memory_order_relaxed);
    note_stack(lock);
    return index - 1;
}

static void drop_node(uint32_t *link)
{
    uint32_t index = *link;
    struct node *node = &nodes[index - 1];
    *link = node->next;
    node->generation++; /* orders and uses that name it are dead from now on */
    node->live = 0;
    node->next = free_nodes;
    free_nodes = index;
    atomic_fetch_sub_explicit(&live_nodes, 1, memory_order_relaxed);
}

static bool forget_in(uint32_t bucket, uintptr_t low, size_t size)
{
    bool any = false;
    for (uint32_t *link = &pages[bucket]; *link;) {
        struct node *node = &nodes[*link - 1];
        if (node->lock - low < size) {
            drop_node(link);
            any = true;
        } else {
            link = &node->next;
        }
    }
    if (!pages[bucket])
        atomic_store_explicit(&filter[bucket], 0, memory_order_relaxed);
    return any;
}

bool graph_any(void)
{
    return atomic_load_explicit(&live_nodes, memory_order_relaxed) != 0;
}

bool graph_may_have(uintptr_t low, size_t size)
{
    if (!graph_any())
        return false;
    uintptr_t page = low >> PAGE_SHIFT, last = (low + size - 1) >> PAGE_SHIFT;
    if (last - page > 64)
        return true;
    for (; page <= last; page++)
        if (atomic_load_explicit(&filter[page_bucket(page)], memory_order_relaxed))
            return true;
    return false;
}

bool graph_forget(uintptr_t low, size_t size)
{
    bool any = false;
    uintptr_t page = low >> PAGE_SHIFT, last = (low + size - 1) >> PAGE_SHIFT;
    if (last - page >= BUCKETS) {
        for (uint32_t bucket = 0; bucket < BUCKETS; bucket++)
            any = forget_in(bucket, low, size) || any;
        return any;
    }
    for (; page <= last; page++)
        any = forget_in(page_bucket(page), low, size) || any;
    return any;
}

uintptr_t graph_lowest(uintptr_t low, uintptr_t high)
{
    uintptr_t lowest = UINTPTR_MAX;
    for (uint32_t i = 0; i < node_count; i++)
        if (nodes[i].live && nodes[i].lock >= low && nodes[i].lock < high && nodes[i].lock < lowest)
            lowest = nodes[i].lock;
    return lowest;
}

/* A lock on some thread's stack lives no longer than its frame: that thread has to know. */
static void note_stack(uintptr_t lock)
{
    uint32_t limit = atomic_load(&watch.thread_limit);
    for (uint32_t i = 0; i < limit; i++) {
        struct thread *t = &watch.threads[i];
        if (!thread_is_live(t) || lock < t->stack_low || lock >= t->stack_high)
            continue;
        if (lock < atomic_load(&t->lowest_lock))
            atomic_store(&t->lowest_lock, lock);
    }
}

/* ------------------------------------------------------------------ orders */

static bool order_is_live(const struct order *order)
{
    return nodes[order->node].generation == order->generation;
}

static bool use_is_live(const struct use *use)
{
    return nodes[use->node].generation == use->generation;
}

static bool order_is_whole(const struct order *order)
{
    if (!order_is_live(order))
        return false;
    for (uint32_t i = 0; i < order->uses; i++)
        if (!use_is_live(&uses[order->first_use + i]))
            return false;
    return true;
}

/* What an rwlock is like is asked when it is first seen, while this thread holds it. */
static void note_lock(struct node *node, const struct held *hold)
{
    if (node->kind != INCIDENT_RWLOCK)
        return;
    node->written |= hold->mode == INCIDENT_EXCLUSIVE;
    node->queues |= rwlock_prefers_writers((const pthread_rwlock_t *)hold->lock);
}

/* What the parent held at a fork, in memory that both have, the child does not hold; and of what
 * threads give back for each other nobody can say who has it. */
static bool hold_counts(const struct held *hold)
{
    bool lock = hold->kind == INCIDENT_MUTEX || hold->kind == INCIDENT_RWLOCK ||
                hold->kind == INCIDENT_SPIN;
    if (!lock || (hold->flags & HELD_INHERITED && maps_shared(hold->lock)))
        return false;
    return !atomic_load_explicit(&watch.strays, memory_order_relaxed) ||
           !(lock_flags(hold->lock) & LOCK_STRAY);
}

/* A semaphore of one unit keeps those apart who take it. It is never the taken one of an order. */
static bool hold_guards(const struct held *hold)
{
    struct lock_info info;
    return hold->kind == INCIDENT_SEMAPHORE && lock_look(hold->lock, &info) && info.units == 1 &&
           (info.flags & (LOCK_KNOWN | LOCK_SIGNALS | LOCK_SHARED)) == LOCK_KNOWN;
}

static uint32_t find_order(uint64_t key)
{
    for (uint32_t at = keys[key % BUCKETS]; at; at = orders[at - 1].chain)
        if (orders[at - 1].key == key && order_is_whole(&orders[at - 1]))
            return at - 1;
    return UINT32_MAX;
}

/* 1: this thread is new to it. */
static int add_thread(struct order *order, const struct thread *t)
{
    for (uint32_t i = 0; i < order->threads; i++)
        if (order->serial[i] == t->serial)
            return 0;
    if (order->threads == ORDER_THREADS)
        return 0;
    order->serial[order->threads] = t->serial;
    order->tid[order->threads++] = t->tid;
    return 1;
}

static bool add_use(struct order *order, uint32_t index, const struct held *hold)
{
    uint32_t node = node_of(hold->lock, hold->kind);
    if (node == UINT32_MAX || use_count == USES)
        return false;
    note_lock(&nodes[node], hold);
    struct use *use = &uses[use_count++];
    use->node = node;
    use->generation = nodes[node].generation;
    use->order = index;
    use->mode = hold->mode;
    use->frames = hold->frames;
    memcpy(use->frame, hold->frame, hold->frames * sizeof *use->frame);
    use->next = nodes[node].held;
    nodes[node].held = use_count;
    order->uses++;
    return true;
}

static int new_order(const struct thread *t, const struct held *held, uint32_t place,
                     uint32_t *index)
{
    const struct held *taken = &held[place];
    uint32_t node = node_of(taken->lock, taken->kind);
    if (node == UINT32_MAX || order_count == ORDERS)
        return -1;
    note_lock(&nodes[node], taken);
    *index = order_count;
    struct order *order = &orders[order_count++];
    memset(order, 0, sizeof *order);
    order->key = taken->chain;
    order->node = node;
    order->generation = nodes[node].generation;
    order->mode = taken->mode;
    order->frames = taken->frames;
    memcpy(order->frame, taken->frame, taken->frames * sizeof *order->frame);
    order->first_use = use_count;
    sys_call(SYS_prctl, PR_GET_NAME, order->name);
    for (uint32_t i = 0; i < place; i++)
        if ((i < MOST_OUTER || place - i <= MOST_HELD) &&
            (hold_counts(&held[i]) || hold_guards(&held[i])) && !add_use(order, *index, &held[i]))
            return -1;
    order->next = nodes[node].taken;
    nodes[node].taken = *index + 1;
    order->chain = keys[order->key % BUCKETS];
    keys[order->key % BUCKETS] = *index + 1;
    return order->uses ? add_thread(order, t) : 0;
}

int graph_learn(const struct thread *t, const struct held *held, uint32_t place, uint32_t *index)
{
    const struct held *taken = &held[place];
    if (!hold_counts(taken))
        return 0;
    for (uint32_t i = 0; i < place; i++)
        if (held[i].lock == taken->lock)
            return 0; /* has it already: cannot wait for it */
    *index = find_order(taken->chain);
    if (*index != UINT32_MAX)
        return add_thread(&orders[*index], t);
    return new_order(t, held, place, index);
}

/* ------------------------------------------------------------------ ways */

/* Marks every node from which a way leads to something that order holds. */
static bool mark_ways(const struct order *goal)
{
    uint32_t head = 0, tail = 0;
    searches++;
    for (uint32_t i = 0; i < goal->uses; i++) {
        struct node *node = &nodes[uses[goal->first_use + i].node];
        if (node->mark != searches)
            queue[tail++] = uses[goal->first_use + i].node;
        node->mark = searches;
    }
    while (head < tail) {
        const struct node *node = &nodes[queue[head++]];
        for (uint32_t at = node->taken; at; at = orders[at - 1].next) {
            const struct order *order = &orders[at - 1];
            if (!order_is_whole(order))
                continue;
            for (uint32_t i = 0; i < order->uses; i++) {
                uint32_t from = uses[order->first_use + i].node;
                if (nodes[from].mark != searches)
                    queue[tail++] = from;
                nodes[from].mark = searches;
            }
        }
    }
    return nodes[goal->node].mark == searches;
}

/* Would taking it in one mode wait for one who has it in the other? */
static bool in_the_way(const struct node *node, uint32_t taken, uint32_t held)
{
    return taken != INCIDENT_READ || held != INCIDENT_READ || (node->queues && node->written);
}

/* As long as nobody posts it who has not taken it. */
static bool still_guards(const struct node *node)
{
    return node->kind != INCIDENT_SEMAPHORE || !(lock_flags(node->lock) & LOCK_SIGNALS);
}

/* Done under a common lock, two orders never meet. */
static bool kept_apart(const struct order *one, const struct order *two)
{
    for (uint32_t i = 0; i < one->uses; i++)
        for (uint32_t k = 0; k < two->uses; k++) {
            const struct use *a = &uses[one->first_use + i], *b = &uses[two->first_use + k];
            if (a->node == b->node && (a->mode != INCIDENT_READ || b->mode != INCIDENT_READ) &&
                still_guards(&nodes[a->node]))
                return true;
        }
    return false;
}

/* A thread that did this order and none of those on the path; UINT32_MAX: none. */
static uint32_t another_thread(const struct order *order, const struct order_cycle *path)
{
    for (uint32_t i = 0; i < order->threads; i++) {
        bool used = false;
        for (uint32_t k = 0; k < path->count && !used; k++)
            used = orders[path->orders[k]].serial[path->who[k]] == order->serial[i];
        if (!used)
            return i;
    }
    return UINT32_MAX;
}

/* The use of order `first` that `last` takes; UINT32_MAX: none. */
static uint32_t closes_cycle(const struct order *last, const struct order *first)
{
    for (uint32_t i = 0; i < first->uses; i++) {
        const struct use *use = &uses[first->first_use + i];
        if (use->node == last->node && in_the_way(&nodes[use->node], last->mode, use->mode))
            return first->first_use + i;
    }
    return UINT32_MAX;
}

/* May this use come next on the path? Adds it if so. */
static bool step_along(struct order_cycle *path, uint32_t index)
{
    const struct use *use = &uses[index];
    const struct order *order = &orders[use->order];
    const struct order *last = &orders[path->orders[path->count - 1]];
    if (path->count == DEEPEST || !order_is_whole(order) || nodes[order->node].mark != searches ||
        !in_the_way(&nodes[use->node], last->mode, use->mode))
        return false;
    for (uint32_t i = 0; i < path->count; i++)
        if (kept_apart(&orders[path->orders[i]], order))
            return false;
    uint32_t who = another_thread(order, path);
    if (who == UINT32_MAX)
        return false;
    path->orders[path->count] = use->order;
    path->use[path->count] = index;
    path->who[path->count++] = who;
    return true;
}

/* ------------------------------------------------------------------ rings */

static bool order_holds(const struct order *order, uint32_t node)
{
    for (uint32_t i = 0; i < order->uses; i++)
        if (uses[order->first_use + i].node == node)
            return true;
    return false;
}

/* Has some thread gone from one lock to the next, and from there to the one after, in whatever
 * company? */
static bool goes_on(uint32_t from, uint32_t next, uint32_t after)
{
    for (uint32_t at = nodes[next].taken; at; at = orders[at - 1].next)
        for (uint32_t then = nodes[after].taken; then; then = orders[then - 1].next) {
            const struct order *one = &orders[at - 1], *two = &orders[then - 1];
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

/* The order with which a step was first done, in whatever company. */
static const struct order *first_done(uint32_t from, uint32_t next)
{
    const struct order *first = NULL;
    for (uint32_t at = nodes[next].taken; at; at = orders[at - 1].next) {
        const struct order *order = &orders[at - 1];
        if ((!first || order < first) && order_is_whole(order) && order_holds(order, from))
            first = order;
    }
    return first;
}

#define SHORTEST_RING 3u

/* Locks in a ring, such as the buffers of a log: one place in the program goes from each to the
 * next, all the way round, and it is the same threads that go on from one to the next. It takes as
 * many threads as there are locks to deadlock there, each at its own, and a ring that is walked is
 * made so that those ahead are out of the way. Threads that each keep a place of their own (as
 * philosophers do at their table) are another matter. */
static bool walked_round(const struct order_cycle *cycle)
{
    uint32_t falls = 0;
    bool goes = false;
    if (cycle->count < SHORTEST_RING)
        return false;
    for (uint32_t i = 0; i < cycle->count; i++) {
        uint32_t k = (i + 1) % cycle->count, from = uses[cycle->use[i]].node;
        uint32_t next = orders[cycle->orders[i]].node, after = orders[cycle->orders[k]].node;
        const struct order *one = first_done(from, next), *two = first_done(next, after);
        if (!one || !two || !one->frames != !two->frames ||
            (one->frames && one->frame[0] != two->frame[0]))
            return false;
        falls += one > two;
        goes = goes || goes_on(from, next, after);
    }
    return falls == 1 && goes;
}

/* ------------------------------------------------------------------ searching for one */

bool graph_search(uint32_t index, struct order_cycle *cycle)
{
    const struct order *goal = &orders[index];
    /* No way goes on from a lock that was always the last one. */
    if (!nodes[goal->node].held || !mark_ways(goal))
        return false;
    uint32_t *next = queue + NODES; /* by depth: the use to try, index + 1 */
    cycle->orders = next + DEEPEST;
    cycle->use = cycle->orders + DEEPEST;
    cycle->who = cycle->use + DEEPEST;
    cycle->orders[0] = index;
    cycle->who[0] = goal->threads - 1;
    cycle->count = 1;
    next[0] = nodes[goal->node].held;
    for (uint32_t steps = 0; cycle->count && steps < PATIENCE; steps++) {
        uint32_t at = next[cycle->count - 1];
        if (!at) {
            cycle->count--;
            continue;
        }
        next[cycle->count - 1] = uses[at - 1].next;
        if (!use_is_live(&uses[at - 1]) || !step_along(cycle, at - 1))
            continue;
        const struct order *last = &orders[cycle->orders[cycle->count - 1]];
        uint32_t closing = closes_cycle(last, goal);
        if (closing != UINT32_MAX) {
            cycle->use[0] = closing;
            if (!walked_round(cycle))
                return true;
        }
        next[cycle->count - 1] = nodes[last->node].held;
    }
    return false;
}
