#include "sources/run/sandbox.h"

#include "sources/run/arena.h"
#include "sources/run/doubt.h"
#include "sources/run/export.h"
#include "sources/run/maps.h"
#include "sources/run/raw_call.h"
#include "sources/run/real.h"
#include "sources/run/settings.h"
#include "sources/run/status.h"
#include "sources/run/sys.h"

#include <linux/seccomp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/prctl.h>

/* The last moment at which the kernel may be asked. */
static void prepare_sandbox(void)
{
    pages_reserve();
    uint64_t caught;
    status_give_up();
    if (!read_line_hex("/proc/self/status", "SigCgt:", &caught))
        caught = ~(uint64_t)0;
    atomic_fetch_or(&watch.caught, caught);
    watch.timers = doubt_timers() != POLICY_TIMERS_NONE;
    maps_keep();
    sys_note_clock();
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
