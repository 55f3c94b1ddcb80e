/* Who looks for leaks where that takes seconds: on aarch64 the allocator of the address sanitizer
 * walks its whole address range, at the end of every process. There only those do it that are
 * compiled with TEST_LEAKS, some of each kind, unless ASAN_OPTIONS says so (make check-long). And
 * of them those who end with exactly the blocks they began with need not walk: there is nothing to
 * be found. */
#ifndef GORDIAN_TESTS_LEAKS_H
#define GORDIAN_TESTS_LEAKS_H

#if defined(__SANITIZE_ADDRESS__) && defined(__aarch64__)
#define LEAKS_CALLED __attribute__((weak, visibility("default")))

#ifndef TEST_LEAKS
LEAKS_CALLED const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}
#else
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* The blocks that there are: how many, and the sum of their addresses. Weak: one for all files of a
 * test. */
struct leaks_blocks {
    _Atomic uintptr_t count, sum;
};
__attribute__((weak)) struct leaks_blocks leaks_now, leaks_at_first;

LEAKS_CALLED void __sanitizer_malloc_hook(const volatile void *block, size_t size);
LEAKS_CALLED void __sanitizer_free_hook(const volatile void *block);
LEAKS_CALLED int __lsan_is_turned_off(void);

void __sanitizer_malloc_hook(const volatile void *block, size_t size)
{
    (void)size;
    if (!block)
        return;
    leaks_now.count++;
    leaks_now.sum += (uintptr_t)block;
}

void __sanitizer_free_hook(const volatile void *block)
{
    leaks_now.count--;
    leaks_now.sum -= (uintptr_t)block;
}

int __lsan_is_turned_off(void)
{
    return leaks_now.count == leaks_at_first.count && leaks_now.sum == leaks_at_first.sum;
}

/* What is there by now is kept for ever by some library. */
static inline void leaks_keep(void)
{
    leaks_at_first.count = leaks_now.count;
    leaks_at_first.sum = leaks_now.sum;
}

/* What is printed, and the time zone, are kept in blocks for ever otherwise. */
__attribute__((constructor, weak)) void leaks_begin(void);

void leaks_begin(void)
{
    static char printed[BUFSIZ];
    setvbuf(stdout, printed, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF, sizeof printed);
    tzset();
    leaks_keep();
}
#define LEAKS_KEEP leaks_keep
#endif
#endif

#ifndef LEAKS_KEEP
static inline void leaks_keep(void)
{
}
#endif

#endif
