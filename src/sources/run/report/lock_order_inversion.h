/* Converts lock order inversions to incidents. */
#pragma once

#include "sources/run/state/watch.h"

/* The thread has taken the lock at `place` while holding those before it, for the first time. Adds
 * this order to the graph, and reports the lock order inversion that it completes. */
void inversion_look(struct thread *t, uint32_t place);
