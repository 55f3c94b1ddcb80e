/* A thread may leave the library in the middle of a call: by asynchronous cancellation, or if a
 * signal handler of the program jumps. Two mechanisms keep the library's data consistent.
 *
 * A shield prevents both. Use it to take a guard, to open a descriptor, or to change data that
 * other threads read. If the program has no signal handlers, only cancellation is possible: the
 * cancellation type is set to deferred, which needs no system call. Otherwise all signals are
 * blocked, including libc's cancellation signal, which sigfillset() omits. A cancellation in the
 * meantime takes effect when the shield is lowered. Shields nest.
 *
 * An undo handler is for longer sections that a thread may leave: waits. libc calls it when a
 * cancellation, pthread_exit() or longjmp() unwinds the frame that pushed it. It must tolerate
 * being called after the section has ended.
 */
#pragma once

#include "sources/run/libc/real.h"

#include <stdint.h>

struct shield {
    uint64_t mask; /* the earlier signal mask, if it was changed */
    int type;      /* the earlier cancellation type, if it was changed */
    enum { SHIELD_NESTED, SHIELD_MASK, SHIELD_TYPE } how;
};

void shield_raise(struct shield *shield);
/* Always blocks signals, and stores the earlier mask in the shield; unless system calls are
 * forbidden. */
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
