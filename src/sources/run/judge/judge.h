/* Judges whether a wait is a deadlock. */
#pragma once

#include "sources/run/state/watch.h"

#define LOOK_AGAIN_NS 20000000u

enum judgement {
    JUDGE_WAIT,  /* wait */
    JUDGE_AGAIN, /* wait for LOOK_AGAIN_NS, then ask again */
    JUDGE_BREAK, /* do not wait: fail with EDEADLK */
};

/* Called when this thread has published its wait and is about to block, with the number of earlier
 * looks. Reports a deadlock that the wait closes, or an ended owner, and may end the program, as
 * configured. Fast unless all threads ahead wait. */
enum judgement judge_wait(struct thread *t, uint32_t look);

/* Called when this thread is about to end: threads that wait for its locks, or that only it could
 * have woken, are stuck. */
void judge_thread_end(struct thread *t);

/* After a fork: no thread is judging. */
void judge_fork(void);
