/* System calls that are no cancellation points and need no libc state but errno, which callers
 * keep. Nothing in this folder makes one but through here: see start/sandbox.h. */
#pragma once

#include "sources/run/state/watch.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* How the kernel has an action of SYS_rt_sigaction. */
struct sys_action {
    uintptr_t handler;
    unsigned long flags;
    uintptr_t restorer; /* unused: nothing returns from what is set here */
    uint64_t mask;
};

/* As syscall(); refused with EPERM when the program has forbidden itself more than it needs. */
long sys_gate(long number, long a, long b, long c, long d, long e, long f);
#define SYS_PADDED(n, a, b, c, d, e, f, ...)                                                       \
    sys_gate((n), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
#define sys_call(...) SYS_PADDED(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)

static inline int sys_open(const char *path, int flags)
{
    return (int)sys_call(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0600);
}

static inline long sys_read(int fd, void *buffer, size_t size)
{
    return sys_call(SYS_read, fd, buffer, size);
}

static inline long sys_write(int fd, const void *buffer, size_t size)
{
    return sys_call(SYS_write, fd, buffer, size);
}

static inline void sys_close(int fd)
{
    sys_call(SYS_close, fd);
}

/* The number that libc has for this thread, and marks its locks with. */
uint32_t sys_gettid(void);

/* What does not change with the clock on the wall. */
uint64_t sys_now(void);

/* The clock on the wall. */
uint64_t sys_wall(void);

/* From now on, in a sandbox, time is what the processor counts. */
void sys_note_clock(void);

static inline struct timespec sys_timespec(uint64_t nanoseconds)
{
    return (struct timespec){(time_t)(nanoseconds / 1000000000u),
                             (long)(nanoseconds % 1000000000u)};
}

/* A moment of the same clock, that many nanoseconds from now. */
static inline struct timespec sys_soon(uint64_t nanoseconds)
{
    return sys_timespec(sys_now() + nanoseconds);
}

static inline void sys_sleep(uint64_t nanoseconds)
{
    struct timespec time = sys_timespec(nanoseconds);
    uint32_t nobody = 0;
    sys_call(SYS_futex, &nobody, FUTEX_WAIT_PRIVATE, 0, &time, NULL, 0);
}
