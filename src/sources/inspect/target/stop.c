#define _GNU_SOURCE
#include "sources/inspect/target/stop.h"

#include "foundation/base/clock.h"
#include "sources/inspect/target/proc.h"
#include "sources/inspect/target/remote_calls.h"
#include "sources/inspect/target/system_calls.h"

#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ------------------------------------------------------------------ waiting for the stop */

/* Returns whether the thread has stopped; -1: it has ended; 0: neither. Does not reap it: it may be
 * a child of this process that other code waits for. */
static int has_stopped(pid_t tid, int *status)
{
    siginfo_t info = {0};
    if (waitid(P_PID, (id_t)tid, &info, WEXITED | WSTOPPED | WNOWAIT | WNOHANG | __WALL) != 0)
        return errno == EINTR ? 0 : -1;
    if (info.si_pid == 0)
        return 0;
    if (info.si_code != CLD_STOPPED && info.si_code != CLD_TRAPPED)
        return -1;
    return waitpid(tid, status, __WALL | WNOHANG) == tid && WIFSTOPPED(*status) ? 1 : -1;
}

bool stop_await(pid_t tid, uint64_t until, int *status)
{
    for (;;) {
        int stopped = has_stopped(tid, status);
        if (stopped != 0)
            return stopped > 0;
        if (clock_ns() > until)
            return false;
        nanosleep(&(struct timespec){0, 20000}, NULL);
    }
}

/* Waits in the same way for a stop. `signal`: the signal that was about to be delivered, and must
 * be delivered when the thread continues; 0: none. */
static bool await_stop(pid_t tid, uint64_t until, int *signal)
{
    int status = 0;
    if (!stop_await(tid, until, &status))
        return false;
    *signal = status >> 16 ? 0 : WSTOPSIG(status);
    return true;
}

/* ------------------------------------------------------------------ calls that were interrupted */

bool stop_get_set(pid_t tid, void *set, size_t *size)
{
    struct iovec vector = {set, *size};
    bool done = ptrace(PTRACE_GETREGSET, tid, (void *)(uintptr_t)NT_PRSTATUS, &vector) == 0;
    *size = vector.iov_len;
    return done;
}

bool stop_put_set(pid_t tid, uintptr_t kind, void *set, size_t size)
{
    struct iovec vector = {set, size};
    return ptrace(PTRACE_SETREGSET, tid, (void *)kind, &vector) == 0;
}

#if defined(__x86_64__)

/* When the thread continues, the kernel decides by the result of the call what follows. This
 * result, internal to the kernel, means EINTR if a handler will run, and otherwise a restart of the
 * same call. */
static void restart_call(uint32_t pid, pid_t tid, int signal)
{
    enum { RESTART_WITHOUT_HANDLER = 514, RESTART_THE_REST = 516, POLL = 7 };
    struct user_regs_struct registers;
    size_t size = sizeof registers;
    (void)pid;
    (void)signal;
    if (!stop_get_set(tid, &registers, &size) || (int64_t)registers.orig_rax < 0)
        return;
    /* The kernel would restart a poll without a time limit as another call, which does not show
     * that there is no limit. */
    bool poll_for_ever = (int64_t)registers.rax == -RESTART_THE_REST &&
                         registers.orig_rax == POLL && (int32_t)registers.rdx < 0;
    if (!poll_for_ever &&
        ((int64_t)registers.rax != -EINTR || !call_repeats(EM_X86_64, registers.orig_rax)))
        return;
    registers.rax = (unsigned long long)-RESTART_WITHOUT_HANDLER;
    stop_put_set(tid, NT_PRSTATUS, &registers, size);
}

#else

/* Returns whether the thread is about to run a handler, of `signal` (0: none) or of a pending
 * signal. */
static bool handler_is_due(uint32_t pid, pid_t tid, int signal)
{
    char text[4096];
    if (proc_read_thread(pid, (uint32_t)tid, "status", text, sizeof text) <= 0)
        return true;
    uint64_t due = proc_number(text, "SigPnd:", 16) | proc_number(text, "ShdPnd:", 16);
    due &= ~proc_number(text, "SigBlk:", 16);
    due |= signal ? UINT64_C(1) << (signal - 1) : 0;
    return due & proc_number(text, "SigCgt:", 16);
}

static bool follows_call(uint32_t pid, uint64_t counter)
{
    enum { SVC = 0xd4000001 };
    uint32_t code = 0;
    struct iovec local = {&code, sizeof code};
    struct iovec remote = {(void *)(uintptr_t)(counter - sizeof code), sizeof code};
    return process_vm_readv((pid_t)pid, &local, 1, &remote, 1, 0) == sizeof code && code == SVC;
}

/* The result has overwritten the first argument. The kernel still has it, and shows it for a thread
 * inside a call: so this thread is marked as inside one for a moment. */
static bool first_argument(uint32_t pid, pid_t tid, uint64_t number, uint64_t *first)
{
    char text[256] = "", *end;
    int call = (int)number, none = -1;
    if (!stop_put_set(tid, NT_ARM_SYSTEM_CALL, &call, sizeof call))
        return false;
    ssize_t count = proc_read_thread(pid, (uint32_t)tid, "syscall", text, sizeof text);
    if (!stop_put_set(tid, NT_ARM_SYSTEM_CALL, &none, sizeof none) || count <= 0 ||
        strtoull(text, &end, 10) != number || *end != ' ')
        return false;
    *first = strtoull(end, NULL, 16);
    return true;
}

/* Here the kernel has already decided what follows the call. After EINTR, move the thread back to
 * the instruction of the call, unless a handler is about to run. */
static void restart_call(uint32_t pid, pid_t tid, int signal)
{
    struct user_regs_struct registers;
    size_t size = sizeof registers;
    uint64_t first;
    if (!stop_get_set(tid, &registers, &size) || (int64_t)registers.regs[0] != -EINTR ||
        !call_repeats(EM_AARCH64, registers.regs[8]) || !follows_call(pid, registers.pc) ||
        handler_is_due(pid, tid, signal) || !first_argument(pid, tid, registers.regs[8], &first))
        return;
    registers.regs[0] = first;
    registers.pc -= 4;
    stop_put_set(tid, NT_PRSTATUS, &registers, size);
}

#endif

/* A thread that has not stopped yet can be released only once it has. It stops soon, or it has
 * ended. */
static void release_thread(uint32_t pid, pid_t tid, int signal)
{
    do
        restart_call(pid, tid, signal);
    while (ptrace(PTRACE_DETACH, tid, NULL, (void *)(intptr_t)signal) != 0 && errno == ESRCH &&
           await_stop(tid, clock_ns() + 1000000000u, &signal));
}

/* ------------------------------------------------------------------ the stop */

struct stop {
    uint32_t pid;
    pid_t tid;
    uint64_t most_ns;
    unsigned char *set;
    struct stack_copy *stack; /* or NULL */
    struct ask *ask;          /* or NULL */
    ssize_t size;             /* bytes of the set; see stop_for_registers() */
    int failure;              /* errno if stopping is not permitted */
};

static void copy_stack(const struct stop *stop)
{
    struct user_regs_struct registers;
    memcpy(&registers, stop->set, sizeof registers);
#if defined(__x86_64__)
    uint64_t pointer = registers.rsp;
#else
    uint64_t pointer = registers.sp;
#endif
    struct iovec local = {stop->stack->bytes, stop->stack->room};
    struct iovec remote = {(void *)(uintptr_t)pointer, stop->stack->room};
    ssize_t count = process_vm_readv((pid_t)stop->pid, &local, 1, &remote, 1, 0);
    stop->stack->size = count > 0 ? (size_t)count : 0;
}

static void stop_now(struct stop *stop)
{
    uint64_t until = clock_ns() + stop->most_ns;
    size_t size = STOP_SET;
    int signal = 0;
    if (ptrace(PTRACE_SEIZE, stop->tid, NULL, NULL) != 0) {
        stop->failure = errno;
        return;
    }
    stop->size = 0;
    /* After waiting for a processor the time may be over: then nothing is read. */
    if (ptrace(PTRACE_INTERRUPT, stop->tid, NULL, NULL) == 0 &&
        await_stop(stop->tid, until, &signal) && clock_ns() <= until &&
        stop_get_set(stop->tid, stop->set, &size))
        stop->size = (ssize_t)size;
    if (stop->size > 0 && stop->stack)
        copy_stack(stop);
    if (stop->size > 0 && stop->ask && !signal)
        ask_stopped(stop->ask, stop->pid, stop->tid);
    release_thread(stop->pid, stop->tid, signal);
}

/* A new session: signals to the process group (from a terminal, from timeout(1)) do not reach it.
 */
static int stop_apart(void *argument)
{
    setsid();
    stop_now(argument);
    return 0;
}

/* ThreadSanitizer intercepts clone(), and treats it as a fork. */
extern int plain_clone(int (*work)(void *), void *stack, int flags, void *argument,
                       ...) __asm__("__clone");

/* Stops the thread from another process, which shares memory with this one and runs on a part of
 * its stack. This thread sleeps until the other process has ended. If this process is killed, the
 * other one completes the stop and releases the thread. False: the other process could not be
 * started. */
static bool stop_by_another(struct stop *stop)
{
    _Alignas(16) char stack[64u << 10];
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    /* A child without an exit signal is invisible to wait() elsewhere in this program. */
    pid_t made = plain_clone(stop_apart, stack + sizeof stack, CLONE_VM | CLONE_VFORK, stop);
    while (made > 0 && waitpid(made, NULL, __WCLONE) < 0 && errno == EINTR)
        ;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return made > 0;
}

/* Stops the thread from another process. If that fails, stops it from here, but only if
 * `by_itself`. */
static void make_stop(struct stop *stop, bool by_itself)
{
    bool by_another = stop_by_another(stop);
    if (by_itself && (!by_another || stop->failure == EPERM)) {
        stop->failure = 0;
        stop_now(stop);
    }
}

ssize_t stop_for_registers(uint32_t pid, uint32_t tid, uint64_t most_ns, bool by_itself,
                           unsigned char *set, struct stack_copy *stack)
{
    struct stop stop = {pid, (pid_t)tid, most_ns, set, stack, NULL, -1, 0};
    make_stop(&stop, by_itself);
    return stop.size;
}

bool stop_to_ask(uint32_t pid, uint32_t tid, uint64_t most_ns, struct ask *ask)
{
    unsigned char set[STOP_SET];
    struct stop stop = {pid, (pid_t)tid, most_ns, set, NULL, ask, -1, 0};
    ask->done = false;
    make_stop(&stop, true);
    return ask->done;
}
