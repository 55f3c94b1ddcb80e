#include "sources/run/threads/waiters.h"

#include "sources/run/threads/observed_wait.h"

#include <string.h>

#define BUCKETS (1u << 14)

/* The waiters of all locks with this hash. */
static struct bucket {
    _Atomic uint32_t count;
    _Atomic uint32_t hint; /* index + 1 of a recent waiter */
} buckets[BUCKETS];

static struct bucket *waiters_bucket(uintptr_t lock)
{
    return &buckets[((lock >> 3) * 0x9e3779b97f4a7c15u) >> 50];
}

static bool is_timed(const struct thread *t)
{
    return t->wait.flags & INCIDENT_TIMED;
}

/* Counts a waiter before its wait is visible, until after it ends. If a handler jumps in between,
 * the count stays too high, which only costs time. It is never too low. */
void waiters_add(const struct thread *t)
{
    struct bucket *bucket = waiters_bucket(t->wait.lock);
    atomic_fetch_add(&bucket->count, 1);
    atomic_store_explicit(&bucket->hint, t->index + 1, memory_order_relaxed);
    if (!is_timed(t))
        atomic_fetch_add(&watch.waiting, 1);
}

void waiters_drop(const struct thread *t)
{
    atomic_fetch_sub(&waiters_bucket(t->wait.lock)->count, 1);
    if (!is_timed(t))
        atomic_fetch_sub(&watch.waiting, 1);
}

void waiters_fork(void)
{
    memset(buckets, 0, sizeof buckets);
    atomic_store(&watch.waiting, 0);
}

static bool is_waiting_for(struct thread *t, uintptr_t lock, const struct thread *except)
{
    struct observed_wait look;
    return t != except && observe_wait(t, &look) && look.lock == lock;
}

struct thread *waiters_find(uintptr_t lock, const struct thread *except)
{
    struct bucket *bucket = waiters_bucket(lock);
    if (atomic_load(&bucket->count) == 0)
        return NULL;
    uint32_t hint = atomic_load_explicit(&bucket->hint, memory_order_relaxed);
    uint32_t limit = atomic_load(&watch.thread_limit);
    if (hint && is_waiting_for(&watch.threads[hint - 1], lock, except))
        return &watch.threads[hint - 1];
    for (uint32_t i = 0; i < limit; i++) {
        uint32_t at = (hint + i) % limit;
        if (!is_waiting_for(&watch.threads[at], lock, except))
            continue;
        atomic_store_explicit(&bucket->hint, at + 1, memory_order_relaxed);
        return &watch.threads[at];
    }
    return NULL;
}
