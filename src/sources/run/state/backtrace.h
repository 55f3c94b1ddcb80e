/* Backtraces: the return addresses of a wrapper's callers, frame by frame. Runs at every lock. */
#pragma once

#include "sources/run/state/watch.h"

/* A call site: the frame of a wrapper, and its return address. */
struct site {
    uintptr_t frame;
    uintptr_t caller;
};

#define SITE_HERE                                                                                  \
    ((struct site){(uintptr_t)__builtin_frame_address(0), (uintptr_t)__builtin_return_address(0)})

/* The same with the caller's frame, to which this frame points. */
static inline __attribute__((always_inline)) struct site site_of_caller(struct site site)
{
    return (struct site){*(const uintptr_t *)site.frame, site.caller};
}

/* Returns whether this is a link of the frame chain: each frame is higher on the stack than the one
 * before, and within this thread's stack. Otherwise the walk ends, so that it reads stack memory
 * only. */
static inline __attribute__((always_inline)) bool is_link(const struct thread *t, uintptr_t below,
                                                          uintptr_t frame)
{
    /* & instead of &&: one branch */
    return (frame > below) & (frame < t->stack_high) & !(frame & (sizeof frame - 1));
}

/* Walks from a call site outwards. The first return address is always correct. */
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

/* Returns the cached walk for a call site. It may be the walk of another one. */
static inline __attribute__((always_inline)) struct cached_walk *cached_walk_of(struct thread *t,
                                                                                struct site caller)
{
    return &t->walks[(caller.caller / 4 ^ caller.frame / 16) % CACHED_WALKS];
}

/* Repeats the cached walk, since most locks are taken by the same callers as before. All links are
 * checked, but none must be loaded before the next one is known. Return addresses are always read
 * again. Returns 0 if the walk is another one: then use walk_anew. `caller` contains the caller's
 * frame, or any value if frames are not kept.
 *
 * `link` contains only links within this thread's stack, even if a signal handler runs in between:
 * so they may be dereferenced.
 */
static inline __attribute__((always_inline)) uint32_t
walk_again(struct thread *t, uintptr_t *frames, struct site caller)
{
    const struct cached_walk *cached = cached_walk_of(t, caller);
    uintptr_t frame = caller.frame, differ = 0;
    uint32_t count = 1;
    frames[0] = caller.caller;
    if (unlikely(frame != cached->link[0]))
        return is_link(t, t->stack_low - 1, frame) ? 0 : 1;
    for (uintptr_t link; count < INCIDENT_FRAMES && (link = cached->link[count - 1]); count++) {
        differ |= frame ^ link;
        frame = ((const uintptr_t *)link)[0];
        frames[count] = ((const uintptr_t *)link)[1];
    }
    return likely((differ | (frame ^ cached->last)) == 0) ? count : 0;
}

/* Walks, and caches the walk. */
uint32_t walk_anew(struct thread *t, uintptr_t *frames, uint32_t most, struct site caller);
