/* Sandbox (seccomp). A program may forbid itself system calls, and the kernel kills it for others.
 * From then on the library makes only the calls that waiting for a lock requires, and at most ends
 * the program. Other calls are refused here with an error, as by the kernel. Then only the thread
 * records are available, without the results of those calls: mutexes are judged, but not whether
 * threads sleep. Reports use the mailbox (report/mailbox.h).
 *
 * A new filter is visible through the wrappers of prctl() and syscall(). Earlier filters are
 * visible by their number in /proc/self/status; `gordian run` has tested and counted its own.
 */
#pragma once

#include <stdbool.h>

/* Called at the start: prepares for filters that `gordian run` has not tested. */
void sandbox_start(void);

/* Called before a filter may be installed. `comes`: it will be. True: the library is prepared for
 * it. */
bool sandbox_comes(bool comes);
/* Returns the result of the call that installs the filter. */
long sandbox_came(bool first, long result);
