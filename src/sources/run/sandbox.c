#include "sources/run/sandbox.h"

#include "foundation/base/clock.h"
#include "sources/run/arena.h"
#include "sources/run/doubt.h"
#include "sources/run/export.h"
#include "sources/run/maps.h"
#include "sources/run/real.h"
#include "sources/run/settings.h"
#include "sources/run/status.h"
#include "sources/run/sys.h"

#include <linux/seccomp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/prctl.h>

/* ------------------------------------------------------------------ the gate */

#if defined(__x86_64__)
static inline long raw_call(long number, long a, long b, long c, long d, long e, long f)
{
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}
#else
static inline long raw_call(long number, long a, long b, long c, long d, long e, long f)
{
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    return x0;
}
#endif

static inline long set_errno(long result)
{
    if ((unsigned long)result <= -4096UL)
        return result;
    errno = (int)-result;
    return -1;
}

/* Waiting for a lock, and the end. */
static bool is_needed_anyway(long number)
{
    return number == SYS_futex || number == SYS_exit_group ||
           (number == SYS_write && watch.last_words);
}

long sys_gate(long number, long a, long b, long c, long d, long e, long f)
{
    if (unlikely(watch.sandboxed) && !is_needed_anyway(number)) {
        errno = EPERM;
        return -1;
    }
    return set_errno(raw_call(number, a, b, c, d, e, f));
}

/* ------------------------------------------------------------------ without the kernel */

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

/* Where the clock is a page of the kernel's that can be read, reading it would be no call; but not
 * everywhere it is. */
static uint64_t sandbox_ticks, sandbox_ns, wall_ahead;
static double tick_ns;

uint64_t sys_now(void)
{
    if (likely(!watch.sandboxed))
        return clock_now(CLOCK_MONOTONIC);
    return sandbox_ns + (uint64_t)((double)(clock_ticks() - sandbox_ticks) * tick_ns);
}

uint64_t sys_wall(void)
{
    return watch.sandboxed ? sys_now() + wall_ahead : clock_now(CLOCK_REALTIME);
}

static void note_clock(void)
{
    sandbox_ticks = clock_ticks();
    sandbox_ns = clock_now(CLOCK_MONOTONIC);
    wall_ahead = clock_now(CLOCK_REALTIME) - sandbox_ns;
    uint64_t ticks = sandbox_ticks - watch.start_ticks, ns = sandbox_ns - watch.start_ns;
    tick_ns = ticks && ns ? (double)ns / (double)ticks : 1;
}

/* ------------------------------------------------------------------ what is needed later */

#define RESERVE   ((size_t)1 << 30) /* addresses only */
#define MAPS_MOST ((size_t)1 << 20)

static char *reserve;
static size_t reserve_room;
static _Atomic size_t reserve_used;
static char *maps;
static size_t maps_size;

void *sandbox_pages(size_t size)
{
    size = (size + 4095) & ~(size_t)4095;
    size_t used = atomic_fetch_add(&reserve_used, size);
    return used + size <= reserve_room ? reserve + used : NULL;
}

const char *sandbox_maps(size_t *size)
{
    *size = maps_size;
    return maps;
}

static void copy_maps(void)
{
    int fd = sys_open("/proc/self/maps", O_RDONLY);
    long length = 1;
    maps = fd >= 0 ? pages_map(MAPS_MOST) : NULL;
    for (maps_size = 0; maps && length > 0 && maps_size < MAPS_MOST; maps_size += (size_t)length) {
        length = sys_read(fd, maps + maps_size, MAPS_MOST - maps_size);
        length = length > 0 ? length : 0;
    }
    if (fd >= 0)
        sys_close(fd);
}

/* The last moment at which the kernel may be asked. */
static void prepare_sandbox(void)
{
    for (size_t room = RESERVE < pages_most() ? RESERVE : pages_most(); !reserve && room > 1 << 20;
         room >>= 2) {
        reserve = pages_map(room);
        reserve_room = room;
    }
    uint64_t caught;
    status_give_up();
    if (!read_line_hex("/proc/self/status", "SigCgt:", &caught))
        caught = ~(uint64_t)0;
    atomic_fetch_or(&watch.caught, caught);
    watch.timers = doubt_timers() != POLICY_TIMERS_NONE;
    copy_maps();
    note_clock();
    __atomic_fetch_add(&watch.tally->sandboxed, 1, __ATOMIC_RELAXED);
    watch.sandboxed = true;
}

/* syscall() behind ours; NULL: not known yet. Read in assembler. */
__attribute__((visibility("hidden"), used)) void *sandbox_next;

void sandbox_start(void)
{
    sandbox_next = (void *)(uintptr_t)real.syscall;
    uint64_t filters = 0, tried = setting_number("GORDIAN_FILTERS", 0);
    if (read_line_number("/proc/self/status", "Seccomp:", &filters) && filters != 0 &&
        (!read_line_number("/proc/self/status", "Seccomp_filters:", &filters) || filters > tried))
        prepare_sandbox();
}

/* ------------------------------------------------------------------ a filter comes */

static bool sets_filter(long operation, long argument)
{
    return operation == SECCOMP_SET_MODE_STRICT ||
           (operation == SECCOMP_SET_MODE_FILTER && argument != 0); /* or asks what there is */
}

/* The process is about to install a filter: true, and everything is ready for it. */
static bool filter_comes(bool comes)
{
    if (!comes || watch.sandboxed || atomic_load(&watch.state) != WATCH_ON)
        return false;
    int saved = errno;
    prepare_sandbox();
    errno = saved;
    return true;
}

static long filter_came(bool first, long result)
{
    if (first && result < 0)
        watch.sandboxed = false; /* it did not; the status is gone, though */
    return result;
}

WRAPPER(int, prctl, (int option, ...))
{
    va_list list;
    va_start(list, option);
    unsigned long a = va_arg(list, unsigned long), b = va_arg(list, unsigned long);
    unsigned long c = va_arg(list, unsigned long), d = va_arg(list, unsigned long);
    va_end(list);
    long operation = a == SECCOMP_MODE_STRICT ? SECCOMP_SET_MODE_STRICT : SECCOMP_SET_MODE_FILTER;
    thread_enter();
    bool first = filter_comes(option == PR_SET_SECCOMP && sets_filter(operation, (long)b));
    if (option == PR_SET_PDEATHSIG)
        atomic_store(&watch.at_death, a != 0);
    return (int)filter_came(first, real.prctl(option, a, b, c, d));
}
EXPORT(prctl, V_OLDEST);

/* syscall(): most calls go straight on, without a frame of ours, as some ways to start a process
 * demand; those that may install a filter come by here, with the arguments where they were. */
#define FROM_ASSEMBLER __attribute__((visibility("hidden"), used))
FROM_ASSEMBLER long sandbox_syscall(long number, long a, long b, long c, long d, long e, long f);
FROM_ASSEMBLER long sandbox_plain_syscall(long number, long a, long b, long c, long d, long e,
                                          long f);

long sandbox_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    bool comes =
        (number == SYS_seccomp && sets_filter(a, c)) ||
        (number == SYS_prctl && a == PR_SET_SECCOMP &&
         sets_filter(b == SECCOMP_MODE_STRICT ? SECCOMP_SET_MODE_STRICT : SECCOMP_SET_MODE_FILTER,
                     c));
    bool first = comes && thread_enter() && filter_comes(true);
    return filter_came(first, set_errno(raw_call(number, a, b, c, d, e, f)));
}

/* Until libc's own is known. */
long sandbox_plain_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    return set_errno(raw_call(number, a, b, c, d, e, f));
}

/* clang-format off */
#define TEXT(x)  TEXT_(x)
#define TEXT_(x) #x
#if defined(__x86_64__)
__asm__(".text\n"
        ".globl wrap_syscall\n"
        ".type wrap_syscall, @function\n"
        "wrap_syscall:\n"
        "    cmpq $" TEXT(__NR_seccomp) ", %rdi\n"
        "    je sandbox_syscall\n"
        "    cmpq $" TEXT(__NR_prctl) ", %rdi\n"
        "    je sandbox_syscall\n"
        "    movq sandbox_next(%rip), %rax\n"
        "    testq %rax, %rax\n"
        "    je sandbox_plain_syscall\n"
        "    jmp *%rax\n"
        ".size wrap_syscall, . - wrap_syscall\n");
#else
__asm__(".text\n"
        ".globl wrap_syscall\n"
        ".type wrap_syscall, %function\n"
        "wrap_syscall:\n"
        "    cmp x0, #" TEXT(__NR_seccomp) "\n"
        "    b.eq sandbox_syscall\n"
        "    cmp x0, #" TEXT(__NR_prctl) "\n"
        "    b.eq sandbox_syscall\n"
        "    adrp x16, sandbox_next\n"
        "    ldr x16, [x16, :lo12:sandbox_next]\n"
        "    cbz x16, sandbox_plain_syscall\n"
        "    br x16\n"
        ".size wrap_syscall, . - wrap_syscall\n");
#endif
/* clang-format on */
__asm__(".symver wrap_syscall,syscall@@" V_OLDEST);

/* ------------------------------------------------------------------ locks */

bool sandbox_lock_copy(uintptr_t lock, uint32_t kind, union lock_copy *copy)
{
    uint32_t limit = atomic_load(&watch.thread_limit);
    memset(copy, 0, sizeof *copy);
    for (uint32_t i = 0; kind == INCIDENT_MUTEX && i < limit; i++) {
        struct thread *t = &watch.threads[i];
        if (!thread_is_live(t) || t->ending || !units_held(t, lock, INCIDENT_EXCLUSIVE, NULL))
            continue;
        copy->mutex.__data.__lock = 2;
        copy->mutex.__data.__owner = (int)t->tid;
        return true;
    }
    return false;
}
