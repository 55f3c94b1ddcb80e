/* Determines whether other threads run or sleep. */
#pragma once

#include "sources/run/threads/observed_wait.h"

/* Returns whether the thread runs: it waits for nothing, or with a time limit. */
bool thread_runs(struct thread *t);

/* Returns whether a thread can act. Checks known threads first. If all of them wait without a time
 * limit, it asks the kernel for unknown threads, and for threads that were woken but have not
 * reported it yet. `ending`: the calling thread, which does not count. */
bool any_thread_runs(const struct thread *ending);

/* Whether a thread is asleep in the kernel, in the wait it has published. *address: its futex. */
enum sleep { SLEEP_YES, SLEEP_NO, SLEEP_UNKNOWN };
enum sleep is_asleep(const struct thread *t, uintptr_t *address);

/* Handles threads that begin to wait at the same time. Each has published its wait and looks for a
 * deadlock. The last one to look must see all others asleep. But a thread that still looks is not
 * asleep, so each might take the other for a running thread. Therefore, of two threads that see
 * each other looking, the younger one looks last. The older one relies on it, and asks it to look
 * once more if it has already begun. The younger one waits until the older one sleeps. */
bool relies_on(struct thread *t);

/* A thread woken from a condition may wait for the mutex of its wait: changes the copy to a wait
 * for that mutex. Asks the kernel, unless the mutex has no waiters. */
bool observe_retaking(struct observed_wait *look);
