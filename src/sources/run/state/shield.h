/* A thread may leave the library in the middle of a call: it is cancelled asynchronously, or a
 * signal handler of the program jumps. Two means keep the library whole.
 *
 * A shield holds both off. It is for sections that take a guard, have a descriptor open, or change
 * what other threads read. If the program has no signal handler, only a cancellation can come: the
 * cancellation type is made deferred, which takes no system call. Otherwise all signals are
 * blocked, libc's cancellation signal too, which sigfillset() leaves out. A cancellation that came
 * meanwhile acts when the shield is lowered. Shields nest.
 *
 * An undo is for longer sections, which may be left: waits. libc calls the routine when a
 * cancellation, pthread_exit() or longjmp() unwinds the frame that has pushed it. The routine may
 * run after the section has ended, too: it must not mind. */
#pragma once

#include "sources/run/libc/real.h"

#include <stdint.h>

struct shield {
    uint64_t mask; /* the thread's signal mask before, where it was changed */
    int type;      /* the thread's cancellation type before, where it was changed */
    enum { SHIELD_NESTED, SHIELD_MASK, SHIELD_TYPE } how;
};

void shield_raise(struct shield *shield);
/* By the signal mask in any case, which is left in the shield; unless system calls are forbidden.
 */
void shield_raise_mask(struct shield *shield);
void shield_lower(const struct shield *shield);

struct undo {
    struct _pthread_cleanup_buffer buffer;
};

static inline void undo_push(struct undo *undo, void (*routine)(void *), void *argument)
{
    real.cleanup_push(&undo->buffer, routine, argument);
}

static inline void undo_pop(struct undo *undo)
{
    real.cleanup_pop(&undo->buffer, 0);
}
