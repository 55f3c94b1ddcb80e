/* Follows the owner chain: from a waiter to the owner of its lock, and so on. */
#pragma once

#include "sources/run/state/watch.h"

enum trail {
    TRAIL_RUNS,  /* the chain ends at a running thread: no deadlock. If that thread blocks later, it
                    will look itself. */
    TRAIL_WAKES, /* the chain ends at a condition wait, whose thread may wake and block without
                    looking, or at an unknown thread, which may be about to end */
    TRAIL_STUCK, /* possibly a deadlock */
};
enum trail follow_owners(struct thread *t);
