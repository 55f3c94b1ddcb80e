/* Where a wrapper was called from: return addresses, frame by frame. This runs at every lock. */
#pragma once

#include "sources/run/state/watch.h"

/* Where a wrapper was called: its own frame and whereto it returns. */
struct site {
    uintptr_t frame;
    uintptr_t caller;
};

#define SITE_HERE                                                                                  \
    ((struct site){(uintptr_t)__builtin_frame_address(0), (uintptr_t)__builtin_return_address(0)})

/* The same with the caller's frame, which is what this one begins with. */
static inline __attribute__((always_inline)) struct site site_of_caller(struct site site)
{
    return (struct site){*(const uintptr_t *)site.frame, site.caller};
}

/* Frames are linked, each lies higher on the stack than the one below, and all of them within this
 * thread's stack. Anything else ends a walk, so only memory of the stack is ever read. */
static inline __attribute__((always_inline)) bool is_link(const struct thread *t, uintptr_t below,
                                                          uintptr_t frame)
{
    /* Not && but &: one branch. */
    return (frame > below) & (frame < t->stack_high) & !(frame & (sizeof frame - 1));
}

/* Return addresses from a site outwards. The first is always right. */
static inline __attribute__((always_inline)) uint32_t
walk(const struct thread *t, uintptr_t *frames, uint32_t most, struct site site)
{
    if (unlikely(most == 0))
        return 0;
    frames[0] = site.caller;
    uintptr_t below = site.frame;
    uint32_t count = 1;
    if (unlikely(below < t->stack_low || below >= t->stack_high))
        return 1;
    for (uintptr_t frame = *(const uintptr_t *)below; count < most && is_link(t, below, frame);
         frame = *(const uintptr_t *)frame) {
        frames[count++] = ((const uintptr_t *)frame)[1];
        below = frame;
    }
    return count;
}

/* Where the way from a site is remembered, or another one. */
static inline __attribute__((always_inline)) struct way *way_of(struct thread *t,
                                                                struct site caller)
{
    return &t->ways[(caller.caller / 4 ^ caller.frame / 16) % WAYS];
}

/* Mostly a lock is taken the same way as before. To see that, all links of a way that is known are
 * looked at, but none has to be waited for in order to find the next; return addresses are always
 * read anew. 0: it is another way, for walk_anew. `caller` has the caller's frame, or anything
 * where frames are not kept.
 *
 * In `link` there are links only, of this thread's stack, whatever signal handler comes in between:
 * so what they lead to may be read. */
static inline __attribute__((always_inline)) uint32_t
walk_again(struct thread *t, uintptr_t *frames, struct site caller)
{
    const struct way *way = way_of(t, caller);
    uintptr_t frame = caller.frame, differ = 0;
    uint32_t count = 1;
    frames[0] = caller.caller;
    if (unlikely(frame != way->link[0]))
        return is_link(t, t->stack_low - 1, frame) ? 0 : 1;
    for (uintptr_t link; count < INCIDENT_FRAMES && (link = way->link[count - 1]); count++) {
        differ |= frame ^ link;
        frame = ((const uintptr_t *)link)[0];
        frames[count] = ((const uintptr_t *)link)[1];
    }
    return likely((differ | (frame ^ way->last)) == 0) ? count : 0;
}

/* Walks, and remembers the way. */
uint32_t walk_anew(struct thread *t, uintptr_t *frames, uint32_t most, struct site caller);
