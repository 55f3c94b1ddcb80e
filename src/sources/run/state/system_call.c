#include "sources/run/state/system_call.h"

#include "foundation/base/clock.h"
#include "sources/run/libc/real.h"
#include "sources/run/state/raw_call.h"

long sys_gate(long number, long a, long b, long c, long d, long e, long f)
{
    /* In a sandbox only the calls that are necessary to wait for a lock and to end the program. */
    bool needed = number == SYS_futex || number == SYS_exit_group ||
                  (number == SYS_write && watch.last_words);
    if (unlikely(watch.sandboxed) && !needed) {
        errno = EPERM;
        return -1;
    }
    return set_errno(raw_call(number, a, b, c, d, e, f));
}

uint32_t sys_gettid(void)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    real.pthread_mutex_lock(&mutex);
    uint32_t tid = (uint32_t)mutex.__data.__owner;
    real.pthread_mutex_unlock(&mutex);
    return tid;
}

static uint64_t clock_now(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Reading the clock is not always possible without a system call, so the processor's counter
 * replaces it. */
static uint64_t stopped_ticks, stopped_ns, wall_ahead;
static double tick_ns;

uint64_t sys_now(void)
{
    if (likely(!watch.sandboxed))
        return clock_now(CLOCK_MONOTONIC);
    return stopped_ns + (uint64_t)((double)(clock_ticks() - stopped_ticks) * tick_ns);
}

uint64_t sys_wall(void)
{
    return watch.sandboxed ? sys_now() + wall_ahead : clock_now(CLOCK_REALTIME);
}

void sys_note_clock(void)
{
    stopped_ticks = clock_ticks();
    stopped_ns = clock_now(CLOCK_MONOTONIC);
    wall_ahead = clock_now(CLOCK_REALTIME) - stopped_ns;
    uint64_t ticks = stopped_ticks - watch.start_ticks, ns = stopped_ns - watch.start_ns;
    tick_ns = ticks && ns ? (double)ns / (double)ticks : 1;
}
