/*
 * Fibers: separate stacks that one host thread switches between.
 *
 * AddressSanitizer is informed of every switch. For ThreadSanitizer all fibers of a host thread are
 * that one thread: it supports fibers, but not thousands. It counts calls and returns, so functions
 * that never return are hidden from it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The switch is a few instructions. Other processors use the switch of the C library, which
 * includes a system call. */
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
    struct fiber *from; /* the fiber that switched here last */
    void *sanitizer;    /* AddressSanitizer's own data */
    bool left; /* it has ended by itself, so AddressSanitizer has none of its frames poisoned */
};

/* Maps stacks of `count` fibers, each above an inaccessible page. Unused pages take no memory.
 * Returns false if out of memory. */
bool fiber_map(struct fiber *fibers, size_t count);
void fiber_unmap(struct fiber *fibers, size_t count);

/* Makes `fiber` start at entry(argument) at the next switch to it. `entry` does not return: it ends
 * with fiber_leave. May be called again, whatever the fiber was doing. */
void fiber_start(struct fiber *fiber, void (*entry)(void *argument), void *argument);
/* Makes a fiber of the host thread's own stack, to switch from and back to. */
void fiber_host(struct fiber *fiber);
void fiber_switch(struct fiber *from, struct fiber *to);
/* The same, but `from` is never switched to again until it is restarted. */
void fiber_leave(struct fiber *from, struct fiber *to) __attribute__((noreturn));
