#include "sources/inspect/target/system_calls.h"

#include <elf.h>
#include <string.h>

#define NOWHERE UINT16_MAX
#define NEVER   0xffu /* no argument is a time limit */

/* What happens to a call that a stop interrupts, if no handler has to run. */
enum {
    RESTARTS, /* the kernel restarts it for the remaining time: see signal(7) */
    MOSTLY,   /* restarted, except on some kinds of descriptors */
    PARTLY,   /* restarted, unless part of the work was done: then it returns */
    AGAIN,   /* fails with EINTR; it can be restarted from outside (stop.h), but with its whole time
                limit */
    NOTICES, /* work done before the stop cannot be repeated */
};

/* A system call that may sleep: its numbers, and the argument (counted from 0) that limits the
 * time. That argument is a pointer (NULL: no limit) or milliseconds (negative: no limit). */
struct known_call {
    const char *name;
    uint16_t x86, arm;
    uint8_t kind;
    uint8_t limit;     /* index of the argument, or NEVER */
    bool milliseconds; /* the limit is a number, not a pointer */
    uint8_t stopped;   /* what happens after a stop */
};

static const struct known_call known_calls[] = {
    {"futex", 202, 98, CALL_FUTEX, 3, false, RESTARTS},
    {"read", 0, 63, CALL_READ, NEVER, false, MOSTLY},
    {"readv", 19, 65, CALL_READ, NEVER, false, MOSTLY},
    {"pread64", 17, 67, CALL_READ, NEVER, false, MOSTLY},
    {"recvfrom", 45, 207, CALL_READ, NEVER, false, MOSTLY},
    {"recvmsg", 47, 212, CALL_READ, NEVER, false, MOSTLY},
    {"recvmmsg", 299, 243, CALL_READ, 4, false, AGAIN},
    {"accept", 43, 202, CALL_READ, NEVER, false, MOSTLY},
    {"accept4", 288, 242, CALL_READ, NEVER, false, MOSTLY},
    {"write", 1, 64, CALL_WRITE, NEVER, false, PARTLY},
    {"writev", 20, 66, CALL_WRITE, NEVER, false, PARTLY},
    {"sendto", 44, 206, CALL_WRITE, NEVER, false, PARTLY},
    {"sendmsg", 46, 211, CALL_WRITE, NEVER, false, PARTLY},
    {"connect", 42, 203, CALL_WRITE, NEVER, false, NOTICES},
    {"poll", 7, NOWHERE, CALL_POLL, 2, true, MOSTLY},
    {"ppoll", 271, 73, CALL_POLL, 2, false, MOSTLY},
    {"select", 23, NOWHERE, CALL_POLL, 4, false, MOSTLY},
    {"pselect6", 270, 72, CALL_POLL, 4, false, MOSTLY},
    {"epoll_wait", 232, NOWHERE, CALL_POLL, 3, true, AGAIN},
    {"epoll_pwait", 281, 22, CALL_POLL, 3, true, AGAIN},
    {"epoll_pwait2", 441, 441, CALL_POLL, 3, false, AGAIN},
    {"io_uring_enter", 426, 426, CALL_POLL, NEVER, false, NOTICES},
    {"io_getevents", 208, 4, CALL_POLL, 4, false, AGAIN},
    {"flock", 73, 32, CALL_FLOCK, NEVER, false, RESTARTS},
    {"fcntl", 72, 25, CALL_FCNTL, NEVER, false, RESTARTS},
    {"wait4", 61, 260, CALL_CHILD, NEVER, false, RESTARTS},
    {"waitid", 247, 95, CALL_CHILD, NEVER, false, RESTARTS},
    {"nanosleep", 35, 101, CALL_TIME, 0, false, RESTARTS},
    {"clock_nanosleep", 230, 115, CALL_TIME, 2, false, RESTARTS},
    {"pause", 34, NOWHERE, CALL_SIGNAL, NEVER, false, MOSTLY},
    {"rt_sigsuspend", 130, 133, CALL_SIGNAL, NEVER, false, MOSTLY},
    {"rt_sigtimedwait", 128, 137, CALL_SIGNAL, 2, false, AGAIN},
    {"semop", 65, 193, CALL_SEMAPHORE, NEVER, false, AGAIN},
    {"semtimedop", 220, 192, CALL_SEMAPHORE, 3, false, AGAIN},
    {"msgrcv", 70, 188, CALL_OTHER, NEVER, false, MOSTLY},
    {"msgsnd", 69, 189, CALL_OTHER, NEVER, false, MOSTLY},
    {"mq_timedsend", 242, 182, CALL_SEND, 4, false, MOSTLY},
    {"mq_timedreceive", 243, 183, CALL_RECEIVE, 4, false, MOSTLY},
    {"futex_waitv", 449, 449, CALL_OTHER, 3, false, MOSTLY},
    {"restart_syscall", 219, 128, CALL_TIME, NEVER, false, RESTARTS},
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

/* A call that waits for all requested bytes returns what has arrived when it is interrupted. */
static bool receives_all(const struct known_call *known, const struct target_thread *thread)
{
    enum { WAIT_ALL = 0x100 };
    unsigned flags = strcmp(known->name, "recvfrom") == 0  ? 3
                     : strcmp(known->name, "recvmsg") == 0 ? 2
                                                           : NEVER;
    return flags != NEVER && thread->arguments[flags] & WAIT_ALL;
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
        return call->notices = true;
    call->kind = (enum call_kind)known->kind;
    call->name = known->name;
    call->timed = has_limit(known, thread->arguments);
    call->restarts = known->stopped == RESTARTS;
    call->notices = known->stopped == NOTICES || known->stopped == PARTLY ||
                    (known->stopped == AGAIN && call->timed) || receives_all(known, thread);
    /* An interrupted timed wait: the registers still hold its original arguments. */
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

/* Returns whether a call can be repeated. After an interruption connect() reports that it is in
 * progress. For a ring, the requests would be submitted twice. */
bool call_repeats(uint32_t machine, uint64_t number)
{
    const struct known_call *known = find_call(machine, number);
    return known && known->stopped != NOTICES;
}
