/* Follows who waits for whom. */
#pragma once

#include "sources/run/state/watch.h"

enum trail {
    TRAIL_RUNS,  /* ends at somebody who runs: no deadlock. If it blocks later it will look itself.
                  */
    TRAIL_WAKES, /* ends at somebody on a condition, who may wake and block without looking, or at
                    somebody unknown, who may be about to end */
    TRAIL_STUCK, /* may be a deadlock */
};
enum trail follow_owners(struct thread *t);
