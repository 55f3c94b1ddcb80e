/* Was a signal handler of this program seen to jump out of a wait? Such a handler can end waits
 * that never return early (policy.h). */
#ifndef GORDIAN_RUN_JUMP_H
#define GORDIAN_RUN_JUMP_H

#include "run/watch.h"

/* 1: one was. Read from outside, by this name (inspect/facts.c). */
extern _Atomic uint32_t gordian_run_jumped;

/* A wait of this thread is being left. If by a jump, that is recorded. */
void jump_note(const struct thread *t);

#endif
