/* Decides how certain a finding is (the verdict), and whether `gordian run` ends the program for
 * it.
 *
 * This is the only place for this decision. The library inside a program (verdict_facts.c), and the
 * inspection from outside by `gordian run` and `gordian inspect` (sources/inspect/judge/facts.c),
 * collect the facts and ask here.
 *
 * Kinds of waits:
 *
 *     firm     never returns early: mutex, rwlock, spin lock, barrier, condition, join, once, ...
 *     posted   a signal handler may end it: a semaphore, a futex word of unknown use
 *     call     a signal ends the system call, or an external event completes it: flock, fcntl,
 *              waitpid, pipe, socket, System V semaphore, message queue
 *     acquire  Python's acquire() in the main thread, which every signal interrupts
 *
 * Arguments:
 *
 *     cycle      the owners wait for each other
 *     self       a thread waits for a lock that it holds itself
 *     ended      the owner has ended
 *     none left  no thread is left that could act
 *
 * A handler counts if it is the program's own and some thread does not block its signal. Handlers
 * of known runtimes (policy_runtime) and of faults do not count. A timer is an armed alarm(),
 * setitimer() or timer_create(), even if its signal has the default action. A timer that cannot be
 * queried counts as armed. The first matching row decides:
 *
 *     facts                                                          verdict
 *     ------------------------------------------------------------   --------
 *     the process is idle by its kind of wait (`parks`)              nothing
 *     none left, a runtime schedules the threads (JVM, Go)           nothing
 *     none left, a handler, and no lock or a posted wait             nothing: it may be idle
 *     a call reads from a pipe or socket, a handler                  nothing: it may be idle
 *     another process runs in the same memory                        likely; none left: nothing
 *     none left, a core, and no lock or a posted wait                likely
 *     none left, a handler or a timer                                likely
 *     ended, a thread that can reach the lock still runs             likely
 *     call, a handler that can end it, a timer, or an io_uring       likely
 *     posted, a handler or a timer                                   likely
 *     self, a handler or a timer                                     likely
 *     firm, handler or timer, and a handler was seen to act          likely
 *     self or a join, others run: the lock may be a signal           likely
 *     acquire of the main thread                                     likely
 *     a holder known by evidence only                                likely
 *     otherwise                                                      proved
 *
 * `gordian run` ends a program only if the verdict is proved, no timer is armed, and no handler of
 * the program could still run. Otherwise it reports, and the program continues.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum policy_word { POLICY_NOTHING, POLICY_LIKELY, POLICY_PROVED };

enum policy_argument {
    POLICY_CYCLE,
    POLICY_SELF,
    POLICY_ENDED,
    POLICY_NONE_LEFT,
};

/* Kinds of waits in one finding, a bit mask. */
enum policy_waits {
    POLICY_FIRM = 1 << 0,
    POLICY_POSTED = 1 << 1,
    POLICY_CALL = 1 << 2,
    POLICY_ACQUIRE = 1 << 3,
};

enum policy_timers {
    POLICY_TIMERS_NONE,
    POLICY_TIMERS_ARMED,
    POLICY_TIMERS_UNKNOWN,
};

struct policy_facts {
    enum policy_argument argument;
    unsigned waits;     /* enum policy_waits */
    bool locked;        /* a lock is part of it, which only its holder releases */
    bool reads;         /* a call in it waits for input, as idle processes do */
    bool parks;         /* no lock; waits for a signal or the end of its parent only */
    bool scheduled;     /* a runtime schedules the threads */
    bool evidence;      /* a holder was found by evidence other than its lock */
    bool handlers;      /* a handler of the program could run */
    bool unasked;       /* the handlers are unknown: a core */
    bool ends_calls;    /* a handler without SA_RESTART could end a call */
    bool handler_acted; /* a handler was seen to post, unlock or jump */
    enum policy_timers timers;
    bool ring;          /* a process in it has an io_uring */
    bool lent;          /* another process runs in the same memory */
    bool others_run;    /* a thread outside it, which can reach the lock, still runs */
    bool as_signal;     /* a lock in it may be used as a signal from a running thread */
    bool others_unlock; /* the program has unlocked locks of other threads before, and others run */
    bool others_share;  /* other processes may share the lock's memory */
};

struct policy {
    enum policy_word word;
    bool ends;       /* `gordian run` may end the program for it */
    const char *why; /* what could still end the wait; NULL: proved */
};

/* Explains why a program is not ended although its deadlock is proved. */
extern const char policy_spares[];

struct policy policy_decide(const struct policy_facts *facts);

/* Returns whether the state of timers could change the decision. `ends`: also about ending the
 * program. */
bool policy_needs_timers(const struct policy_facts *facts, bool ends);

/* Returns the signals, bit n-1, that only faults raise, and those reserved by libc. */
uint64_t policy_aside(void);

/* Returns whether this mask blocks libc's internal signal 32, which programs cannot block. Then
 * libc, or the library of `gordian run` (state/shield.h), blocks all signals for a moment, and the
 * thread's own mask is unknown. */
static inline bool policy_is_shielded(uint64_t blocked)
{
    return blocked >> (32 - 1) & 1;
}

/* Returns the signals for which a known runtime installs handlers that end no wait, by the name of
 * a mapped file ("libjvm.so"); 0: the file belongs to no runtime. */
uint64_t policy_runtime(const char *file);
/* The same for Go, whose programs contain a mark. */
uint64_t policy_go(void);
/* Returns whether the runtime of this file schedules threads of its own, which sleep when idle. */
bool policy_schedules(const char *file);
