/* gordian inspect: a process that hangs already, or the core it left. Read this first.
 *
 *     target.h    a process: threads, memory, files; alive (live.c) or as a core (core.c)
 *     rights.h    why one may not be looked at, and what to do about it
 *     calls.h     system calls: which one, how long it may sleep, what it sleeps for
 *     stacks.h    who called whom, without stopping anybody where that can be
 *     stop.h      where it cannot: one thread stopped for its registers, by a small process apart
 *     sight.h     the picture: threads, locks, who waits, who holds, and how that is known
 *     expert.h    those who know a kind of wait, a file each: glibc.c has all of pthreads, python.c
 *                 the interpreter's locks, between.c and ipc.c what processes wait for, ...
 *     openings.h  who has which pipe, socket or file open, for those two
 *     judge.h     from the picture to findings, by libgordian's engine
 *     confirm.h   what the library of `gordian run` has found, looked at from here
 *     tell.h      a finding as an incident (foundation/records/incident.h), which report/ shows
 *
 * One look goes like this. All threads are listed, with the system call each sleeps in and how
 * often it has been switched (time T1). The experts read the locks and say who holds what. Then all
 * threads are listed again (T2). Whoever sleeps in the same call, at the same stack and counter,
 * with the same number of switches at T1 and T2 has slept all the time between: so there is a
 * moment at which all of these slept together, and the locks were read at it. Whoever moved counts
 * as one who can act. Nothing is stopped for that. A core is one moment anyway.
 *
 * Three words, never mixed:
 *     proved    the engine finds it from owners that the locks themselves name; or every thread of
 *               the process sleeps without end in what only a thread of the process can end
 *     likely    it needs a holder that was found by other evidence, which is shown
 *     unknown   nothing is claimed; what cannot be known is said, and what would help
 */
#ifndef GORDIAN_SOURCES_INSPECT_INSPECT_H
#define GORDIAN_SOURCES_INSPECT_INSPECT_H

#include "sources/inspect/judge.h"
#include "sources/inspect/sight.h"
#include "sources/inspect/target.h"

/* Looks at all targets of the sight once, as above, and judges. What was there before is gone. */
gordian_status inspect_look(struct sight *sight, struct inspect_findings *findings,
                            gordian_error *error);

#endif
