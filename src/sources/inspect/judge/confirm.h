/* The second judge of `gordian run`. What the library inside a program calls a deadlock is looked
 * at from outside, before the program is ended for it: are those threads asleep in the kernel,
 * without a time limit, in those very locks, and do the locks name those owners, twice, nothing
 * having moved in between? Nothing of the library's memory is believed but who holds what no lock
 * can tell (a reader of a rwlock, a unit of a semaphore), and that the thread which found it, and
 * waits for the answer, would sleep next. */
#pragma once

#include "output/report/report.h"
#include "sources/inspect/target/target.h"

enum confirm {
    CONFIRM_STANDS,  /* it is as the library says */
    CONFIRM_MOVED,   /* it was; somebody has gone on since */
    CONFIRM_DOUBTED, /* all of them sleep, but something could still wake them: `why` */
    CONFIRM_LEFT,    /* an interpreter's locks: who looks from outside knows more about these */
    CONFIRM_BLIND,   /* looking is not allowed, or failed: `why` */
};

/* How long one may need that is on its way to sleep, on a busy machine. */
#define CONFIRM_PATIENCE_NS UINT64_C(2000000000)

/* The process of the report's header, which is there and in which a thread waits for the answer.
 * What does not stand is looked at again until the patience is over. */
enum confirm inspect_confirm(const struct report *report, uint64_t patience_ns, char *why,
                             size_t size);
