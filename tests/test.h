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

#include <stdio.h>
#include <stdlib.h>

static _Atomic unsigned long test_passed, test_failed; /* any thread may check */

#define CHECK_MSG(condition, ...)                                                                  \
    do {                                                                                           \
        if (condition) {                                                                           \
            test_passed++;                                                                         \
        } else {                                                                                   \
            test_failed++;                                                                         \
            fprintf(stderr, "%s:%d: failed: %s: ", __FILE__, __LINE__, #condition);                \
            fprintf(stderr, __VA_ARGS__);                                                          \
            fputc('\n', stderr);                                                                   \
        }                                                                                          \
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

static inline int test_done(void)
{
    printf("%lu passed, %lu failed\n", test_passed, test_failed);
    return test_failed != 0;
}

#endif
