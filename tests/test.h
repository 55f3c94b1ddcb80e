/* The tests' one helper: CHECK counts, prints what failed and where, and goes on.
 *
 *     int main(void)
 *     {
 *         CHECK(1 + 1 == 2);
 *         CHECK_MSG(x == y, "x %d, y %d", x, y);
 *         return test_done();
 *     }
 */
#ifndef GORDIAN_TESTS_TEST_H
#define GORDIAN_TESTS_TEST_H

#include "leaks.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Under the thread sanitizer, which is slow, what has one thread is left to the other builds. */
#if defined(__SANITIZE_THREAD__)
#define TEST_THREADS_ONLY 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TEST_THREADS_ONLY 1
#endif
#endif
#ifndef TEST_THREADS_ONLY
#define TEST_THREADS_ONLY 0
#endif

static _Atomic unsigned long test_passed, test_failed; /* any thread may check */

/* Not in line: there are thousands of checks, and the compiler has enough to do. */
static __attribute__((noinline, unused)) void test_count_good(void)
{
    test_passed++;
}

static __attribute__((noinline, cold, unused, format(printf, 4, 5))) void
test_tell_bad(const char *file, int line, const char *condition, const char *format, ...)
{
    va_list arguments;
    test_failed++;
    fprintf(stderr, "%s:%d: failed: %s: ", file, line, condition);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

#define CHECK_MSG(condition, ...)                                                                  \
    do {                                                                                           \
        if (condition)                                                                             \
            test_count_good();                                                                     \
        else                                                                                       \
            test_tell_bad(__FILE__, __LINE__, #condition, __VA_ARGS__);                            \
    } while (0)

#define CHECK(condition) CHECK_MSG(condition, "%s", __func__)

/* For what the rest of a test cannot do without. */
#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        unsigned long before = test_failed;                                                        \
        CHECK(condition);                                                                          \
        if (test_failed != before)                                                                 \
            exit(1);                                                                               \
    } while (0)

/* GORDIAN_TEST_SCALE: how much the long tests do, in percent of the usual. */
static inline unsigned test_scale(void)
{
    const char *percent = getenv("GORDIAN_TEST_SCALE");
    return percent ? (unsigned)strtoul(percent, NULL, 10) : 100;
}

/* So much of the usual; at least one. */
static inline unsigned long test_scaled(unsigned long usual)
{
    unsigned long scaled = usual * test_scale() / 100;
    return scaled ? scaled : 1;
}

/* A sanitized run of `make check`: what the other tree has done whole is done in part. */
static inline int test_is_short(void)
{
    return test_scale() < 10;
}

/* Where all are tried in turn: every so many-th. All of them, unless the run is a short one. */
static inline unsigned test_stride(void)
{
    return test_is_short() ? 5 : 1;
}

static inline int test_done(void)
{
    printf("%lu passed, %lu failed\n", test_passed, test_failed);
    return test_failed != 0;
}

#endif
