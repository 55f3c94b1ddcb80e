/* Records whether a signal handler of the program was seen to act in a wait: to jump out of it, or
 * to unlock. Such a handler can end waits that never return early (judge/verdict_policy.h). */
#pragma once

#include "sources/run/state/watch.h"

/* 1: a handler was. Read from outside, by this name (sources/inspect/judge/facts.c). */
extern _Atomic uint32_t gordian_run_acted;

/* Called when a wait of this thread is left. Records a jump. */
void jump_note(const struct thread *t);
/* Called when this thread unlocks a lock that it has not taken since its wait began. If it is in a
 * wait, it runs a handler, and that is recorded. */
void unlock_note(const struct thread *t);
/* The same for a rwlock or spin lock that is released unobserved. A handler may have taken it
 * itself, which is unknown. */
void unlock_passes(void);
