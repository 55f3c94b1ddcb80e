/* The wait of a thread, as other threads see it. */
#pragma once

#include "sources/run/state/watch.h"

/* A copy of a wait. */
struct observed_wait {
    struct thread *thread;
    uint64_t generation;
    uintptr_t lock, outer;
    uint8_t kind, mode, flags;
};

/* False: the thread does not wait, or its wait has just changed. */
bool observe_wait(struct thread *t, struct observed_wait *look);
/* Returns whether the thread is still in the same wait. */
bool wait_is_same(const struct observed_wait *look);
