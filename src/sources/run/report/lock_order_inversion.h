/* Lock order inversions: orders that could lead to a deadlock, made into an incident. */
#pragma once

#include "sources/run/state/watch.h"

/* The thread has taken the lock at `place` under those below it, which it has not done before:
 * notes the order, and reports the inversion that it completes. */
void inversion_look(struct thread *t, uint32_t place);
