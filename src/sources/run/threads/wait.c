#include "sources/run/threads/wait.h"

#include "foundation/base/clock.h"
#include "sources/run/threads/handler_acts.h"
#include "sources/run/threads/waiters.h"
void wait_fill(struct thread *t, const void *lock, uint32_t kind, uint32_t mode, uint32_t flags,
               struct site site)
{
    struct wait *wait = &t->wait;
    wait->lock = (uintptr_t)lock;
    wait->outer = 0;
    wait->kind = (uint8_t)kind;
    wait->mode = (uint8_t)mode;
    wait->flags = (uint8_t)flags;
    wait->since = clock_ticks();
    t->used_before = t->used;
    t->jumping = false;
    wait->frames = walk(t, wait->frame, watch.sites ? watch.sites : 1, site);
}

/* The fence pairs with the fence of every other waiter. If two threads wait for each other, the
 * thread with the later fence sees the slot of the other. */
void wait_publish(struct thread *t)
{
    uint64_t generation = atomic_load_explicit(&t->generation, memory_order_relaxed);
    bool looks = !(t->wait.flags & INCIDENT_TIMED);
    waiters_add(t);
    atomic_store_explicit(&t->looking, looks ? LOOKING : LOOKING_DONE, memory_order_relaxed);
    atomic_store_explicit(&t->generation, generation + 1, memory_order_release);
    atomic_thread_fence(memory_order_seq_cst);
}

void wait_end(struct thread *t)
{
    uint64_t generation = atomic_load_explicit(&t->generation, memory_order_relaxed);
    if (!(generation & 1))
        return;
    atomic_store_explicit(&t->generation, generation + 1, memory_order_release);
    waiters_drop(t);
}

void wait_reset(struct thread *t)
{
    t->inside = 0;
    atomic_store(&t->looking, LOOKING_DONE);
    wait_end(t);
}

void wait_left(void *thread)
{
    struct thread *t = thread;
    jump_note(t);
    wait_reset(t);
}
