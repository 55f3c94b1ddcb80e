/* How glibc's locks are laid out, on x86-64 and aarch64 alike. Static initialisers are compiled
 * into programs, so mutexes and rwlocks have been like this since 2.25, semaphores since 2.21;
 * conditions changed in 2.41. */
#pragma once

#include <stdint.h>

struct glibc_mutex {
    uint32_t lock, count, owner, users;
    uint32_t kind;
    uint32_t spins;
};

/* Bits of `kind`; the lowest two are the type. */
enum {
    GLIBC_TYPE = 3, /* normal, recursive, error-checking, adaptive */
    GLIBC_ROBUST = 16,
    GLIBC_INHERIT = 32,
    GLIBC_PROTECT = 64,
    GLIBC_SHARED = 128,
    GLIBC_KNOWN = 0x3f3, /* with two of lock elision's */
};

/* Of robust and inheriting mutexes, the lock word has the owner and these. */
#define GLIBC_OWNER_DIED UINT32_C(0x40000000)
#define GLIBC_TID        UINT32_C(0x3fffffff)

struct glibc_rwlock {
    uint32_t readers, writers, phase, writers_futex;
    uint32_t pad[2]; /* unused: the layout has it */
    uint32_t writer; /* tid */
    uint32_t shared;
    uint64_t more[2];
    uint32_t flags; /* 2: prefers writers */
    uint32_t last;
};

/* Bits of `readers`; the number is above. */
enum {
    GLIBC_WRITE_PHASE = 1,
    GLIBC_READERS_WAIT = 4,
    GLIBC_READER_SHIFT = 3,
};

struct glibc_semaphore {
    uint32_t value, waiters;
    uint32_t is_private; /* 0: of one process, 128: shared */
};

struct glibc_barrier {
    uint32_t in, round, count, shared, out;
};

/* Where a condition's futexes are: two words, 40 and 44 bytes into it. */
enum { GLIBC_CONDITION_SIGNALS = 40 };

/* Around the thread number in a thread's descriptor, at which others wait for its end. */
struct glibc_thread {
    uint64_t next, previous; /* list of all threads */
    uint32_t tid, unused;
};
