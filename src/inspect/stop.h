/* Stopping one thread of another process for its registers and its stack, for a bounded time.
 *
 * It is seized, not attached to: no signal is sent. The kernel makes most system calls again after
 * a stop, as if nothing had been; those that it does not, and that would come back with EINTR, are
 * made again from here. That takes somebody who is there until the thread goes on: so it is done by
 * a small process apart, which outlives this one if that is killed.
 */
#ifndef GORDIAN_INSPECT_STOP_H
#define GORDIAN_INSPECT_STOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct stack_copy;

#define STOP_SET (34 * 8) /* bytes of a register set at most */

/* The registers as the kernel writes them (NT_PRSTATUS), and how many bytes; 0: it did not stop
 * within `most_ns`; -1: it may not be stopped. `by_itself`: this process may do it where none apart
 * is allowed to (Yama lets a process trace its descendants only), though if it were killed in
 * between, a call might come back with EINTR. `stack`: NULL, or room for the stack as it is then,
 * which one that runs has overwritten as soon as it goes on. */
ssize_t stop_for_registers(uint32_t pid, uint32_t tid, uint64_t most_ns, bool by_itself,
                           unsigned char *set, struct stack_copy *stack);

#endif
