#include "foundation/base/threads/park.h"

#include "foundation/base/clock.h"

#include <time.h>

#ifdef __linux__
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

static void sleep_on(_Atomic uint32_t *word, uint32_t value, const struct timespec *most)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, most, NULL, 0);
}

void park_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}
#else
/* Without futexes: poll the word every millisecond. */
static void sleep_on(_Atomic uint32_t *word, uint32_t value, const struct timespec *most)
{
    struct timespec nap = {.tv_nsec = 1000000};
    if (most && most->tv_sec == 0 && most->tv_nsec < nap.tv_nsec)
        nap = *most;
    if (atomic_load(word) == value)
        nanosleep(&nap, NULL);
}

void park_wake(_Atomic uint32_t *word)
{
    (void)word;
}
#endif

bool park_wait(_Atomic uint32_t *word, uint32_t value, uint64_t until)
{
    if (until == UINT64_MAX) {
        sleep_on(word, value, NULL);
        return true;
    }
    uint64_t now = clock_ns();
    if (now >= until)
        return false;
    struct timespec most = {.tv_sec = (time_t)((until - now) / 1000000000u),
                            .tv_nsec = (long)((until - now) % 1000000000u)};
    sleep_on(word, value, &most);
    return true;
}
