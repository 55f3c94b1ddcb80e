/* Is this wait a deadlock? */
#pragma once

#include "sources/run/state/watch.h"

#define LOOK_AGAIN_NS 20000000u

enum judgement {
    JUDGE_WAIT,  /* go on and wait */
    JUDGE_AGAIN, /* wait a little (LOOK_AGAIN_NS), then ask again */
    JUDGE_BREAK, /* do not wait: answer EDEADLK */
};

/* This thread has published its wait and is about to block, for the `look`-th time. Tells (and may
 * end the program, as set) when that closes a deadlock, or when the owner is gone. Cheap unless
 * everybody ahead waits. */
enum judgement judge_wait(struct thread *t, uint32_t look);

/* This thread is about to end: whoever waits for what it holds, and those who could only have
 * been woken by it, are stuck from now on. */
void judge_thread_end(struct thread *t);

/* After fork: nobody is judging. */
void judge_fork(void);
