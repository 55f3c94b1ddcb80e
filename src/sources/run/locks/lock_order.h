/* Lock orders: which locks were taken under which, and what that could lead to. */
#pragma once

#include "sources/run/state/watch.h"

/* The hold at `place` was taken while holding those below it. Cheap when this thread has done the
 * same before. */
void order_look(struct thread *t, uint32_t place);

/* A thread is about to be made: what its creator did alone until now did not matter, and does when
 * it is done again. `creator`: NULL, if that one is not watched. */
void order_begin(struct thread *creator);
/* It was not made after all; or it has ended, and been joined: nothing that it did can meet what is
 * done from now on by the thread that has joined it. */
void order_joined(void);
/* A thread that is there was not seen to be made. */
void order_found(void);

/* These bytes are no locks any more, or other ones. */
void order_forget(uintptr_t low, size_t size);

/* This thread is at a frame above locks on its stack: these are gone. */
void order_unwind(struct thread *t, uintptr_t frame);

static inline void order_frame(struct thread *t, uintptr_t frame)
{
    if (unlikely(frame > atomic_load_explicit(&t->lowest_lock, memory_order_relaxed)) &&
        frame < t->stack_high)
        order_unwind(t, frame);
}

/* Called where a thread does what it has not done before: order_look's rare case. */
typedef void order_learner(struct thread *t, uint32_t place);
bool order_start(order_learner *learner);
/* Around the work of a learner, and of whatever else reads the graph (lock_order_graph.h). */
void order_enter(struct thread *t);
void order_leave(struct thread *t);
/* There is no memory for more orders. */
void order_give_up(void);
void order_fork(void);
/* As locks_stop and locks_go_on. */
bool order_stop(void);
void order_go_on(void);
