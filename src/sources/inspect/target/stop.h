/* Stops one thread of another process (ptrace) for its registers and its stack, for a limited time.
 *
 * The thread is seized, not attached to, so no signal is sent. After a stop the kernel restarts
 * most system calls. Calls that it would not restart, but fail with EINTR, are restarted from here.
 * The tracer must exist until the thread continues. So a small separate process does this, which
 * survives if this process is killed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct stack_copy;
struct ask;

#define STOP_SET (34 * 8) /* the largest register set, in bytes */

/* Reads the registers as the kernel writes them (NT_PRSTATUS). Returns the number of bytes; 0: the
 * thread did not stop within `most_ns`; -1: stopping is not permitted. `by_itself`: this process
 * may stop the thread if a separate one is not permitted to (Yama allows tracing descendants only).
 * If this process is then killed during the stop, a call may fail with EINTR. `stack`: NULL, or a
 * buffer for the stack at that moment, which a running thread overwrites as soon as it continues.
 */
ssize_t stop_for_registers(uint32_t pid, uint32_t tid, uint64_t most_ns, bool by_itself,
                           unsigned char *set, struct stack_copy *stack);

/* Stops the thread and makes it execute system calls (remote_calls.h). It must sleep without a time
 * limit in a call that the kernel restarts. False: it did not stop in time, stopping is not
 * permitted, or a call could not be made. */
bool stop_to_ask(uint32_t pid, uint32_t tid, uint64_t most_ns, struct ask *ask);

/* ------------------------------------------------------------------ for remote_calls.c */

/* Waits until a traced thread stops, or `until`; `status` as of waitpid(). False: it has ended, or
 * has not stopped. */
bool stop_await(pid_t tid, uint64_t until, int *status);
/* Read and write registers as the kernel stores them: the general ones, and for writing also
 * another `kind` than NT_PRSTATUS. */
bool stop_get_set(pid_t tid, void *set, size_t *size);
bool stop_put_set(pid_t tid, uintptr_t kind, void *set, size_t size);
