/* The end of a thread, seen without one of the program's thread-specific keys.
 *
 * A thread may lock until its last destructor has run. libc runs destructors after the function the
 * thread was started with, where nothing of ours is left on its stack. So they are run a moment
 * earlier, from that function: first those of thread_local objects, then those of keys, whose
 * creation is wrapped, in as many rounds and in the order libc would; libc finds nothing left. */
#pragma once

#include "sources/run/state/watch.h"

/* The last thing a thread does in a function of ours, and a cleanup handler where it is left by
 * pthread_exit or a cancellation. `record`: struct thread. */
void thread_leave(void *record);
