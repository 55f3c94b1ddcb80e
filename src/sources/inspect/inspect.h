/* gordian inspect: finds deadlocks in a process that already hangs, or in its core dump. Read this
 * first.
 *
 *     target/target.h              a process: threads, memory, files; alive (target/live.c) or as a
 *                                  core dump (target/core.c)
 *     target/permissions.h         why a process may not be inspected, and what to do about it
 *     target/system_calls.h        the system call of a thread, its time limit, its object
 *     target/stop.h                stops one thread for its registers, by a small separate process
 *     target/open_files.h          open file descriptors of all processes
 *     snapshot/process_snapshot.h  threads, locks, waits and holds, and how certain each is
 *     snapshot/stacks.h            stack unwinding, without a stop where possible
 *     decoders/decoder.h           one file for each kind of wait: decoders/glibc.c for pthreads,
 *                                  decoders/python.c for the interpreter's locks, ...
 *     judge/judge.h                from the snapshot to findings, with libgordian's engine
 *     judge/confirm.h              checks what the library of `gordian run` has found
 *     incident.h                   converts a finding to an incident, which output/report prints
 *
 * A snapshot has these steps. All threads are listed, with their system calls and their numbers of
 * context switches (time T1). The decoders read the locks and find their holders. All threads are
 * listed again (T2). A thread in the same call, at the same stack pointer and program counter, with
 * the same number of switches at T1 and T2, slept all the time in between. So there is a moment at
 * which all such threads slept, and the locks were read at it. A thread that moved counts as one
 * that can act. No thread is stopped for that. A core is one moment anyway.
 *
 * Verdicts:
 *     proved    the engine finds the deadlock from owners that the locks name; or every thread of
 *               the process sleeps without a time limit in a wait that only its threads can end
 *     likely    a holder was found by other evidence, which is reported
 *     unknown   nothing is claimed; the report names what is unknown, and what would help
 */
#pragma once

#include "sources/inspect/judge/judge.h"
#include "sources/inspect/snapshot/process_snapshot.h"
#include "sources/inspect/target/target.h"

/* Takes a snapshot of all targets, as above, and judges it. Earlier findings are cleared. */
gordian_status inspect_find_deadlocks(struct process_snapshot *snapshot,
                                      struct inspect_findings *findings, gordian_error *error);
