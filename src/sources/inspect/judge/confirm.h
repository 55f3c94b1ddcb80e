/* The second judge of `gordian run`. Before the program is ended for a deadlock that the library
 * inside it has found, this checks the deadlock from outside: two times the threads must sleep in
 * the kernel, without a time limit, in those locks, and the locks must name those owners, without a
 * move in between. The library's memory is trusted only for holders that no lock names (a reader of
 * a rwlock, a unit of a semaphore), and for the thread that found the deadlock and waits for the
 * answer: it would sleep next. */
#pragma once

#include "output/report/report.h"
#include "sources/inspect/target/target.h"

enum confirm {
    CONFIRM_STANDS,  /* the claim is correct */
    CONFIRM_MOVED,   /* it was correct, but a thread has continued since */
    CONFIRM_DOUBTED, /* all threads sleep, but something could still wake them: `why` */
    CONFIRM_LEFT,    /* locks of an interpreter: inspecting from outside shows more about these */
    CONFIRM_BLIND,   /* inspecting is not permitted, or failed: `why` */
};

/* Time for a thread to fall asleep on a busy machine. */
#define CONFIRM_PATIENCE_NS UINT64_C(2000000000)

/* Checks the process of the report, in which a thread waits for the answer. A claim that does not
 * stand is checked again until `patience_ns` is over. */
enum confirm inspect_confirm(const struct report *report, uint64_t patience_ns, char *why,
                             size_t size);
