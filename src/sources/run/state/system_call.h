/* System calls that are not cancellation points and need no state of libc except errno, which
 * callers save. All system calls of this folder go through here: see start/sandbox.h. */
#pragma once

#include "sources/run/state/watch.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The kernel's format of an action for SYS_rt_sigaction. */
struct sys_action {
    uintptr_t handler;
    unsigned long flags;
    uintptr_t restorer; /* unused: no handler set here returns */
    uint64_t mask;
};

/* Like syscall(). Fails with EPERM if the program has forbidden itself more calls than necessary.
 */
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

/* Returns the thread ID that libc stores in locks. */
uint32_t sys_gettid(void);

/* Monotonic time in ns. */
uint64_t sys_now(void);

/* Wall-clock time in ns. */
uint64_t sys_wall(void);

/* In a sandbox, measures time with the processor's counter from now on. */
void sys_note_clock(void);

static inline struct timespec sys_timespec(uint64_t nanoseconds)
{
    return (struct timespec){(time_t)(nanoseconds / 1000000000u),
                             (long)(nanoseconds % 1000000000u)};
}

/* Returns the monotonic time that is this many ns ahead. */
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
