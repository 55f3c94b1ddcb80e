#include "sources/run/threads/observed_wait.h"

bool observe_wait(struct thread *t, struct observed_wait *look)
{
    uint64_t generation = atomic_load_explicit(&t->generation, memory_order_acquire);
    if (!(generation & 1) || !thread_is_live(t))
        return false;
    const volatile struct wait *wait = &t->wait;
    look->thread = t;
    look->generation = generation;
    look->lock = wait->lock;
    look->outer = wait->outer;
    look->kind = wait->kind;
    look->mode = wait->mode;
    look->flags = wait->flags;
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(&t->generation, memory_order_relaxed) == generation;
}

bool wait_is_same(const struct observed_wait *look)
{
    return atomic_load_explicit(&look->thread->generation, memory_order_acquire) ==
               look->generation &&
           thread_is_live(look->thread);
}
