/* How a wrapper begins: the record of the calling thread, made if it has none yet. */
#pragma once

#include "sources/run/state/watch.h"

/* The same as thread_enter, as a call: for functions that may be left by a jump (a cancellation),
 * where the compiler fears for inlined variables. */
struct thread *thread_enter_slow(void);

/* The record of this thread, made if it has none yet; NULL: not watched, pass through. Also NULL
 * while this thread is inside. Afterwards `real` is filled. */
static inline __attribute__((always_inline)) struct thread *thread_enter(void)
{
    struct thread *t = self;
    bool plain =
        t && !t->inside && !(atomic_load_explicit(&t->generation, memory_order_relaxed) & 1);
    return likely(plain) ? t : thread_enter_slow();
}
