/* Remote system calls. A process alone can ask the kernel about its interval timers, about the
 * handlers that interrupt calls, and about a signal at the end of its parent: no file of /proc
 * shows these.
 *
 * A thread that is stopped inside a system call makes these calls, and then its own call again. Its
 * registers are set to the instruction of its own call, with another number. Signals stay blocked
 * until the thread has begun its own call again and is stopped in it, so the kernel decides about
 * EINTR as if nothing had happened. Results are written below its stack pointer, beyond any data.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define ASK_MOST   24
#define ASK_ANSWER 64         /* bytes */
#define ASK_HERE   UINT64_MAX /* as an argument: the address for the result */

struct ask_call {
    uint64_t number, arguments[4];
    int64_t result;
    unsigned char answer[ASK_ANSWER]; /* the data written, if the call succeeded */
};

struct ask {
    struct ask_call calls[ASK_MOST];
    size_t count;
    bool done; /* all calls were made */
};

/* Adds a call. Returns the index of its result; ASK_MOST: there is no capacity left. */
size_t ask_add(struct ask *ask, uint64_t number, uint64_t first, uint64_t second, uint64_t third,
               uint64_t fourth);

/* For stop.c: makes the calls. The thread is traced, and stopped inside a system call. */
void ask_stopped(struct ask *ask, uint32_t pid, pid_t tid);
