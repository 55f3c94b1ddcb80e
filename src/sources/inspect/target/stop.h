/* Stopping one thread of another process for its registers and its stack, for a bounded time.
 *
 * It is seized, not attached to: no signal is sent. The kernel makes most system calls again after
 * a stop, as if nothing had been; those that it does not, and that would come back with EINTR, are
 * made again from here. That takes somebody who is there until the thread goes on: so it is done by
 * a small process apart, which outlives this one if that is killed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct stack_copy;
struct ask;

#define STOP_SET (34 * 8) /* bytes of a register set at most */

/* The registers as the kernel writes them (NT_PRSTATUS), and how many bytes; 0: it did not stop
 * within `most_ns`; -1: it may not be stopped. `by_itself`: this process may do it where none apart
 * is allowed to (Yama lets a process trace its descendants only), though if it were killed in
 * between, a call might come back with EINTR. `stack`: NULL, or room for the stack as it is then,
 * which one that runs has overwritten as soon as it goes on. */
ssize_t stop_for_registers(uint32_t pid, uint32_t tid, uint64_t most_ns, bool by_itself,
                           unsigned char *set, struct stack_copy *stack);

/* Stops it and has it make calls of the kernel (remote_calls.h). It must sleep without a limit in a
 * call that the kernel makes again. False: it did not stop in time, or may not be stopped, or not
 * all of the calls were made. */
bool stop_to_ask(uint32_t pid, uint32_t tid, uint64_t most_ns, struct ask *ask);

/* ------------------------------------------------------------------ for remote_calls.c */

/* Waits for a stop of a thread that is traced, for so long at most; its status as waitpid() tells
 * it. False: it has ended, or has not stopped. */
bool stop_await(pid_t tid, uint64_t until, int *status);
/* The general registers, as the kernel writes them; to set also another kind than NT_PRSTATUS. */
bool stop_get_set(pid_t tid, void *set, size_t *size);
bool stop_put_set(pid_t tid, uintptr_t kind, void *set, size_t size);
