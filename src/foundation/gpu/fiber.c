/* Fibers: switching between stacks (fiber.h). */
#define _GNU_SOURCE
#include "foundation/gpu/fiber.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* gcc defines these macros; clang has __has_feature. */
#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define FIBER_ASAN 1
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#else
#define FIBER_ASAN 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define FIBER_TSAN 1
#else
#define FIBER_TSAN 0
#endif

/* Instrumented code has larger frames. */
#define STACK_BYTES ((size_t)(FIBER_ASAN || FIBER_TSAN ? 256 : 64) << 10)

/* ---- the switch itself: saves the callee-saved registers, changes stacks */

#ifndef FIBER_UCONTEXT
void gordian_fiber_swap(void **from, void *to);
void gordian_fiber_first(void);

FIBER_UNWATCHED static void swap(struct fiber *from, struct fiber *to)
{
    gordian_fiber_swap(&from->stack_pointer, to->stack_pointer);
}
#endif

#if defined(FIBER_UCONTEXT)
static void enter_fiber(void *argument);

/* makecontext passes only ints: the fiber's address is split in two. */
FIBER_UNWATCHED static void first(unsigned high, unsigned low)
{
    enter_fiber((void *)(uintptr_t)((uint64_t)high << 32 | low));
}

static void prepare_stack(struct fiber *fiber)
{
    uint64_t address = (uintptr_t)fiber;
    getcontext(&fiber->context);
    fiber->context.uc_stack.ss_sp = fiber->stack;
    fiber->context.uc_stack.ss_size = fiber->size;
    fiber->context.uc_link = NULL;
    makecontext(&fiber->context, (void (*)(void))first, 2, (unsigned)(address >> 32),
                (unsigned)address);
}

FIBER_UNWATCHED static void swap(struct fiber *from, struct fiber *to)
{
    swapcontext(&from->context, &to->context);
}

#elif defined(__aarch64__)
__asm__(".pushsection .text\n"
        ".p2align 4\n"
        ".hidden gordian_fiber_swap\n"
        ".globl gordian_fiber_swap\n"
        ".type gordian_fiber_swap, %function\n"
        "gordian_fiber_swap:\n"
        "    sub sp, sp, #176\n"
        "    stp x19, x20, [sp, #0]\n"
        "    stp x21, x22, [sp, #16]\n"
        "    stp x23, x24, [sp, #32]\n"
        "    stp x25, x26, [sp, #48]\n"
        "    stp x27, x28, [sp, #64]\n"
        "    stp x29, x30, [sp, #80]\n"
        "    stp d8, d9, [sp, #96]\n"
        "    stp d10, d11, [sp, #112]\n"
        "    stp d12, d13, [sp, #128]\n"
        "    stp d14, d15, [sp, #144]\n"
        "    mov x9, sp\n"
        "    str x9, [x0]\n"
        "    mov sp, x1\n"
        "    ldp x19, x20, [sp, #0]\n"
        "    ldp x21, x22, [sp, #16]\n"
        "    ldp x23, x24, [sp, #32]\n"
        "    ldp x25, x26, [sp, #48]\n"
        "    ldp x27, x28, [sp, #64]\n"
        "    ldp x29, x30, [sp, #80]\n"
        "    ldp d8, d9, [sp, #96]\n"
        "    ldp d10, d11, [sp, #112]\n"
        "    ldp d12, d13, [sp, #128]\n"
        "    ldp d14, d15, [sp, #144]\n"
        "    add sp, sp, #176\n"
        "    ret\n"
        ".size gordian_fiber_swap, .-gordian_fiber_swap\n"
        ".hidden gordian_fiber_first\n"
        ".globl gordian_fiber_first\n"
        ".type gordian_fiber_first, %function\n"
        "gordian_fiber_first:\n"
        "    mov x0, x19\n"
        "    blr x20\n"
        "    brk #0\n"
        ".size gordian_fiber_first, .-gordian_fiber_first\n"
        ".popsection\n");

/* The saved registers, in the layout of the swap above. */
static void *first_frame(char *top, void (*run)(void *), void *argument)
{
    uint64_t *frame = (uint64_t *)(top - 176);
    memset(frame, 0, 176);
    frame[0] = (uintptr_t)argument;
    frame[1] = (uintptr_t)run;
    frame[11] = (uintptr_t)gordian_fiber_first;
    return frame;
}

#elif defined(__x86_64__)
__asm__(".pushsection .text\n"
        ".p2align 4\n"
        ".hidden gordian_fiber_swap\n"
        ".globl gordian_fiber_swap\n"
        ".type gordian_fiber_swap, @function\n"
        "gordian_fiber_swap:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size gordian_fiber_swap, .-gordian_fiber_swap\n"
        ".hidden gordian_fiber_first\n"
        ".globl gordian_fiber_first\n"
        ".type gordian_fiber_first, @function\n"
        "gordian_fiber_first:\n"
        "    movq %r12, %rdi\n"
        "    callq *%r13\n"
        "    ud2\n"
        ".size gordian_fiber_first, .-gordian_fiber_first\n"
        ".popsection\n");

/* The registers that the swap above pops, in order, then its return address. There the stack must
 * be a multiple of 16, as the ABI requires at a call. */
static void *first_frame(char *top, void (*run)(void *), void *argument)
{
    uint64_t *frame = (uint64_t *)(top - 16) - 7;
    memset(frame, 0, 9 * sizeof *frame);
    frame[2] = (uintptr_t)run;      /* r13 */
    frame[3] = (uintptr_t)argument; /* r12 */
    frame[6] = (uintptr_t)gordian_fiber_first;
    return frame;
}

#endif

/* ---- stacks */

static size_t page_bytes(void)
{
    long page = sysconf(_SC_PAGESIZE);
    return page > 0 ? (size_t)page : 65536;
}

bool fiber_map(struct fiber *fibers, size_t count)
{
    size_t page = page_bytes();
    size_t stride = page + STACK_BYTES;
    char *base = mmap(NULL, stride * count, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (base == MAP_FAILED)
        return false;
    for (size_t i = 0; i < count; i++) {
        mprotect(base + i * stride, page, PROT_NONE);
        fibers[i] = (struct fiber){.stack = base + i * stride + page, .size = STACK_BYTES};
    }
    return true;
}

/* A fiber that was abandoned has left its frames poisoned, and its memory may be poisoned from
 * earlier use. Unpoisoning the whole stack takes longer than most kernel threads run, so it is
 * skipped where it is known to be clean. */
static void unmark_stack(struct fiber *fiber)
{
#if FIBER_ASAN
    if (!fiber->left)
        __asan_unpoison_memory_region(fiber->stack, fiber->size);
#endif
    fiber->left = false;
}

void fiber_unmap(struct fiber *fibers, size_t count)
{
    size_t page = page_bytes();
    for (size_t i = 0; i < count; i++) {
        if (fibers[i].entry)
            unmark_stack(&fibers[i]);
        munmap((char *)fibers[i].stack - page, page + STACK_BYTES);
    }
}

/* ---- switching */

/* The second half of a switch, on the new stack: informs AddressSanitizer, and learns from it where
 * the host thread's own stack is. */
FIBER_UNWATCHED static void arrived(struct fiber *fiber)
{
#if FIBER_ASAN
    const void *bottom;
    size_t size;
    __sanitizer_finish_switch_fiber(fiber->sanitizer, &bottom, &size);
    if (fiber->from && !fiber->from->stack) {
        fiber->from->stack = (void *)(uintptr_t)bottom;
        fiber->from->size = size;
    }
#else
    (void)fiber;
#endif
}

FIBER_UNWATCHED static void enter_fiber(void *argument)
{
    struct fiber *fiber = (struct fiber *)argument;
    arrived(fiber);
    fiber->entry(fiber->argument);
}

void fiber_start(struct fiber *fiber, void (*entry)(void *argument), void *argument)
{
    fiber->entry = entry;
    fiber->argument = argument;
    fiber->from = NULL;
    fiber->sanitizer = NULL;
    unmark_stack(fiber);
#ifdef FIBER_UCONTEXT
    prepare_stack(fiber);
#else
    fiber->stack_pointer = first_frame((char *)fiber->stack + fiber->size, enter_fiber, fiber);
#endif
}

void fiber_host(struct fiber *fiber)
{
    *fiber = (struct fiber){0};
}

FIBER_UNWATCHED void fiber_switch(struct fiber *from, struct fiber *to)
{
    to->from = from;
#if FIBER_ASAN
    __sanitizer_start_switch_fiber(&from->sanitizer, to->stack, to->size);
#endif
    swap(from, to);
    arrived(from);
}

FIBER_UNWATCHED void fiber_leave(struct fiber *from, struct fiber *to)
{
    to->from = from;
#if FIBER_ASAN
    /* Nothing below this frame is poisoned: those functions have returned. */
    char *frame = __builtin_frame_address(0);
    __asan_unpoison_memory_region(frame, (size_t)((char *)from->stack + from->size - frame));
    from->left = true;
    __sanitizer_start_switch_fiber(NULL, to->stack, to->size);
#endif
    swap(from, to);
    __builtin_unreachable();
}
