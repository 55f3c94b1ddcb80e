/* Do other threads run, or do they sleep? */
#pragma once

#include "sources/run/threads/observed_wait.h"

/* Known to run, that is, to wait for nothing or for a time only? */
bool thread_runs(struct thread *t);

/* Is there a thread that could act? Known threads first; if all of them wait without end, the
 * kernel is asked for threads unknown to us, and for known ones that have been woken but have not
 * got round to saying so. `ending`: the calling thread, which does not count any more. */
bool somebody_runs(const struct thread *ending);

/* Asleep in the kernel, and in the very wait it announced? *address: where. */
enum sleep { SLEEP_YES, SLEEP_NO, SLEEP_UNKNOWN };
enum sleep is_asleep(const struct thread *t, uintptr_t *address);

/* Threads that begin to wait at the same time. Each has announced its wait and looks around;
 * whoever looks last must see all the others asleep. But one that is still looking is not asleep,
 * and each might take the other for one who runs. So of two that see each other looking the younger
 * is the one who looks last: the older one relies on it, asking it to look once more if it has
 * begun already, and the younger one waits until the older sleeps. */
bool relies_on(struct thread *t);

/* Somebody woken from a condition may be waiting for the mutex it takes back: then that is what it
 * waits for. Asks the kernel, unless nobody waits for the mutex. */
bool observe_retaking(struct observed_wait *look);
