/* The system calls in which threads sleep: their names on each machine, and their time limits. */
#pragma once

#include "sources/inspect/target/target.h"

enum call_kind {
    CALL_OTHER, /* not in the table */
    CALL_FUTEX, /* a word in memory */
    CALL_READ,  /* one descriptor: read, readv, recv... */
    CALL_WRITE,
    CALL_POLL, /* several descriptors */
    CALL_FLOCK,
    CALL_FCNTL,
    CALL_CHILD, /* a child process: wait4, waitid */
    CALL_TIME,  /* ends by timeout */
    CALL_SIGNAL,
    CALL_SEMAPHORE, /* System V semaphore */
    CALL_SEND,      /* POSIX message queue */
    CALL_RECEIVE,
};

/* Operations of CALL_FUTEX, without their flags. */
enum {
    FUTEX_OP_WAIT = 0,
    FUTEX_OP_LOCK_PI = 6,
    FUTEX_OP_WAIT_BITSET = 9,
    FUTEX_OP_LOCK_PI2 = 13,
};

/* The system call in which a thread sleeps. */
struct sleep_call {
    enum call_kind kind;
    const char *name; /* "futex"; NULL: not in the table */
    bool timed;       /* ends by timeout */
    bool restarts;    /* an interruption is never visible to the program */
    bool notices;     /* returns early, or waits longer, even if it is repeated after a stop */
    /* CALL_FUTEX; for CALL_TIME only the address, if it may have been a futex: */
    uint64_t address;
    uint32_t operation; /* without flags */
    uint32_t value;     /* value expected in the word */
    bool is_private;    /* FUTEX_PRIVATE_FLAG: only threads of this process wake it */
};

/* Fills in the system call in which the thread sleeps. False: it does not sleep, or that is
 * unknown. */
bool sleep_call(const struct target *target, const struct target_thread *thread,
                struct sleep_call *call);

/* Returns whether an interrupted call can be repeated without harm. */
bool call_repeats(uint32_t machine, uint64_t number);
