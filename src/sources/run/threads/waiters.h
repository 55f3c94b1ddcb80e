/* Who waits for a lock, found without asking every thread: with thousands of them nothing that
 * every wait does may look at all. */
#pragma once

#include "sources/run/state/watch.h"

/* A wait of this thread begins, and is over. */
void waiters_add(const struct thread *t);
void waiters_drop(const struct thread *t);
/* After fork: only `me` is left, and does not wait. */
void waiters_fork(void);

/* Somebody but `except` who waits for this lock; NULL: nobody. */
struct thread *waiters_find(uintptr_t lock, const struct thread *except);
