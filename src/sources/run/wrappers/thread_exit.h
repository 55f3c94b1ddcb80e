/* Observes the end of a thread without a thread-specific key.
 *
 * A thread may lock until its last destructor has run. libc runs destructors after the thread's
 * start function, when no frame of this library is left on its stack. So this code runs them
 * earlier, from that function: first those of thread_local objects, then those of keys, whose
 * creation is wrapped. It uses the same number of rounds and the same order as libc, so none are
 * left for libc.
 */
#pragma once

#include "sources/run/state/watch.h"

/* The last thing a thread does in this library, and its cleanup handler for pthread_exit and
 * cancellation. `record`: struct thread. */
void thread_leave(void *record);
