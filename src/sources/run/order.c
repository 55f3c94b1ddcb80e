#include "sources/run/order.h"

#include "sources/run/arena.h"
#include "sources/run/draft.h"
#include "sources/run/export.h"
#include "sources/run/finding.h"
#include "sources/run/guard.h"
#include "sources/run/hash.h"
#include "sources/run/message.h"
#include "sources/run/order_graph.h"
#include "sources/run/real.h"

#include <malloc.h>
#include <string.h>

#define CACHE 1024u

/* What this thread has done since the last lock went: nothing to look at twice. */
struct order_cache {
    uint64_t serial; /* of the thread it belongs to */
    uint32_t epoch;
    uint64_t key[CACHE];
};

static struct guard guard;
/* Threads that were made and not joined yet, ended or not. While there is none, the process has one
 * thread, and had others only before: what it does can meet nobody. A thread that has ended without
 * being joined may have met it, had it been slower. */
static _Atomic uint32_t unjoined;

static _Atomic bool full;
static _Atomic bool forked; /* and no thread made since: what is in the graph is the parent's */

bool order_start(void)
{
    return !watch.potential || graph_start();
}

/* The child has no other threads, and its parent's are not in its way. */
void order_fork(void)
{
    atomic_store(&guard.word, 0);
    atomic_store(&unjoined, 0);
    forked = true;
}

bool order_stop(void)
{
    return guard_take_soon(&guard);
}

void order_go_on(void)
{
    guard_drop(&guard);
}

/* ------------------------------------------------------------------ telling */

/* The same two places in the program make the same mistake, whichever locks it is about. */
static uint64_t signature_of(const struct order_cycle *cycle)
{
    uint64_t sum = INCIDENT_POTENTIAL;
    for (uint32_t i = 0; i < cycle->count; i++) {
        const struct order *order = graph_order(cycle->orders[i]);
        const struct use *use = graph_use(cycle->use[i]);
        const struct spot *there = graph_spot(order->spot), *before = graph_spot(use->spot);
        uint64_t taken = there->frames ? there->frame[0] : graph_node(order->node)->lock;
        uint64_t held = before->frames ? before->frame[0] : graph_node(use->node)->lock;
        sum += stir_hash(taken + stir_hash(held));
    }
    return sum;
}

static uint32_t draw_thread(struct draft *draft, const struct order *order, uint32_t who)
{
    struct thread *t = table_by_tid(order->tid[who]);
    if (t && thread_is_live(t) && t->serial == order->serial[who])
        return draft_thread(draft, t, 0);
    return draft_stranger(draft, order->tid[who], who == 0 ? order->name : "", INCIDENT_ENDED);
}

/* Each order's taken lock is the next one's held one: use[i] is what orders[i] holds of
 * orders[i-1]. */
static bool draw_cycle(struct draft *draft, const struct order_cycle *cycle)
{
    for (uint32_t i = 0; i < cycle->count; i++) {
        const struct order *order = graph_order(cycle->orders[i]);
        const struct use *use = graph_use(cycle->use[i]);
        const struct node *held = graph_node(use->node), *taken = graph_node(order->node);
        uint32_t thread = draw_thread(draft, order, cycle->who[i]);
        uint32_t held_lock = draft_lock(draft, held->lock, held->kind, 0);
        uint32_t taken_lock = draft_lock(draft, taken->lock, taken->kind, 0);
        const struct spot *there = graph_spot(order->spot), *before = graph_spot(use->spot);
        uint32_t held_frames = draft_frames(draft, before->frame, before->frames);
        uint32_t taken_frames = draft_frames(draft, there->frame, there->frames);
        struct incident_order *drawn = draft_order(draft);
        if (!drawn)
            return false;
        *drawn = (struct incident_order){thread,
                                         held_lock,
                                         taken_lock,
                                         use->mode,
                                         order->mode,
                                         held_frames,
                                         before->frames,
                                         taken_frames,
                                         there->frames,
                                         0,
                                         1};
    }
    return true;
}

/* Callers have the guard. */
static bool write_notice(struct thread *t, const struct order_cycle *cycle, struct notice *notice)
{
    uint64_t signature = signature_of(cycle);
    fold_add(notice, INCIDENT_POTENTIAL, signature);
    if (notice->again)
        return false;
    struct arena arena;
    struct draft draft;
    if (!arena_open(&arena))
        return false;
    draft_open(&draft, &arena, INCIDENT_POTENTIAL);
    draft.header.number = notice->number;
    draft.header.signature = signature;
    draft.header.cycle = 1;
    draft.header.first = draft_thread(&draft, t, 0);
    if (draw_cycle(&draft, cycle))
        notice->fd = draft_write(&draft);
    arena_close(&arena);
    return notice->fd >= 0;
}

/* ------------------------------------------------------------------ looking */

static void stop_ordering(void)
{
    bool before = false;
    if (atomic_compare_exchange_strong(&full, &before, true)) {
        watch.potential = false;
        watch_note("no memory for more lock orders: no longer looking for potential deadlocks");
    }
}

static __attribute__((noinline)) void learn_order(struct thread *t, uint32_t place)
{
    struct notice notice;
    struct order_cycle cycle;
    uint32_t index;
    guard_enter(t, &guard, NULL);
    int news = graph_learn(t, t->held, place, &index);
    bool found = news > 0 && graph_search(index, &cycle) && write_notice(t, &cycle, &notice);
    guard_leave(t, &guard, NULL);
    if (news < 0)
        stop_ordering();
    if (found)
        finding_tell(t, &notice);
}

void order_found(void)
{
    if (atomic_fetch_add(&unjoined, 1) == 0)
        atomic_fetch_add(&watch.order_epoch, 1);
}

void order_joined(void)
{
    uint32_t seen = atomic_load(&unjoined);
    while (seen && !atomic_compare_exchange_weak(&unjoined, &seen, seen - 1))
        ;
}

void order_begin(struct thread *creator)
{
    order_found();
    if (unlikely(forked) && creator) {
        guard_enter(creator, &guard, NULL);
        if (watch.potential && forked)
            graph_clear();
        forked = false;
        guard_leave(creator, &guard, NULL);
        atomic_fetch_add(&watch.order_epoch, 1);
    }
}

static bool is_alone(void)
{
    return *watch.single || atomic_load_explicit(&unjoined, memory_order_relaxed) == 0;
}

void order_look(struct thread *t, uint32_t place)
{
    struct order_cache *cache = t->orders;
    if (is_alone() || forked ||
        atomic_load_explicit(&watch.state, memory_order_relaxed) != WATCH_ON)
        return;
    if (unlikely(!cache)) {
        cache = t->orders = pages_map(sizeof *cache);
        if (!cache)
            return;
        cache->epoch = ~0u;
    }
    uint32_t epoch = atomic_load_explicit(&watch.order_epoch, memory_order_relaxed);
    if (unlikely(cache->epoch != epoch || cache->serial != t->serial)) {
        memset(cache->key, 0, sizeof cache->key);
        cache->epoch = epoch;
        cache->serial = t->serial;
    }
    uint64_t key = t->held[place].chain, *slot = &cache->key[(key >> 20) % CACHE];
    if (likely(*slot == key))
        return;
    *slot = key;
    int saved = errno;
    learn_order(t, place);
    errno = saved;
}

void order_forget(uintptr_t low, size_t size)
{
    if (!watch.potential || size == 0 || !graph_may_have(low, size))
        return;
    struct thread *t = self;
    int saved = errno;
    guard_enter(t, &guard, NULL);
    if (graph_forget(low, size))
        atomic_fetch_add(&watch.order_epoch, 1);
    guard_leave(t, &guard, NULL);
    errno = saved;
}

void order_unwind(struct thread *t, uintptr_t frame)
{
    uintptr_t lowest = atomic_load(&t->lowest_lock);
    int saved = errno;
    guard_enter(t, &guard, NULL);
    if (lowest >= t->stack_low && graph_forget(lowest, frame - lowest))
        atomic_fetch_add(&watch.order_epoch, 1);
    atomic_store(&t->lowest_lock, graph_lowest(frame, t->stack_high));
    guard_leave(t, &guard, NULL);
    errno = saved;
}

/* ------------------------------------------------------------------ memory that goes */

/* A lock in memory that is freed is no lock any more, and what comes there next is another one.
 * C++'s mutexes are never destroyed by a call: this is all there is to see of their end. */
static inline void forget_block(void *block)
{
    if (block && watch.potential &&
        atomic_load_explicit(&watch.state, memory_order_relaxed) == WATCH_ON && graph_any())
        order_forget((uintptr_t)block, real.malloc_usable_size(block));
}

WRAPPER(void, free, (void *block))
{
    if (unlikely(!real.free) && !real_resolve() && !real.free)
        return;
    forget_block(block);
    real.free(block);
}
EXPORT(free, V_OLDEST);

WRAPPER(void *, realloc, (void *block, size_t size))
{
    if (unlikely(!real.realloc) && !real_resolve() && !real.realloc)
        return NULL;
    forget_block(block);
    return real.realloc(block, size);
}
EXPORT(realloc, V_OLDEST);

WRAPPER(int, munmap, (void *low, size_t size))
{
    if (unlikely(!real.munmap) && !real_resolve() && !real.munmap)
        return -1;
    if (watch.potential && atomic_load_explicit(&watch.state, memory_order_relaxed) == WATCH_ON &&
        graph_any())
        order_forget((uintptr_t)low, size);
    return real.munmap(low, size);
}
EXPORT(munmap, V_OLDEST);
