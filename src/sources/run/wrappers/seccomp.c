/* prctl() and syscall(), either of which may install a seccomp filter. */
#include "sources/run/libc/export.h"
#include "sources/run/libc/real.h"
#include "sources/run/start/enter.h"
#include "sources/run/start/sandbox.h"
#include "sources/run/state/raw_call.h"

#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static bool sets_filter(long operation, long argument)
{
    return operation == SECCOMP_SET_MODE_STRICT ||
           (operation == SECCOMP_SET_MODE_FILTER && argument != 0); /* otherwise it only queries */
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
    bool first = sandbox_comes(option == PR_SET_SECCOMP && sets_filter(operation, (long)b));
    if (option == PR_SET_PDEATHSIG)
        atomic_store(&watch.at_death, a != 0);
    return (int)sandbox_came(first, real.prctl(option, a, b, c, d));
}
EXPORT(prctl, V_OLDEST);

/* syscall(): most calls jump to libc without a frame of this library, which some ways to start a
 * process require. Calls that may install a filter come here, with their arguments unchanged. */
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
    bool first = comes && thread_enter() && sandbox_comes(true);
    return sandbox_came(first, set_errno(raw_call(number, a, b, c, d, e, f)));
}

/* Used until libc's function is known. */
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
