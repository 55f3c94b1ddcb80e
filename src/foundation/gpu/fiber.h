/*
 * Fibers: stacks of their own that one host thread switches between.
 *
 * AddressSanitizer is told of every switch. For ThreadSanitizer all fibers of a host thread are
 * that one thread (it knows fibers, but not thousands); it counts calls and
 * returns, so functions that never return are hidden from it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The switch is a few instructions; elsewhere the C library's, which also calls the kernel. */
#if !defined(__aarch64__) && !defined(__x86_64__)
#define FIBER_UCONTEXT
#endif
#ifdef FIBER_UCONTEXT
#include <ucontext.h>
#endif

#define FIBER_UNWATCHED __attribute__((no_sanitize("thread")))

struct fiber {
#ifdef FIBER_UCONTEXT
    ucontext_t context;
#endif
    void *stack_pointer; /* while it does not run */
    void *stack;         /* lowest address; NULL: the host thread's own, or none yet */
    size_t size;
    void (*entry)(void *argument);
    void *argument;
    struct fiber *from; /* who switched here last */
    void *sanitizer;    /* AddressSanitizer's own */
    bool left;          /* it has ended by itself: AddressSanitizer has no frames of it marked */
};

/* Maps stacks of `count` fibers, each above a page that cannot be touched. They are lazily backed:
 * what is not used costs nothing. False: no memory. */
bool fiber_map(struct fiber *fibers, size_t count);
void fiber_unmap(struct fiber *fibers, size_t count);

/* Makes `fiber` start at entry(argument) when it is switched to. `entry` does not return: it
 * ends with fiber_leave. May be called again, whatever the fiber was doing. */
void fiber_start(struct fiber *fiber, void (*entry)(void *argument), void *argument);
/* The host thread's own stack as a fiber, to be switched from and back to. */
void fiber_host(struct fiber *fiber);
void fiber_switch(struct fiber *from, struct fiber *to);
/* The same, and `from` is never switched to again unless started anew. */
void fiber_leave(struct fiber *from, struct fiber *to) __attribute__((noreturn));
