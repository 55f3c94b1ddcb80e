#include "sources/run/locks/lock_order_graph.h"

#include "sources/run/libc/lock_layout.h"
#include "sources/run/locks/lock_order_components.h"
#include "sources/run/locks/lock_registry.h"
#include "sources/run/state/arena.h"
#include "sources/run/state/hash.h"
#include "sources/run/state/proc_files.h"
#include "sources/run/state/system_call.h"

#include <string.h>
#include <sys/prctl.h>

#define FIRST_NODES  (1u << 16)
#define FIRST_ORDERS (1u << 16)
#define FIRST_USES   (1u << 18)
#define FIRST_SPOTS  (1u << 14)
#define BUCKETS      (1u << 16)
#define PAGE_SHIFT   12
#define MOST_HELD    64u /* at most this many of the latest held locks are checked */
#define MOST_OUTER   16u /* and this many of the first held locks, which may be gate locks */
#define MOST_USES    (MOST_HELD + MOST_OUTER)

struct graph graph;

static uint32_t *pages;         /* nodes by page, index + 1 */
static uint32_t *keys;          /* orders by key, index + 1; as many as there is capacity for */
static uint32_t *spot_keys;     /* spots by hash, the same */
static _Atomic uint8_t *filter; /* by page: may contain a node */
static uint32_t free_nodes;
static _Atomic uint32_t live_nodes;
static size_t node_room = FIRST_NODES, order_room = FIRST_ORDERS, key_room = FIRST_ORDERS;
static size_t use_room = FIRST_USES, spot_room = FIRST_SPOTS, spot_key_room = FIRST_SPOTS;

bool graph_start(void)
{
    graph.nodes = pages_map(node_room * sizeof *graph.nodes);
    graph.orders = pages_map(order_room * sizeof *graph.orders);
    graph.uses = pages_map(use_room * sizeof *graph.uses);
    graph.spots = pages_map(spot_room * sizeof *graph.spots);
    pages = pages_map(BUCKETS * sizeof *pages);
    keys = pages_map(key_room * sizeof *keys);
    spot_keys = pages_map(spot_key_room * sizeof *spot_keys);
    filter = pages_map(BUCKETS);
    return graph.nodes && graph.orders && graph.uses && graph.spots && pages && keys && spot_keys &&
           filter && components_start() && search_start();
}

void graph_clear(void)
{
    memset(pages, 0, BUCKETS * sizeof *pages);
    memset(keys, 0, key_room * sizeof *keys);
    memset((void *)filter, 0, BUCKETS);
    graph.node_count = graph.order_count = graph.use_count = free_nodes = 0;
    atomic_store_explicit(&live_nodes, 0, memory_order_relaxed);
    components_clear();
}

/* ------------------------------------------------------------------ nodes */

static uint32_t page_bucket(uintptr_t page)
{
    return (uint32_t)((page * 0x9e3779b97f4a7c15u) >> 48) % BUCKETS;
}

static void note_stack(uintptr_t lock);

/* Callers have made capacity. */
static uint32_t node_of_lock(uintptr_t lock, uint32_t kind)
{
    uint32_t bucket = page_bucket(lock >> PAGE_SHIFT);
    for (uint32_t at = pages[bucket]; at; at = graph.nodes[at - 1].next)
        if (graph.nodes[at - 1].lock == lock)
            return at - 1;
    uint32_t index = free_nodes;
    if (index)
        free_nodes = graph.nodes[index - 1].next;
    else
        index = ++graph.node_count;
    struct node *node = &graph.nodes[index - 1];
    uint32_t generation = node->generation;
    memset(node, 0, sizeof *node);
    node->lock = lock;
    node->generation = generation;
    node->kind = (uint8_t)kind;
    node->live = 1;
    node->component = component_new();
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
    struct node *node = &graph.nodes[index - 1];
    *link = node->next;
    node->generation++; /* invalidates orders and uses that refer to it */
    node->live = 0;
    node->next = free_nodes;
    free_nodes = index;
    atomic_fetch_sub_explicit(&live_nodes, 1, memory_order_relaxed);
}

static bool forget_in(uint32_t bucket, uintptr_t low, size_t size)
{
    bool any = false;
    for (uint32_t *link = &pages[bucket]; *link;) {
        struct node *node = &graph.nodes[*link - 1];
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
    for (uint32_t i = 0; i < graph.node_count; i++)
        if (graph.nodes[i].live && graph.nodes[i].lock >= low && graph.nodes[i].lock < high &&
            graph.nodes[i].lock < lowest)
            lowest = graph.nodes[i].lock;
    return lowest;
}

/* Notes a lock on a thread's stack, which lives no longer than its frame. */
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

bool use_is_live(const struct use *use)
{
    return graph.nodes[use->node].generation == use->generation;
}

bool order_is_whole(const struct order *order)
{
    if (graph.nodes[order->node].generation != order->generation)
        return false;
    for (uint32_t i = 0; i < order->uses; i++)
        if (!use_is_live(&graph.uses[order->first_use + i]))
            return false;
    return true;
}

/* Reads the properties of a rwlock while this thread holds it. */
static void note_lock(struct node *node, const struct held *hold)
{
    if (node->kind != INCIDENT_RWLOCK)
        return;
    node->written |= hold->mode == INCIDENT_EXCLUSIVE;
    node->queues |= rwlock_prefers_writers((const pthread_rwlock_t *)hold->lock);
}

/* Returns whether the hold counts for lock orders. The child of a fork does not hold the parent's
 * locks in shared memory. A lock that threads release for each other has no known holder. */
static bool hold_counts(const struct held *hold)
{
    bool lock = hold->kind == INCIDENT_MUTEX || hold->kind == INCIDENT_RWLOCK ||
                hold->kind == INCIDENT_SPIN;
    if (!lock || (hold->flags & HELD_INHERITED && maps_shared(hold->lock)))
        return false;
    return !atomic_load_explicit(&watch.strays, memory_order_relaxed) ||
           !(lock_flags(hold->lock) & LOCK_STRAY);
}

/* A semaphore of one unit is a gate lock: its holders exclude each other. It is never the taken
 * lock of an order. */
static bool hold_guards(const struct held *hold)
{
    struct lock_info info;
    return hold->kind == INCIDENT_SEMAPHORE && hold->units > 0 && lock_look(hold->lock, &info) &&
           info.units == 1 &&
           (info.flags & (LOCK_KNOWN | LOCK_SIGNALS | LOCK_SHARED)) == LOCK_KNOWN;
}

/* Drops orders of destroyed locks on the way: where memory is reused often, many of them would have
 * the same key. */
static uint32_t find_same_order(uint64_t key)
{
    for (uint32_t *link = &keys[key & (key_room - 1)]; *link;) {
        struct order *order = &graph.orders[*link - 1];
        if (order->key != key)
            link = &order->chain;
        else if (order_is_whole(order))
            return *link - 1;
        else
            *link = order->chain;
    }
    return UINT32_MAX;
}

/* Returns 1 if this thread is new to the order. */
static int note_order_thread(struct order *order, const struct thread *t)
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

static uint32_t *spot_bucket(const uintptr_t *frame, uint32_t frames)
{
    uint64_t sum = frames;
    for (uint32_t i = 0; i < frames; i++)
        sum = stir_hash(sum + frame[i]);
    return &spot_keys[sum & (spot_key_room - 1)];
}

static uint32_t spot_of(const struct held *hold)
{
    uint32_t *bucket = spot_bucket(hold->frame, hold->frames);
    size_t size = hold->frames * sizeof *hold->frame;
    for (uint32_t at = *bucket; at; at = graph.spots[at - 1].chain)
        if (graph.spots[at - 1].frames == hold->frames &&
            memcmp(graph.spots[at - 1].frame, hold->frame, size) == 0)
            return at - 1;
    struct spot *spot = &graph.spots[graph.spot_count++];
    spot->frames = hold->frames;
    memcpy(spot->frame, hold->frame, size);
    spot->chain = *bucket;
    *bucket = graph.spot_count;
    return graph.spot_count - 1;
}

/* Adds it to the list of its lock. */
static void enter_use(uint32_t index)
{
    struct use *use = &graph.uses[index];
    use->next = graph.nodes[use->node].held;
    graph.nodes[use->node].held = index + 1;
}

static void enter_order(uint32_t index)
{
    struct order *order = &graph.orders[index];
    struct node *node = &graph.nodes[order->node];
    uint32_t *bucket = &keys[order->key & (key_room - 1)];
    order->next = node->taken;
    node->taken = index + 1;
    order->chain = *bucket;
    *bucket = index + 1;
    for (uint32_t i = 0; i < order->uses; i++)
        component_step(graph.nodes[graph.uses[order->first_use + i].node].component,
                       node->component);
}

static void add_use(struct order *order, uint32_t index, const struct held *hold)
{
    uint32_t node = node_of_lock(hold->lock, hold->kind), made = graph.use_count++;
    note_lock(&graph.nodes[node], hold);
    graph.uses[made] = (struct use){.node = node,
                                    .generation = graph.nodes[node].generation,
                                    .order = index,
                                    .spot = spot_of(hold),
                                    .mode = hold->mode};
    enter_use(made);
    order->uses++;
}

/* ------------------------------------------------------------------ capacity */

static bool has_graph_room(void)
{
    return graph.order_count < order_room && graph.use_count + MOST_USES <= use_room &&
           graph.node_count + MOST_USES + 1 <= node_room &&
           graph.spot_count + MOST_USES + 1 <= spot_room &&
           components_have_room(MOST_USES + 1, MOST_USES);
}

static void rehash_orders(void)
{
    memset(keys, 0, key_room * sizeof *keys);
    for (uint32_t i = 0; i < graph.order_count; i++) {
        uint32_t *bucket = &keys[graph.orders[i].key & (key_room - 1)];
        graph.orders[i].chain = *bucket;
        *bucket = i + 1;
    }
}

static void rehash_spots(void)
{
    memset(spot_keys, 0, spot_key_room * sizeof *spot_keys);
    for (uint32_t i = 0; i < graph.spot_count; i++) {
        uint32_t *bucket = spot_bucket(graph.spots[i].frame, graph.spots[i].frames);
        graph.spots[i].chain = *bucket;
        *bucket = i + 1;
    }
}

static bool grow(void)
{
    size_t keys_before = key_room, spots_before = spot_key_room;
    size_t orders = graph.order_count + 1, spots = graph.spot_count + MOST_USES + 1;
    bool done =
        pages_grow(&keys, &key_room, orders, sizeof *keys) &&
        pages_grow(&graph.orders, &order_room, orders, sizeof *graph.orders) &&
        pages_grow(&graph.uses, &use_room, graph.use_count + MOST_USES, sizeof *graph.uses) &&
        pages_grow(&graph.nodes, &node_room, graph.node_count + MOST_USES + 1,
                   sizeof *graph.nodes) &&
        pages_grow(&spot_keys, &spot_key_room, spots, sizeof *spot_keys) &&
        pages_grow(&graph.spots, &spot_room, spots, sizeof *graph.spots) &&
        components_make_room(MOST_USES + 1, MOST_USES);
    if (key_room != keys_before)
        rehash_orders();
    if (spot_key_room != spots_before)
        rehash_spots();
    return done;
}

/* Removes the orders of destroyed locks, and compacts the others. */
static void keep_whole_orders(void)
{
    uint32_t order_count = 0, use_count = 0;
    for (uint32_t i = 0; i < graph.order_count; i++) {
        if (!order_is_whole(&graph.orders[i]))
            continue;
        struct order *order = &graph.orders[order_count];
        *order = graph.orders[i];
        memmove(&graph.uses[use_count], &graph.uses[order->first_use],
                order->uses * sizeof *graph.uses);
        order->first_use = use_count;
        for (uint32_t k = 0; k < order->uses; k++)
            graph.uses[use_count++].order = order_count;
        order_count++;
    }
    graph.order_count = order_count;
    graph.use_count = use_count;
}

static void sweep(void)
{
    if (!components_renew())
        return;
    keep_whole_orders();
    for (uint32_t i = 0; i < graph.node_count; i++) {
        struct node *node = &graph.nodes[i];
        node->taken = node->held = 0;
        if (node->live)
            node->component = component_keep(node->component);
    }
    memset(keys, 0, key_room * sizeof *keys);
    for (uint32_t i = 0; i < graph.use_count; i++)
        enter_use(i);
    for (uint32_t i = 0; i < graph.order_count; i++)
        enter_order(i);
    components_renewed();
}

static bool make_graph_room(void)
{
    if (has_graph_room())
        return true;
    uint32_t whole = 0;
    for (uint32_t i = 0; i < graph.order_count; i++)
        whole += order_is_whole(&graph.orders[i]);
    if (whole <= graph.order_count / 2)
        sweep();
    return has_graph_room() || grow();
}

/* ------------------------------------------------------------------ learning */

static bool hold_is_used(const struct held *held, uint32_t i, uint32_t place)
{
    return (i < MOST_OUTER || place - i <= MOST_HELD) &&
           (hold_counts(&held[i]) || hold_guards(&held[i]));
}

/* Adds the held locks first, so that they precede the taken one in topological order. */
static int new_order(const struct thread *t, const struct held *held, uint32_t place,
                     uint32_t *index)
{
    const struct held *taken = &held[place];
    uint32_t first = 0;
    while (first < place && !hold_is_used(held, first, place))
        first++;
    if (first == place)
        return 0;
    if (!make_graph_room())
        return -1;
    *index = graph.order_count++;
    struct order *order = &graph.orders[*index];
    *order = (struct order){.key = taken->chain,
                            .mode = taken->mode,
                            .spot = spot_of(taken),
                            .first_use = graph.use_count};
    for (uint32_t i = first; i < place; i++)
        if (hold_is_used(held, i, place))
            add_use(order, *index, &held[i]);
    order->node = node_of_lock(taken->lock, taken->kind);
    order->generation = graph.nodes[order->node].generation;
    note_lock(&graph.nodes[order->node], taken);
    sys_call(SYS_prctl, PR_GET_NAME, order->name);
    enter_order(*index);
    return note_order_thread(order, t);
}

int graph_learn(const struct thread *t, const struct held *held, uint32_t place, uint32_t *index)
{
    const struct held *taken = &held[place];
    if (!hold_counts(taken))
        return 0;
    for (uint32_t i = 0; i < place; i++)
        if (held[i].lock == taken->lock)
            return 0; /* already held: no wait is possible */
    *index = find_same_order(taken->chain);
    if (*index != UINT32_MAX)
        return note_order_thread(&graph.orders[*index], t);
    return new_order(t, held, place, index);
}
