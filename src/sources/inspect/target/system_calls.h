/* System calls as far as sleeping goes: by name, on whichever machine; how long they may sleep. */
#pragma once

#include "sources/inspect/target/target.h"

enum call_kind {
    CALL_OTHER, /* something that is not in the table */
    CALL_FUTEX, /* a word in memory */
    CALL_READ,  /* a descriptor: read, readv, recv... */
    CALL_WRITE,
    CALL_POLL, /* several descriptors */
    CALL_FLOCK,
    CALL_FCNTL,
    CALL_CHILD, /* wait4, waitid */
    CALL_TIME,  /* ends by itself */
    CALL_SIGNAL,
    CALL_SEMAPHORE, /* System V's */
    CALL_SEND,      /* to a message queue of POSIX */
    CALL_RECEIVE,
};

/* Operations of CALL_FUTEX, without their flags. */
enum {
    FUTEX_OP_WAIT = 0,
    FUTEX_OP_LOCK_PI = 6,
    FUTEX_OP_WAIT_BITSET = 9,
    FUTEX_OP_LOCK_PI2 = 13,
};

/* What a thread sleeps in. */
struct sleep_call {
    enum call_kind kind;
    const char *name; /* "futex"; "system call 123" is for the caller to say: then NULL */
    bool timed;       /* it ends by itself */
    bool restarts;    /* may be interrupted by anybody without the program noticing */
    bool notices;     /* comes back, or waits longer, even if it is made again after a stop */
    /* CALL_FUTEX; of CALL_TIME the address alone, if it may have been a futex: */
    uint64_t address;
    uint32_t operation; /* without flags */
    uint32_t value;     /* expected in the word */
    bool is_private;    /* the flag: only threads of this process wake it */
};

/* What the thread sleeps in; false: it does not, or that cannot be told. */
bool sleep_call(const struct target *target, const struct target_thread *thread,
                struct sleep_call *call);

/* May a call that was interrupted be made again as it was, without harm? */
bool call_repeats(uint32_t machine, uint64_t number);
