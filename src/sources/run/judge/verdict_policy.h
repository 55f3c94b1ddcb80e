/* How sure a finding is, and whether `gordian run` ends the program for it.
 *
 * This is the only place that decides it. The library inside a program (verdict_facts.c), the look
 * from outside of `gordian run` and `gordian inspect` (sources/inspect/judge/facts.c) collect the
 * facts and ask here.
 *
 * Kinds of waits:
 *
 *     firm     never returns early: mutex, rwlock, spin lock, barrier, condition, join, once, ...
 *     posted   a signal handler may end it: a semaphore, a word in memory of unknown use
 *     call     a signal ends the system call, or something outside completes it: flock, fcntl,
 *              waitpid, pipe, socket, System V semaphore, message queue
 *     acquire  Python's acquire() in the main thread, which every signal interrupts
 *
 * Arguments:
 *
 *     cycle      the owners wait for each other
 *     self       a thread waits for what it holds itself
 *     ended      the owner has ended
 *     none left  no thread is left that could act
 *
 * "Handler" is a handler of the program's own for a signal that some thread lets in; the handlers
 * of known runtimes (policy_runtime) and those of faults are none. "Timer" is an armed alarm(),
 * setitimer() or timer_create(), also one whose signal has the default action; a timer that could
 * not be asked about counts as armed. The first row that fits decides:
 *
 *     facts                                                          word
 *     ------------------------------------------------------------   --------
 *     the process only parks                                         nothing
 *     none left, a runtime schedules the threads (JVM, Go)           nothing
 *     none left, a handler, and no lock, or a posted wait, in it      nothing: it may be idle
 *     a call reads from a pipe or socket, a handler                   nothing: it may be idle
 *     another process runs in the same memory                        likely; none left: nothing
 *     none left, a core, and no lock, or a posted wait, in it         likely
 *     none left, a handler or a timer                                likely
 *     ended, a thread that can reach the lock still runs             likely
 *     call, a handler that can end it, a timer, or an io_uring       likely
 *     posted, a handler or a timer                                   likely
 *     self, a handler or a timer                                     likely
 *     firm, handler or timer, and a handler was seen to act          likely
 *     self or a join, others run: the lock may be a signal           likely
 *     acquire of the main thread                                     likely
 *     a holder known by evidence only                                likely
 *     else                                                           proved
 *
 * `gordian run` ends a program only if the word is proved, no timer is armed and no handler of the
 * program's own could still run. Otherwise it reports, and the program goes on.
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

/* Kinds of waits in one finding, as a set. */
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
    bool locked;        /* a lock is part of it: only its holder gives it back */
    bool reads;         /* a call in it waits for input, as idle processes do */
    bool parks;         /* no lock, and nothing but a signal or its parent's death is awaited */
    bool scheduled;     /* a runtime schedules the threads */
    bool evidence;      /* a holder is not named by its lock, but found by other evidence */
    bool handlers;      /* a handler of the program's own could run */
    bool unasked;       /* which handlers there are is not known: a core */
    bool ends_calls;    /* one of the handlers could end a call: all but those with SA_RESTART */
    bool handler_acted; /* one was seen to post, unlock or jump */
    enum policy_timers timers;
    bool ring;          /* a process in it has an io_uring */
    bool lent;          /* another process runs in the same memory */
    bool others_run;    /* a thread that is no part of it, and can reach the lock, still runs */
    bool as_signal;     /* a lock in it may be used as a signal, which a running thread gives */
    bool others_unlock; /* this program was seen to unlock locks of other threads, and others run */
    bool others_share;  /* other processes may have the lock's memory */
};

struct policy {
    enum policy_word word;
    bool ends;       /* `gordian run` may end the program for it */
    const char *why; /* what could still end the wait; NULL: proved */
};

/* Why a program is not ended although its deadlock is proved, in a sentence. */
extern const char policy_spares[];

struct policy policy_decide(const struct policy_facts *facts);

/* Could an answer about timers change what is decided? `ends`: also whether a program is ended. */
bool policy_needs_timers(const struct policy_facts *facts, bool ends);

/* Signals, bit n-1, that only a thread's own fault raises, and those that libc keeps for itself. */
uint64_t policy_aside(void);

/* Does this mask block libc's own signal 32? A program cannot: libc, or the library of `gordian
 * run` (state/shield.h), blocks everything for a moment, and the thread's own mask is not known. */
static inline bool policy_is_shielded(uint64_t blocked)
{
    return blocked >> (32 - 1) & 1;
}

/* Signals for which a known runtime installs handlers that end no wait, by a file that it has
 * mapped ("libjvm.so"), without its folder; 0: the file belongs to none. */
uint64_t policy_runtime(const char *file);
/* The same for Go, whose programs are known by a mark in their data. */
uint64_t policy_go(void);
/* Does the runtime of this file schedule threads of its own, which sleep when they are idle? */
bool policy_schedules(const char *file);
