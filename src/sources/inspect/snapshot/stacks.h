/* Stack unwinding. A sleeping thread is unwound from its stack pointer and program counter, which
 * the kernel shows without a stop. If this does not reach the start of the thread (code that keeps
 * its frame in a register), or if the thread runs, the thread is stopped to read its registers and
 * copy its stack. That requires the permission of the snapshot, and a system call that can be
 * interrupted unnoticed. */
#pragma once

#include "sources/inspect/snapshot/builder.h"

#define STACK_SHORT 14 /* frames to find the library function in which it sleeps */
#define STACK_LONG  64

/* Returns at most `most` frames of a thread, cached. `may_stop`: see above. */
const struct snapshot_stack *stack_of(struct process_snapshot *snapshot, uint32_t thread,
                                      size_t most, bool may_stop);

/* Returns all frames, for a decoder. Does not stop the thread, since that counts as a move. If
 * frames are missing, it requests the registers, and the decoders run again. */
const struct snapshot_stack *stack_whole(struct process_snapshot *snapshot, uint32_t thread);

/* Returns the symbol of a frame without prefixes and versions: "pthread_mutex_lock" for
 * ___pthread_mutex_lock@@GLIBC_..; NULL: none. */
const char *stack_function(struct process_snapshot *snapshot, uint32_t thread,
                           const struct unwound *frame);

/* Returns whether it is a frame of libgordian-run.so, which is between a watched program and libc.
 */
bool stack_is_watcher(const struct process_snapshot *snapshot, uint32_t thread,
                      const struct unwound *frame);

/* Returns the index of the libc (or C++) function in which a thread sleeps: the first of `names`
 * (which end with NULL) among the innermost frames inside libraries. SNAPSHOT_NONE: none. `raw`:
 * the thread called syscall() itself. */
uint32_t stack_find(struct process_snapshot *snapshot, uint32_t thread, const char *const *names,
                    bool *raw);

/* Returns whether the thread is inside one of these functions further out, with other code in
 * between, as text: "is inside malloc, further out"; NULL: it is not. */
const char *stack_outer(struct process_snapshot *snapshot, uint32_t thread,
                        const char *const *names);
