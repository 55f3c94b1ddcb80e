/* The wait of a thread as other threads see it. */
#pragma once

#include "sources/run/state/watch.h"

/* A wait as another thread sees it. */
struct observed_wait {
    struct thread *thread;
    uint64_t generation;
    uintptr_t lock, outer;
    uint8_t kind, mode, flags;
};

/* False: it does not wait, or its wait has just changed. */
bool observe_wait(struct thread *t, struct observed_wait *look);
/* Is it the very same wait still? */
bool wait_goes_on(const struct observed_wait *look);
