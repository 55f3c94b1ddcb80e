/* Was a signal handler of this program seen to act in a wait: to jump out of it, or to unlock? Such
 * a handler can end waits that never return early (judge/verdict_policy.h). */
#pragma once

#include "sources/run/state/watch.h"

/* 1: one was. Read from outside, by this name (sources/inspect/judge/facts.c). */
extern _Atomic uint32_t gordian_run_acted;

/* A wait of this thread is being left. If by a jump, that is recorded. */
void jump_note(const struct thread *t);
/* This thread unlocks what it has not taken since its wait began, if it is in a wait: then it runs
 * a handler, and that is recorded. */
void unlock_note(const struct thread *t);
/* The same for an rwlock or a spin lock that is given back where nothing is noted. A handler may
 * have taken it itself, which is not known. */
void unlock_passes(void);
