/* The wait slot of a thread, filled before it blocks. */
#pragma once

#include "sources/run/state/backtrace.h"
#include "sources/run/state/shield.h"
/* Saves the registers that a debugger needs to unwind, as they are in the calling function. That
 * function must stay on the stack during the wait. */
static inline __attribute__((always_inline)) void capture_wait(struct wait *wait)
{
#if defined(__x86_64__)
    uintptr_t *r = wait->registers;
    __asm__ volatile("movq %%rbx, 24(%0)\n\t"
                     "movq %%rbp, 48(%0)\n\t"
                     "movq %%rsp, 56(%0)\n\t"
                     "movq %%r12, 96(%0)\n\t"
                     "movq %%r13, 104(%0)\n\t"
                     "movq %%r14, 112(%0)\n\t"
                     "movq %%r15, 120(%0)\n\t"
                     "leaq 0f(%%rip), %%rax\n\t"
                     "movq %%rax, 128(%0)\n"
                     "0:"
                     :
                     : "r"(r)
                     : "rax", "memory");
#elif defined(__aarch64__)
    uintptr_t *r = wait->registers;
    __asm__ volatile("stp x19, x20, [%0, #152]\n\t"
                     "stp x21, x22, [%0, #168]\n\t"
                     "stp x23, x24, [%0, #184]\n\t"
                     "stp x25, x26, [%0, #200]\n\t"
                     "stp x27, x28, [%0, #216]\n\t"
                     "stp x29, x30, [%0, #232]\n\t"
                     "mov x9, sp\n\t"
                     "adr x10, 0f\n\t"
                     "stp x9, x10, [%0, #248]\n"
                     "0:"
                     :
                     : "r"(r)
                     : "x9", "x10", "memory");
#endif
}

/* Fills the slot except the registers; see WAIT_BEGIN. A thread has one slot: a signal handler that
 * interrupts a wait calls libc unobserved (thread_enter). */
void wait_fill(struct thread *t, const void *lock, uint32_t kind, uint32_t mode, uint32_t flags,
               struct site site);
void wait_publish(struct thread *t);
void wait_end(struct thread *t);
/* The same for a wait that may have been left in the middle. The thread is not inside any more. */
void wait_reset(struct thread *t);
/* Undo handler for a function that waits. `thread`: struct thread, which is not inside any more. */
void wait_left(void *thread);

/* For a function that stays on the stack until WAIT_END. `undo` belongs to it. */
#define WAIT_BEGIN(t, undo, lock, kind, mode, flags, site)                                         \
    do {                                                                                           \
        undo_push(undo, wait_left, t);                                                             \
        wait_fill(t, lock, kind, mode, flags, site);                                               \
        capture_wait(&(t)->wait);                                                                  \
        wait_publish(t);                                                                           \
    } while (0)

#define WAIT_END(t, undo)                                                                          \
    do {                                                                                           \
        wait_end(t);                                                                               \
        undo_pop(undo);                                                                            \
    } while (0)
