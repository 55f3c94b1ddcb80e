#include "sources/run/state/backtrace.h"

uint32_t walk_anew(struct thread *t, uintptr_t *frames, uint32_t most, struct site caller)
{
    /* No caller's frame is below its own frame, whatever the register contains. A thread on another
     * stack has no frames here. */
    uintptr_t here = (uintptr_t)__builtin_frame_address(0), frame = caller.frame;
    uintptr_t below = here >= t->stack_low ? here : UINTPTR_MAX;
    struct cached_walk *cached = cached_walk_of(t, caller);
    uint32_t count = 1;
    frames[0] = caller.caller;
    for (; count < most && is_link(t, below, frame); count++) {
        cached->link[count - 1] = below = frame;
        frames[count] = ((const uintptr_t *)frame)[1];
        frame = ((const uintptr_t *)frame)[0];
    }
    if (count < INCIDENT_FRAMES)
        cached->link[count - 1] = 0;
    cached->last = frame;
    return count;
}
