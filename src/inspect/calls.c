#include "inspect/calls.h"

#include <elf.h>
#include <string.h>

#define NOWHERE UINT16_MAX
#define NEVER   0xffu /* no argument is a time limit */

/* A system call that may sleep: its numbers, and which argument (counted from 0) limits the time:
 * a pointer (NULL: no limit), or milliseconds (negative: none). */
struct known_call {
    const char *name;
    uint16_t x86, arm;
    uint8_t kind;
    uint8_t limit;     /* argument, or NEVER */
    bool milliseconds; /* it is a number, not a pointer */
    bool restarts;     /* after an interruption without a handler: see signal(7) */
};

static const struct known_call known_calls[] = {
    {"futex", 202, 98, CALL_FUTEX, 3, false, true},
    {"read", 0, 63, CALL_READ, NEVER, false, false},
    {"readv", 19, 65, CALL_READ, NEVER, false, false},
    {"pread64", 17, 67, CALL_READ, NEVER, false, false},
    {"recvfrom", 45, 207, CALL_READ, NEVER, false, false},
    {"recvmsg", 47, 212, CALL_READ, NEVER, false, false},
    {"recvmmsg", 299, 243, CALL_READ, 4, false, false},
    {"accept", 43, 202, CALL_READ, NEVER, false, false},
    {"accept4", 288, 242, CALL_READ, NEVER, false, false},
    {"write", 1, 64, CALL_WRITE, NEVER, false, false},
    {"writev", 20, 66, CALL_WRITE, NEVER, false, false},
    {"sendto", 44, 206, CALL_WRITE, NEVER, false, false},
    {"sendmsg", 46, 211, CALL_WRITE, NEVER, false, false},
    {"connect", 42, 203, CALL_WRITE, NEVER, false, false},
    {"poll", 7, NOWHERE, CALL_POLL, 2, true, false},
    {"ppoll", 271, 73, CALL_POLL, 2, false, false},
    {"select", 23, NOWHERE, CALL_POLL, 4, false, false},
    {"pselect6", 270, 72, CALL_POLL, 4, false, false},
    {"epoll_wait", 232, NOWHERE, CALL_POLL, 3, true, false},
    {"epoll_pwait", 281, 22, CALL_POLL, 3, true, false},
    {"epoll_pwait2", 441, 441, CALL_POLL, 3, false, false},
    {"io_uring_enter", 426, 426, CALL_POLL, NEVER, false, false},
    {"io_getevents", 208, 4, CALL_POLL, 4, false, false},
    {"flock", 73, 32, CALL_FLOCK, NEVER, false, true},
    {"fcntl", 72, 25, CALL_FCNTL, NEVER, false, true},
    {"wait4", 61, 260, CALL_CHILD, NEVER, false, true},
    {"waitid", 247, 95, CALL_CHILD, NEVER, false, true},
    {"nanosleep", 35, 101, CALL_TIME, 0, false, true},
    {"clock_nanosleep", 230, 115, CALL_TIME, 2, false, true},
    {"pause", 34, NOWHERE, CALL_SIGNAL, NEVER, false, false},
    {"rt_sigsuspend", 130, 133, CALL_SIGNAL, NEVER, false, false},
    {"rt_sigtimedwait", 128, 137, CALL_SIGNAL, 2, false, false},
    {"semop", 65, 193, CALL_SEMAPHORE, NEVER, false, false},
    {"semtimedop", 220, 192, CALL_SEMAPHORE, 3, false, false},
    {"msgrcv", 70, 188, CALL_OTHER, NEVER, false, false},
    {"msgsnd", 69, 189, CALL_OTHER, NEVER, false, false},
    {"mq_timedsend", 242, 182, CALL_SEND, 4, false, false},
    {"mq_timedreceive", 243, 183, CALL_RECEIVE, 4, false, false},
    {"futex_waitv", 449, 449, CALL_OTHER, 3, false, false},
    {"restart_syscall", 219, 128, CALL_TIME, NEVER, false, true},
};

static const struct known_call *find_call(uint32_t machine, uint64_t number)
{
    for (size_t i = 0; i < sizeof known_calls / sizeof *known_calls; i++) {
        const struct known_call *call = &known_calls[i];
        if ((machine == EM_X86_64 ? call->x86 : call->arm) == number && number != NOWHERE)
            return call;
    }
    return NULL;
}

static bool has_limit(const struct known_call *known, const uint64_t *arguments)
{
    if (known->kind == CALL_TIME)
        return true;
    if (known->limit == NEVER)
        return false;
    uint64_t argument = arguments[known->limit];
    return known->milliseconds ? (int32_t)argument >= 0 : argument != 0;
}

bool sleep_call(const struct target *target, const struct target_thread *thread,
                struct sleep_call *call)
{
    enum { PRIVATE = 128, REALTIME = 256 };
    *call = (struct sleep_call){0};
    if (thread->activity != TARGET_SLEEPS)
        return false;
    const struct known_call *known = find_call(target->machine, thread->call);
    if (!known)
        return true;
    call->kind = (enum call_kind)known->kind;
    call->name = known->name;
    call->timed = has_limit(known, thread->arguments);
    call->restarts = known->restarts;
    /* A timed wait that was interrupted: the registers still have what it was called with. */
    if (strcmp(known->name, "restart_syscall") == 0)
        call->address = thread->arguments[0];
    if (call->kind == CALL_FUTEX) {
        uint32_t operation = (uint32_t)thread->arguments[1];
        call->address = thread->arguments[0];
        call->operation = operation & ~(uint32_t)(PRIVATE | REALTIME);
        call->is_private = operation & PRIVATE;
        call->value = (uint32_t)thread->arguments[2];
    }
    return true;
}

/* A connection that was interrupted is still being made: asked again, it says so. */
bool call_repeats(uint32_t machine, uint64_t number)
{
    const struct known_call *known = find_call(machine, number);
    return known && strcmp(known->name, "connect") != 0;
}
