/* System calls that are no cancellation points and need no libc state but errno, which callers
 * keep (struct inside saves it). */
#ifndef GORDIAN_RUN_SYS_H
#define GORDIAN_RUN_SYS_H

#include <fcntl.h>
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

static inline int sys_open(const char *path, int flags)
{
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0600);
}

static inline long sys_read(int fd, void *buffer, size_t size)
{
    return syscall(SYS_read, fd, buffer, size);
}

static inline long sys_write(int fd, const void *buffer, size_t size)
{
    return syscall(SYS_write, fd, buffer, size);
}

static inline void sys_close(int fd)
{
    syscall(SYS_close, fd);
}

static inline uint32_t sys_gettid(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

static inline uint32_t sys_getpid(void)
{
    return (uint32_t)syscall(SYS_getpid);
}

/* What does not change with the clock on the wall. */
static inline uint64_t sys_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* A moment of the same clock, that many nanoseconds from now. */
static inline struct timespec sys_soon(uint64_t nanoseconds)
{
    uint64_t then = sys_now() + nanoseconds;
    return (struct timespec){(time_t)(then / 1000000000u), (long)(then % 1000000000u)};
}

/* A counter that costs next to nothing to read; how fast it goes is found out when it matters. */
static inline uint64_t sys_ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return sys_now();
#endif
}

static inline void sys_sleep(uint64_t nanoseconds)
{
    struct timespec time = {(time_t)(nanoseconds / 1000000000u), (long)(nanoseconds % 1000000000u)};
    syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &time, NULL);
}

#endif
