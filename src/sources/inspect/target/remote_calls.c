#define _GNU_SOURCE
#include "sources/inspect/target/remote_calls.h"

#include "foundation/base/clock.h"
#include "sources/inspect/target/stop.h"

#include <elf.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#define BELOW_STACK 1024                  /* beyond any red zone */
#define PATIENCE_NS UINT64_C(30000000000) /* completing a call on a busy machine */
#define TRACED_STOP (SIGTRAP | 0x80)      /* stop at a system call, with PTRACE_O_TRACESYSGOOD */
#define STOPS_MOST  8                     /* other stops before the one at a system call */

size_t ask_add(struct ask *ask, uint64_t number, uint64_t first, uint64_t second, uint64_t third,
               uint64_t fourth)
{
    if (ask->count == ASK_MOST)
        return ASK_MOST;
    ask->calls[ask->count] =
        (struct ask_call){.number = number, .arguments = {first, second, third, fourth}};
    return ask->count++;
}

/* ------------------------------------------------------------------ registers */

#if defined(__x86_64__)

/* The result shows that the kernel will restart the call, but has not decided to yet. */
static bool is_in_call(uint32_t pid, const struct user_regs_struct *at)
{
    enum { RESTART = 512, RESTART_ALWAYS = 513, RESTART_WITHOUT_HANDLER = 514 };
    unsigned char code[2] = {0};
    struct iovec local = {code, sizeof code}, remote = {(void *)(at->rip - 2), sizeof code};
    int64_t result = (int64_t)at->rax;
    return (int64_t)at->orig_rax >= 0 &&
           (result == -RESTART || result == -RESTART_ALWAYS ||
            result == -RESTART_WITHOUT_HANDLER) &&
           process_vm_readv((pid_t)pid, &local, 1, &remote, 1, 0) == sizeof code &&
           code[0] == 0x0f && code[1] == 0x05;
}

/* Registers for repeating the thread's own call. */
static struct user_regs_struct own_call(const struct user_regs_struct *at)
{
    struct user_regs_struct own = *at;
    own.rip -= 2;
    own.rax = at->orig_rax;
    own.orig_rax = UINT64_MAX;
    return own;
}

static struct user_regs_struct other_call(const struct user_regs_struct *own,
                                          const struct ask_call *call, const uint64_t *arguments)
{
    struct user_regs_struct other = *own;
    other.rax = call->number;
    other.rdi = arguments[0];
    other.rsi = arguments[1];
    other.rdx = arguments[2];
    other.r10 = arguments[3];
    return other;
}

static uint64_t stack_pointer(const struct user_regs_struct *at)
{
    return at->rsp;
}

static int64_t call_result(const struct user_regs_struct *at)
{
    return (int64_t)at->rax;
}

#else

/* The kernel has already moved the program counter back to the instruction of the call. */
static bool is_in_call(uint32_t pid, const struct user_regs_struct *at)
{
    enum { SVC = 0xd4000001 };
    uint32_t code = 0;
    struct iovec local = {&code, sizeof code}, remote = {(void *)(uintptr_t)at->pc, sizeof code};
    return process_vm_readv((pid_t)pid, &local, 1, &remote, 1, 0) == sizeof code && code == SVC;
}

static struct user_regs_struct own_call(const struct user_regs_struct *at)
{
    return *at;
}

static struct user_regs_struct other_call(const struct user_regs_struct *own,
                                          const struct ask_call *call, const uint64_t *arguments)
{
    struct user_regs_struct other = *own;
    other.regs[8] = call->number;
    for (size_t i = 0; i < 4; i++)
        other.regs[i] = arguments[i];
    return other;
}

static uint64_t stack_pointer(const struct user_regs_struct *at)
{
    return at->sp;
}

static int64_t call_result(const struct user_regs_struct *at)
{
    return (int64_t)at->regs[0];
}

#endif

/* ------------------------------------------------------------------ one call */

static bool put_registers(pid_t tid, struct user_regs_struct registers)
{
    return stop_put_set(tid, NT_PRSTATUS, &registers, sizeof registers);
}

/* Runs the thread to its next stop at the start or end of a system call. */
static bool run_to_call(pid_t tid)
{
    for (int i = 0; i < STOPS_MOST; i++) {
        int status = 0;
        if (ptrace(PTRACE_SYSCALL, tid, NULL, NULL) != 0 ||
            !stop_await(tid, clock_ns() + PATIENCE_NS, &status))
            return false;
        if (WSTOPSIG(status) == TRACED_STOP)
            return true;
    }
    return false;
}

static bool make_call(pid_t tid, uint32_t pid, const struct user_regs_struct *own,
                      struct ask_call *call)
{
    uint64_t arguments[4], here = (stack_pointer(own) - BELOW_STACK) & ~UINT64_C(15);
    struct user_regs_struct after;
    size_t size = sizeof after;
    for (size_t i = 0; i < 4; i++)
        arguments[i] = call->arguments[i] == ASK_HERE ? here : call->arguments[i];
    if (!put_registers(tid, other_call(own, call, arguments)) || !run_to_call(tid) ||
        !run_to_call(tid) || !stop_get_set(tid, &after, &size))
        return false;
    call->result = call_result(&after);
    struct iovec local = {call->answer, sizeof call->answer};
    struct iovec remote = {(void *)(uintptr_t)here, sizeof call->answer};
    if (call->result >= 0 && process_vm_readv((pid_t)pid, &local, 1, &remote, 1, 0) < 0)
        memset(call->answer, 0, sizeof call->answer);
    return true;
}

/* ------------------------------------------------------------------ all of them */

/* Returns the thread to its own call, and stops it there like any sleeping thread. */
static void resume_call(pid_t tid, const struct user_regs_struct *own)
{
    int status;
    if (!put_registers(tid, *own) || !run_to_call(tid) ||
        ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) != 0 || ptrace(PTRACE_CONT, tid, NULL, NULL) != 0)
        return;
    stop_await(tid, clock_ns() + PATIENCE_NS, &status);
}

void ask_stopped(struct ask *ask, uint32_t pid, pid_t tid)
{
    struct user_regs_struct at, own;
    size_t size = sizeof at;
    uint64_t all = ~UINT64_C(0), before;
    if (!stop_get_set(tid, &at, &size) || !is_in_call(pid, &at) ||
        ptrace(PTRACE_SETOPTIONS, tid, NULL, (void *)(uintptr_t)PTRACE_O_TRACESYSGOOD) != 0 ||
        ptrace(PTRACE_GETSIGMASK, tid, (void *)sizeof before, &before) != 0 ||
        ptrace(PTRACE_SETSIGMASK, tid, (void *)sizeof all, &all) != 0)
        return;
    bool made = true;
    own = own_call(&at);
    for (size_t i = 0; i < ask->count && made; i++)
        made = make_call(tid, pid, &own, &ask->calls[i]);
    resume_call(tid, &own);
    ptrace(PTRACE_SETSIGMASK, tid, (void *)sizeof before, &before);
    ask->done = made;
}
