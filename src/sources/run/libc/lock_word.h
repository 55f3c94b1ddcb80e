/* Changes a word from 0 to 1 (false: it was not 0), or from any value to 0, and returns that value:
 * an exchange is faster than a comparison. On aarch64 the compiler would call a helper that selects
 * the instruction set, and save registers around the call at every lock. */
#pragma once

#include <stdbool.h>

/* Detects the instruction set. */
void word_start(void);

#if defined(__aarch64__)
/* The processor has the atomic instructions of ARMv8.1. Set at the start. */
extern bool word_has_atomics __attribute__((visibility("hidden")));
#endif

#if defined(__aarch64__)
static inline __attribute__((always_inline)) bool word_acquire(int *word)
{
    int seen = 0, failed;
    if (__builtin_expect(word_has_atomics, 1)) {
        __asm__ volatile(".arch_extension lse\n\t"
                         "casa %w0, %w2, %1"
                         : "+r"(seen), "+Q"(*word)
                         : "r"(1)
                         : "memory");
        return seen == 0;
    }
    __asm__ volatile("0: ldaxr %w0, %2\n\t"
                     "cbnz %w0, 1f\n\t"
                     "stxr %w1, %w3, %2\n\t"
                     "cbnz %w1, 0b\n"
                     "1:"
                     : "=&r"(seen), "=&r"(failed), "+Q"(*word)
                     : "r"(1)
                     : "memory");
    return seen == 0;
}

static inline __attribute__((always_inline)) int word_release(int *word)
{
    int seen, failed;
    if (__builtin_expect(word_has_atomics, 1)) {
        __asm__ volatile(".arch_extension lse\n\t"
                         "swpl wzr, %w0, %1"
                         : "=r"(seen), "+Q"(*word)
                         :
                         : "memory");
        return seen;
    }
    __asm__ volatile("0: ldxr %w0, %2\n\t"
                     "stlxr %w1, wzr, %2\n\t"
                     "cbnz %w1, 0b"
                     : "=&r"(seen), "=&r"(failed), "+Q"(*word)
                     :
                     : "memory");
    return seen;
}
#else
static inline __attribute__((always_inline)) bool word_acquire(int *word)
{
    int free = 0;
    return __atomic_compare_exchange_n(word, &free, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static inline __attribute__((always_inline)) int word_release(int *word)
{
    return __atomic_exchange_n(word, 0, __ATOMIC_RELEASE);
}
#endif
