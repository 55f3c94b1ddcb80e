/* Layouts of glibc's locks, the same on x86-64 and aarch64. Static initializers are compiled into
 * programs, so mutexes and rwlocks have not changed since 2.25, semaphores since 2.21. Conditions
 * changed in 2.41. */
#pragma once

#include <stdint.h>

struct glibc_mutex {
    uint32_t lock, count, owner, users;
    uint32_t kind;
    uint32_t spins;
};

/* Bits of `kind`; the lowest two are the type. GLIBC_INHERIT is priority inheritance. */
enum {
    GLIBC_TYPE = 3, /* normal, recursive, error-checking, adaptive */
    GLIBC_ROBUST = 16,
    GLIBC_INHERIT = 32,
    GLIBC_PROTECT = 64,
    GLIBC_SHARED = 128,
    GLIBC_KNOWN = 0x3f3, /* including two bits of lock elision */
};

/* In robust mutexes and mutexes with priority inheritance, the lock word contains the owner's tid
 * and these bits. */
#define GLIBC_OWNER_DIED UINT32_C(0x40000000)
#define GLIBC_TID        UINT32_C(0x3fffffff)

struct glibc_rwlock {
    uint32_t readers, writers, phase, writers_futex;
    uint32_t pad[2]; /* unused */
    uint32_t writer; /* tid */
    uint32_t shared;
    uint64_t more[2];
    uint32_t flags; /* 2: writers are preferred */
    uint32_t last;
};

/* Bits of `readers`; the number of readers is above them. */
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

/* Offset of the two futex words of a condition, at 40 and 44 bytes. */
enum { GLIBC_CONDITION_SIGNALS = 40 };

/* The fields around the tid in a thread descriptor, which is the futex of pthread_join(). */
struct glibc_thread {
    uint64_t next, previous; /* list of all threads */
    uint32_t tid, unused;
};
