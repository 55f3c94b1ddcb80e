/* Who called whom. A sleeping thread is unwound from its stack pointer and program counter, which
 * the kernel tells without stopping it; where that does not reach the beginning (code that keeps
 * its frame in a register), or where it runs, the thread is stopped for the time it takes to read
 * its registers and to copy its stack, if the snapshot allows that and the call it sleeps in can be
 * interrupted unnoticed. */
#pragma once

#include "sources/inspect/snapshot/builder.h"

#define STACK_SHORT 14 /* enough to see which library function it sleeps in */
#define STACK_LONG  64

/* The frames of a thread, `most` of them; `may_stop`: see above. Cached. */
const struct snapshot_stack *stack_of(struct process_snapshot *snapshot, uint32_t thread,
                                      size_t most, bool may_stop);

/* All frames, for a decoder: without a stop, which would count as a move; where that is not
 * enough, registers are asked for, and the decoders asked again. */
const struct snapshot_stack *stack_whole(struct process_snapshot *snapshot, uint32_t thread);

/* The name at a frame, as plain as it gets: "pthread_mutex_lock" for
 * ___pthread_mutex_lock@@GLIBC_..; NULL: none. */
const char *stack_function(struct process_snapshot *snapshot, uint32_t thread,
                           const struct unwound *frame);

/* Is it a frame of libgordian-run.so, between a program that `gordian run` watches and libc? */
bool stack_is_watcher(const struct process_snapshot *snapshot, uint32_t thread,
                      const struct unwound *frame);

/* Which function of the C library (or of C++'s) a thread sleeps in: the first of `names`, NULL at
 * the end, that its innermost frames have, not further out than libraries go. SNAPSHOT_NONE: none.
 * `raw`: it made the system call itself, by syscall(). */
uint32_t stack_find(struct process_snapshot *snapshot, uint32_t thread, const char *const *names,
                    bool *raw);

/* Is the thread inside one of these further out than where it sleeps, so that code of its own is in
 * between? Then says so: "is inside malloc, further out"; NULL: it is not. */
const char *stack_outer(struct process_snapshot *snapshot, uint32_t thread,
                        const char *const *names);
