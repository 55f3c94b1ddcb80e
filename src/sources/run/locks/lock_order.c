#include "sources/run/locks/lock_order.h"

#include "sources/run/locks/lock_order_graph.h"
#include "sources/run/state/arena.h"
#include "sources/run/state/guard.h"
#include "sources/run/state/message.h"

#include <string.h>

#define CACHE 1024u

/* The keys of holds that this thread has already checked, since the last lock was destroyed. */
struct order_cache {
    uint64_t serial; /* of the thread it belongs to */
    uint32_t epoch;
    uint64_t key[CACHE];
};

static struct guard guard;
/* Number of threads created and not joined, alive or not. If there are none, the process has one
 * thread, and had others only earlier: its locks cannot conflict with those of others. A thread
 * that ended without being joined could have run at the same time. */
static _Atomic uint32_t unjoined;

static order_learner *learn;
static _Atomic bool full;
static _Atomic bool forked; /* no thread was created since the fork: the graph is the parent's */

bool order_start(order_learner *learner)
{
    learn = learner;
    return !watch.potential || graph_start();
}

/* The child has no other threads, and cannot conflict with the parent's. */
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

void order_enter(struct thread *t)
{
    guard_enter(t, &guard, NULL);
}

void order_leave(struct thread *t)
{
    guard_leave(t, &guard, NULL);
}

void order_disable(void)
{
    bool before = false;
    if (atomic_compare_exchange_strong(&full, &before, true)) {
        watch.potential = false;
        watch_note("out of memory for lock orders: lock order inversions are no longer reported");
    }
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
        order_enter(creator);
        if (watch.potential && forked)
            graph_clear();
        forked = false;
        order_leave(creator);
        atomic_fetch_add(&watch.order_epoch, 1);
    }
}

void order_look(struct thread *t, uint32_t place)
{
    struct order_cache *cache = t->orders;
    bool alone = *watch.single || atomic_load_explicit(&unjoined, memory_order_relaxed) == 0;
    if (alone || forked || atomic_load_explicit(&watch.state, memory_order_relaxed) != WATCH_ON)
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
    learn(t, place);
    errno = saved;
}

void order_forget(uintptr_t low, size_t size)
{
    if (!watch.potential || size == 0 || !graph_may_have(low, size))
        return;
    struct thread *t = self;
    int saved = errno;
    order_enter(t);
    if (graph_forget(low, size))
        atomic_fetch_add(&watch.order_epoch, 1);
    order_leave(t);
    errno = saved;
}

void order_unwind(struct thread *t, uintptr_t frame)
{
    uintptr_t lowest = atomic_load(&t->lowest_lock);
    int saved = errno;
    order_enter(t);
    if (lowest >= t->stack_low && graph_forget(lowest, frame - lowest))
        atomic_fetch_add(&watch.order_epoch, 1);
    atomic_store(&t->lowest_lock, graph_lowest(frame, t->stack_high));
    order_leave(t);
    errno = saved;
}
