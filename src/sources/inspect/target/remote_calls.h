/* What only a process itself can ask the kernel: its timers, what becomes of calls that a handler
 * interrupts, whether it wants a signal when its parent ends. No file of /proc tells these.
 *
 * A thread that is stopped inside a system call is made to do these calls, and then its own again:
 * its registers are set to the instruction of its own call with another number. Signals are blocked
 * meanwhile, and the last thing it does is to begin its own call again, in which it is stopped once
 * more before the signals are let in: so the kernel decides about EINTR as if nothing had been.
 * Answers are written below its stack, where nothing lives. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define ASK_MOST   24
#define ASK_ANSWER 64         /* bytes */
#define ASK_HERE   UINT64_MAX /* an argument: where the answer is to be written */

struct ask_call {
    uint64_t number, arguments[4];
    int64_t result;
    unsigned char answer[ASK_ANSWER]; /* what was written, if the call succeeded */
};

struct ask {
    struct ask_call calls[ASK_MOST];
    size_t count;
    bool done; /* all calls were made */
};

/* One more call, whose result is found at the index that is returned; ASK_MOST: there is no room.
 */
size_t ask_add(struct ask *ask, uint64_t number, uint64_t first, uint64_t second, uint64_t third,
               uint64_t fourth);

/* For stop.c: the thread is traced, and stopped inside a call. */
void ask_stopped(struct ask *ask, uint32_t pid, pid_t tid);
