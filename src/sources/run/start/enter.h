/* The start of a wrapper: finds or creates the record of the calling thread. */
#pragma once

#include "sources/run/state/watch.h"

/* thread_enter as a call: for functions that a jump (a cancellation) may leave, where the compiler
 * warns about inlined variables. */
struct thread *thread_enter_slow(void);

/* Returns the record of this thread, which is created if necessary; NULL: call libc unobserved,
 * since the thread is not watched or is inside. Afterwards `real` is filled. */
static inline __attribute__((always_inline)) struct thread *thread_enter(void)
{
    struct thread *t = self;
    bool plain =
        t && !t->inside && !(atomic_load_explicit(&t->generation, memory_order_relaxed) & 1);
    return likely(plain) ? t : thread_enter_slow();
}
