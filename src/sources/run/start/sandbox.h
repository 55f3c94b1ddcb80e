/* A program may forbid itself system calls (seccomp), on pain of death. From the moment it does so
 * the library makes none of its own but those that waiting for a lock needs anyway, and ends the
 * program at most; everything else is refused here, as if the kernel had, and whoever asked goes
 * without. What the kernel was asked for is then known from the threads' records alone: mutexes are
 * judged, what needs to know who sleeps is not. Reports go through the mailbox (report/mailbox.h).
 *
 * That a filter comes is seen by wrapping prctl() and syscall(); one that was there before, by
 * their number in /proc/self/status, of which `gordian run` has tried and counted its own. */
#pragma once

#include <stdbool.h>

/* At the start: is there a filter that nobody has tried? */
void sandbox_start(void);

/* The process is about to install a filter, if `comes`: true, and everything is ready for it. */
bool sandbox_comes(bool comes);
/* Passes on the answer of the call that was to install it. */
long sandbox_came(bool first, long result);
