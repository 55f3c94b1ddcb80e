/* Finds the waiters of a lock without a search through all threads, of which there may be
 * thousands. */
#pragma once

#include "sources/run/state/watch.h"

/* Called when a wait of this thread begins, and when it has ended. */
void waiters_add(const struct thread *t);
void waiters_drop(const struct thread *t);
/* After a fork: only the calling thread is left, and it does not wait. */
void waiters_fork(void);

/* Returns a thread other than `except` that waits for this lock; NULL: none. */
struct thread *waiters_find(uintptr_t lock, const struct thread *except);
