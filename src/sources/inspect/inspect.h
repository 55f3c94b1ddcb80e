/* gordian inspect: a process that hangs already, or the core it left. Read this first.
 *
 *     target/target.h              a process: threads, memory, files; alive (target/live.c) or as a
 *                                  core (target/core.c)
 *     target/permissions.h         why one may not be inspected, and what to do about it
 *     target/system_calls.h        which call a thread is in, how long it may sleep, for what
 *     target/stop.h                one thread stopped for its registers, by a small process apart
 *     target/open_files.h          which process has which pipe, socket or file open
 *     snapshot/process_snapshot.h  threads, locks, waits and holds, and how each is known
 *     snapshot/stacks.h            call stacks, without stopping a thread where that is possible
 *     decoders/decoder.h           one file for each kind of wait: decoders/glibc.c has pthreads,
 *                                  decoders/python.c the interpreter's locks, ...
 *     judge/judge.h                from the snapshot to findings, by libgordian's engine
 *     judge/confirm.h              what the library of `gordian run` has found, seen from here
 *     incident.h                   a finding as an incident (foundation/records/incident.h), which
 *                                  output/report prints
 *
 * One look goes like this. All threads are listed, with the system call each sleeps in and how
 * often it has been switched (time T1). The decoders read the locks and say who holds what. Then
 * all threads are listed again (T2). Whoever sleeps in the same call, at the same stack and
 * counter, with the same number of switches at T1 and T2 has slept all the time between: so there
 * is a moment at which all of these slept together, and the locks were read at it. Whoever moved
 * counts as one who can act. Nothing is stopped for that. A core is one moment anyway.
 *
 * Three words, never mixed:
 *     proved    the engine finds it from owners that the locks themselves name; or every thread of
 *               the process sleeps without end in what only a thread of the process can end
 *     likely    it needs a holder that was found by other evidence, which is shown
 *     unknown   nothing is claimed; what cannot be known is said, and what would help
 */
#pragma once

#include "sources/inspect/judge/judge.h"
#include "sources/inspect/snapshot/process_snapshot.h"
#include "sources/inspect/target/target.h"

/* Looks at all targets of the snapshot once, as above, and judges. What was there before is gone.
 */
gordian_status inspect_look(struct process_snapshot *snapshot, struct inspect_findings *findings,
                            gordian_error *error);
