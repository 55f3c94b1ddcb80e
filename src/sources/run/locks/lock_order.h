/* The lock-order graph (lock hierarchy): which locks were taken while others were held. Finds lock
 * order inversions. */
#pragma once

#include "sources/run/state/watch.h"

/* Checks the hold at `place`, taken while holding those before it. Fast if this thread has done the
 * same before. */
void order_look(struct thread *t, uint32_t place);

/* Called before a thread is created. Lock orders of the creator did not matter while it was the
 * only thread. They matter if it repeats them after this. `creator`: NULL, if it is not watched. */
void order_begin(struct thread *creator);
/* Called if the thread was not created, or after it was joined: it cannot conflict with what the
 * joining thread does from now on. */
void order_joined(void);
/* Called for a thread whose creation was not visible. */
void order_found(void);

/* Called when memory contains no locks any more, or other ones. */
void order_forget(uintptr_t low, size_t size);

/* Called when this thread has returned from frames with locks on its stack. These locks no longer
 * exist.
 */
void order_unwind(struct thread *t, uintptr_t frame);

static inline void order_frame(struct thread *t, uintptr_t frame)
{
    if (unlikely(frame > atomic_load_explicit(&t->lowest_lock, memory_order_relaxed)) &&
        frame < t->stack_high)
        order_unwind(t, frame);
}

/* Called by order_look when a thread does something new. */
typedef void order_learner(struct thread *t, uint32_t place);
bool order_start(order_learner *learner);
/* Guard the work of a learner, and all other access to the graph (lock_order_graph.h). */
void order_enter(struct thread *t);
void order_leave(struct thread *t);
/* Called when memory for orders has run out. */
void order_disable(void);
void order_fork(void);
/* Like locks_stop and locks_go_on. */
bool order_stop(void);
void order_go_on(void);
